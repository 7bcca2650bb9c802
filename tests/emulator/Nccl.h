//===- Nccl.h - NCCL between emulated GPUs --------------------------------===//
//
// The calls that a thread puts into a group are one launch, as with NCCL: a
// task on its stream that begins, when what the rank sends is read, and one
// that ends, when what it receives is written, once all ranks' have begun.
// Launches of a communicator are matched by their order; ranks whose launches
// differ are an error, and so are launches of a rank that neither its stream
// nor events put in order, which NCCL may let overlap. Calls return before they
// are done, and a launch is on its stream only when ncclCommGetAsyncError has
// said so.
//
// A launch on a stream that records goes into the graph, whose launches begin
// one each time: on all ranks, or on none. NCCL does not end, nor abort, a
// communicator while a graph holds what it recorded, so that is an error.
//
// All ranks make a window, each of as many bytes, or wait for each other; one
// whose communicator ends ends those of the others that wait for it.
//
// Stricter than NCCL: all ranks take part in every launch, on one stream.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_NCCL_H
#define ZEROGRAPH_TESTS_EMULATOR_NCCL_H

#include "runtime/comm/nccl/NcclApi.h"
#include "tests/emulator/Gpu.h"
#include "tests/emulator/Mailbox.h"
#include "tests/emulator/Parcel.h"

#include <array>
#include <memory>

namespace zerograph::emulator {

/// While it lives, `ncclApi` of this process gives the emulator. One at a time.
/// The GPU complains of what is wrong.
class Nccl {
public:
  explicit Nccl(Gpu &gpu);
  ~Nccl();
  Nccl(const Nccl &) = delete;
  Nccl &operator=(const Nccl &) = delete;

  /// Returns what a program left: "1 communicators"; empty if nothing.
  std::string leftovers() const;
  /// Launches that have ended, of all ranks of this process.
  uint64_t launches() const;
  /// Memory that was registered, of all ranks of this process.
  uint64_t registrations() const;

  /// How often each function was called.
  std::map<std::string, uint64_t> calls() const;
  /// Call `number`, from 1, of a function returns an error, once.
  void failCall(const std::string &function, uint64_t number);
  /// The communicator of `rank` tells an error once its launch `number`, from
  /// 1, has begun.
  void failLater(unsigned rank, uint64_t number);
  /// From launch `number` of `rank` on, it does not begin any.
  void lose(unsigned rank, uint64_t number);
  /// `rank` can make no window: its communicator has failed with the attempt.
  void refuseWindows(unsigned rank) { windowless = int64_t(rank); }
  /// As NCCL says it: 22809 is 2.28.9.
  void setVersion(int number) { version = number; }

private:
  friend struct NcclCalls;

  /// The transfer that a call enqueues: `what`, still without its data.
  struct Transfer {
    Parcel::Item what;
    uint64_t from, to;
  };
  /// The transfers that a group has put together.
  struct Launch {
    std::vector<Transfer> transfers;
    bool recorded = false; // for a graph
  };
  /// A rank of a communicator.
  struct Comm {
    Comm(Gpu &gpu, Mailbox mailbox) : gpu(gpu), mailbox(std::move(mailbox)) {}
    Gpu &gpu;
    Mailbox mailbox;
    unsigned rank = 0, world = 1, device = 0;
    bool joined = false, aborted = false, finalized = false;
    uint64_t launches = 0, begun = 0, ended = 0;
    /// Windows that it has begun to make, and that all ranks have.
    uint64_t windows = 0, windows_made = 0;
    /// Say of a call in progress how often it will be said so, and what is then
    /// put on a stream.
    unsigned polls = 0;
    CUstream stream = nullptr;
    std::vector<Gpu::Task> tasks;
    int error = 0;
    std::string last_error;
    std::map<void *, std::pair<uint64_t, uint64_t>> registered;

    /// Those of graphs have a copy each.
    std::shared_ptr<int> recorded = std::make_shared<int>();

    bool allHave(uint64_t number) const;
    bool isHeld() const { return recorded.use_count() > 1; }
    uint64_t key() const { return reinterpret_cast<uint64_t>(this); }
  };
  using Shared = std::shared_ptr<Comm>;

  Shared find(ncclComm_t comm);
  int poll(Comm &comm);
  /// A window is made once all ranks have begun to.
  int beginWindow(Comm &comm, uint64_t bytes);
  int pollWindow(Comm &comm);
  int launch(const Shared &comm, CUstream stream,
             const std::vector<Transfer> &transfers);
  std::array<Gpu::Task, 2> next(const Shared &comm, const Launch &launch);
  std::array<Gpu::Task, 2> record(const Shared &comm, const Launch &launch);
  /// Ranks of a communicator in this process.
  int64_t ranksHere(const Comm &comm) const;
  absl::Status begin(Comm &comm, uint64_t number, const Launch &launch,
                     Gpu::Touched &touched);
  absl::Status end(Comm &comm, uint64_t number,
                   const std::vector<Transfer> &transfers,
                   Gpu::Touched &touched);
  int forget(const Shared &comm);

  Gpu &gpu; // whose mutex guards all of it
  std::vector<std::string> folders;
  std::map<Comm *, Shared> comms;
  std::map<std::string, uint64_t> call_counts;
  std::string failing;
  uint64_t failing_number = 0;
  unsigned late_rank = 0, lost_rank = 0;
  uint64_t late = 0, lost = 0;
  int64_t windowless = -1;
  int version = 22809;
  uint64_t ended = 0, registered = 0;
};

} // namespace zerograph::emulator

#endif // ZEROGRAPH_TESTS_EMULATOR_NCCL_H
