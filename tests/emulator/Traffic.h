//===- Traffic.h - what a launch asks of the memory of a GPU --------------===//
//
// A warp's access is one request. What it costs is how many sectors of 32 bytes
// it touches in global memory, and how often the 32 banks of shared memory,
// each of which gives 4 bytes at a time, have to be asked ("CUDA C++ Best
// Practices Guide", 10.2).
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_TRAFFIC_H
#define ZEROGRAPH_TESTS_EMULATOR_TRAFFIC_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

namespace zerograph::emulator {

struct Traffic {
  /// Requests, the least that they could cost were their bytes side by side,
  /// and what they cost.
  struct Requests {
    uint64_t count = 0, least = 0, cost = 0;
  };
  /// The instructions of all threads, as PTX has them.
  uint64_t instructions = 0;
  Requests loads, stores, shared;
};

/// Puts together what the threads of a block do one by one: the n-th time that
/// each of a warp comes to a statement is one access of the warp. What cp.async
/// writes into shared memory is not counted.
class TrafficRecorder {
public:
  explicit TrafficRecorder(Traffic &traffic) : traffic(traffic) {}

  /// A thread accesses bytes [offset, offset + bytes) of a buffer, at statement
  /// `site` of its kernel.
  void note(uint32_t thread, uint32_t site, size_t buffer, uint64_t offset,
            uint32_t bytes, bool store, bool shared);
  /// A thread comes to a statement, and accesses nothing.
  void pass(uint32_t thread, uint32_t site) { ++turns[{thread, site}]; }
  /// All threads of a block have ended.
  void endBlock();

private:
  struct Access {
    size_t buffer;
    uint64_t offset;
    uint32_t bytes;
  };
  /// An access of a warp, thread by thread.
  struct Request {
    bool store, shared;
    std::map<uint32_t, Access> lanes;
  };
  static void addGlobal(const Request &request, Traffic::Requests &sum);
  static void addShared(const Request &request, Traffic::Requests &sum);

  Traffic &traffic;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> turns; // thread, site
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Request>
      requests; // warp, site, turn
};

} // namespace zerograph::emulator

#endif // ZEROGRAPH_TESTS_EMULATOR_TRAFFIC_H
