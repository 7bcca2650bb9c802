//===- Gpu.h - NVIDIA's driver and a GPU, on the CPU ----------------------===//
//
// Streams are queues. What is in them runs when somebody waits, and before
// other calls perhaps, in an order that a seed draws and that obeys the streams
// and the events alone. Two tasks that touch the same memory and that neither
// of these puts in order are an error, whatever order was drawn; what one
// thread of the host has waited for counts as known to all of them. What a real
// driver may get away with is an error here: an event that is awaited before it
// is recorded, memory that is not there, a context that is not the thread's.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_GPU_H
#define ZEROGRAPH_TESTS_EMULATOR_GPU_H

#include "runtime/device/cuda/CudaApi.h"
#include "tests/emulator/Kernels.h"
#include "tests/emulator/Memory.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <random>
#include <set>

namespace zerograph::emulator {

/// While it lives, `cudaApi` of this process gives the emulator. One at a time,
/// which may stand for several GPUs: each has its own memory, and its contexts,
/// streams, events and modules know no other's.
class Gpu {
public:
  explicit Gpu(uint32_t seed, unsigned devices = 1);
  ~Gpu();
  Gpu(const Gpu &) = delete;
  Gpu &operator=(const Gpu &) = delete;

  /// Returns what a program left: "2 streams, 1 allocation"; empty if nothing.
  std::string leftovers() const;
  /// The first thing that was wrong; empty if nothing was.
  const std::string &complaint() const { return wrong; }
  uint64_t launches() const { return launch_count; }

  /// From now on launches are counted, which makes them slow.
  void countTraffic() { counts_traffic = true; }
  /// Returns what the launches of each kernel asked of memory.
  const std::map<std::string, Traffic> &traffic() const { return asked; }

  /// How often each function of the driver was called.
  std::map<std::string, uint64_t> calls() const;
  /// Call `number`, from 1, of a function returns an error, once.
  void failCall(const std::string &function, uint64_t number);
  /// From now on there is no memory that other processes could be given, as in
  /// sandboxes.
  void refuseHandles(int types = ~0) { refused_handles = types; }
  /// Its NVLink reaches other machines.
  void reportFabric() { reports_fabric = true; }

  /// Sets the memory that a GPU says it has, of which libraries take theirs.
  /// More can be allocated all the same.
  void setMemory(uint64_t bytes) { memory_bytes = bytes; }
  /// The GPUs say that they are those of other processes too.
  void share() { identity = 0; }
  /// Once so many more tasks have run, none does any more.
  void stall(uint64_t tasks);
  /// Calls that give a stream more than this wait for room.
  void limitQueues(size_t tasks) { queue_limit = tasks; }
  bool stalled() const;
  /// Sets the queues of a GPU, 32 at first, which its streams share: a task
  /// waits for all that the streams of its queue were given before it.
  void setQueues(unsigned count) { queues = std::clamp(count, 1u, 32u); }

private:
  friend struct Calls;
  friend struct DeviceCalls;
  friend struct MemoryCalls;
  friend struct StreamCalls;
  friend struct GraphCalls;
  friend class CublasLt; // its products are tasks of streams
  friend struct CublasLtCalls;
  friend struct CublasLtDescriptors;
  friend class Cudnn; // as its convolutions
  friend struct CudnnCalls;
  friend class Nccl;
  friend struct NcclCalls;
  /// Counts a call; whether it is the one to fail.
  bool countCall(const std::string &function);

  struct Graph;
  struct GraphExec;
  struct Event {
    unsigned device = 0;
    uint64_t recorded = 0, done = 0;
    VectorClock clock;
    const Graph *graph = nullptr; // that it was last recorded in, if one
  };
  /// The lines that a task has touched, by where the allocations begin.
  using Touched = std::map<uint64_t, Lines>;
  struct Task {
    std::string name;
    /// Null for a task that awaits or records `version` of an event.
    std::function<absl::Status(Touched &)> run{};
    Event *awaits = nullptr;
    Event *records = nullptr;
    uint64_t version = 0;
    /// Returns whether others have done what the task needs besides; null:
    /// nothing.
    std::function<bool()> ready{};
    /// The times that the host knew when it issued the task.
    VectorClock issued{};
    /// Counts the tasks that streams were given, from 1.
    uint64_t number = 0;
    /// Makes a task that was recorded one of a launch of the graph, which is
    /// then kept; null: it is the same in all of them.
    std::function<void(Task &)> again{};
    std::shared_ptr<GraphExec> of{};
  };
  struct Stream {
    unsigned device = 0;
    uint32_t number = 0;
    VectorClock clock;
    std::deque<Task> tasks;
    Graph *records = nullptr; // where its tasks go meanwhile
  };
  struct Module;
  struct Function {
    const Module *module;
    std::string symbol;
  };
  struct Module {
    unsigned device = 0;
    Kernels kernels;
    std::map<std::string, Function> functions;
  };

  /// Notes what is wrong, once.
  int complain(const std::string &what);
  bool isReady(const Task &task) const;
  /// Returns whether no stream of the same queue of the hardware has an earlier
  /// task.
  bool leadsItsQueue(const Stream &stream) const;
  /// Returns whether a stream waits for what other threads or processes do.
  bool awaitsOthers() const;
  void runTask(Stream &stream, Task &task);
  /// That of the thread's context.
  unsigned currentDevice() const;
  /// Runs one task of one stream that can go on; false if none can.
  bool advance();
  void advanceSome();
  /// Until a stream may be given more; false after a complaint.
  bool awaitRoom(const Stream &stream);
  /// For what would wait for ever, which no test can.
  bool giveUp(const char *what);
  /// Until a stream is empty, which the host knows then.
  int drain(Stream &stream);
  /// 0 where the thread has a context; else a complaint.
  int needContext();
  /// Returns whether the thread has made a stream record.
  static bool isRecording();
  /// Returns whether what a stream is given goes into a graph.
  static bool records(CUstream stream);
  /// Which recording that is, of all, from 1; 0: none.
  static uint64_t recordingOf(CUstream stream);
  /// Returns whether a recording, by that number, has not ended.
  bool isOpen(uint64_t recording) const;
  /// Gives a stream a task as the driver's own calls do; `mutex` is locked.
  int enqueue(CUstream stream, Task task);
  void launchGraph(const std::shared_ptr<GraphExec> &graph, Stream &stream);
  /// Graphs that were destroyed go when what was launched of them has ended.
  void dropEndedGraphs();
  /// The emulator's bytes of the GPU's, noted as touched; null, with a
  /// complaint, where they are not of one allocation.
  char *reach(uint64_t address, uint64_t bytes, bool write, Touched &touched,
              const char *call);
  absl::Status launch(const Function &function, uint32_t grid, uint32_t block,
                      const std::vector<uint64_t> &parameters,
                      Touched &touched);

  const unsigned devices;
  uint64_t identity; // with their numbers it names the GPUs
  uint64_t memory_bytes = uint64_t(16) << 30;
  std::map<unsigned, uint64_t> library_bytes; // of memory, by device
  int refused_handles = 0;
  bool reports_fabric = false;
  mutable std::mutex mutex;
  /// Something was enqueued, or ended.
  std::condition_variable_any changed;
  std::mt19937 random;
  Memory memory;
  /// The properties that memory was created with.
  struct Created {
    unsigned device;
    int handle_types;
  };
  std::map<uint64_t, Created> handles; // by handle
  std::map<uint64_t, Created> mapped;  // by where it begins; none is pinned
  /// In the order of their making, so that a seed means the same each time; the
  /// first are the default ones of the GPUs, for which no other waits.
  std::vector<std::unique_ptr<Stream>> streams;
  uint32_t stream_count = 0;
  Conflicts conflicts;
  VectorClock host;
  std::map<Event *, std::unique_ptr<Event>> events;
  std::map<Module *, std::unique_ptr<Module>> modules;
  std::map<Graph *, std::unique_ptr<Graph>> graphs;
  uint64_t recording_count = 0;
  std::vector<std::shared_ptr<GraphExec>> executables; // as made, for the seed
  int contexts = 0;
  uint64_t launch_count = 0;
  uint64_t task_count = 0;
  unsigned queues = 32;
  bool counts_traffic = false;
  std::map<std::string, Traffic> asked;
  std::optional<uint64_t> tasks_left; // before it stalls
  std::optional<size_t> queue_limit;
  std::string wrong;
  std::map<std::string, uint64_t> call_counts;
  std::string failing;
  uint64_t failing_number = 0;
};

} // namespace zerograph::emulator

#endif // ZEROGRAPH_TESTS_EMULATOR_GPU_H
