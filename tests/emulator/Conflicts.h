//===- Conflicts.h - what streams touch without an order ------------------===//
//
// Each task of a stream has a time of a vector clock: what it can know to be
// done before it. Every line of memory remembers when it was last written, and
// last read by each stream. Two tasks that touch a line, one of them writing,
// and neither of which knows the other to be done, are a conflict, whichever
// ran first this time. Lamport, "Time, clocks, and the ordering of events in a
// distributed system", 1978; Mattern, "Virtual time and global states of
// distributed systems", 1988.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_CONFLICTS_H
#define ZEROGRAPH_TESTS_EMULATOR_CONFLICTS_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace zerograph::emulator {

/// Bytes that are told apart: slices of a plan begin at multiples of these.
inline constexpr uint64_t kLine = 64;

/// Knows, of each stream, how many of its tasks are known to be done.
class VectorClock {
public:
  uint32_t at(uint32_t stream) const {
    return stream < times.size() ? times[stream] : 0;
  }
  /// One task more of a stream; its number.
  uint32_t advance(uint32_t stream);
  /// Knows what the other knows, too.
  void merge(const VectorClock &other);

private:
  std::vector<uint32_t> times;
};

/// Lines of one allocation that a task has touched.
struct Lines {
  explicit Lines(uint64_t bytes)
      : read((bytes + kLine - 1) / kLine), written(read.size()) {}
  void touch(uint64_t offset, uint64_t bytes, bool write);

  std::vector<bool> read, written;
};

class Conflicts {
public:
  /// A task `name` of a stream, which knows `clock`, itself included, has
  /// touched these lines of an allocation, which begins at `begin`. Empty, or
  /// the conflict.
  std::string touch(uint32_t stream, const VectorClock &clock,
                    const std::string &name, uint64_t begin,
                    const Lines &lines);
  /// The memory is gone.
  void forget(uint64_t begin) { allocations.erase(begin); }

private:
  /// The times when each stream last read it, and who wrote it last.
  struct Line {
    std::vector<uint32_t> reads;
    uint32_t writer = 0, written = 0;
  };
  std::string nameOf(uint32_t stream, uint32_t time) const;

  std::map<uint64_t, std::vector<Line>> allocations;
  std::map<std::pair<uint32_t, uint32_t>, std::string> names;
};

} // namespace zerograph::emulator

#endif // ZEROGRAPH_TESTS_EMULATOR_CONFLICTS_H
