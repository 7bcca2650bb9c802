//===- Calls.h - what the calls of the driver share -----------------------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_CALLS_H
#define ZEROGRAPH_TESTS_EMULATOR_CALLS_H

#include "tests/emulator/Graph.h"

#include "absl/strings/str_cat.h"

#include <cstring>

namespace zerograph::emulator {

/// The GPUs of the process, what each thread has of them, and what calls are
/// refused for.
struct Calls {
  using Lock = std::lock_guard<std::mutex>;

  /// The status that a complaint is to who calls; the rest is in
  /// Gpu::complaint.
  static constexpr int kError = 1;
  static constexpr uint32_t kMostThreads = 1024;
  /// The major number of the compute capability; the minor one is 0.
  static constexpr unsigned kCapability = 8;

  static inline Gpu *gpu = nullptr;
  /// Whose context the thread has.
  static inline thread_local const Gpu *current = nullptr;
  static inline thread_local unsigned current_device = 0;
  /// Streams that this thread has made record.
  static inline thread_local int recording = 0;

  template <typename T>
  static T *handle(auto *opaque) {
    return reinterpret_cast<T *>(opaque);
  }

  static bool fails(const char *function) { return gpu->countCall(function); }
  static int needContext() {
    return current == gpu ? 0
                          : gpu->complain("a call needs a context, and the "
                                          "thread has none");
  }
  /// For what allocates or waits: a thread that records does neither.
  static int needNoRecording() {
    return recording == 0
               ? needContext()
               : gpu->complain("a call that allocates or waits is made while "
                               "a stream of the thread records a graph");
  }
  static int needDevice(int device) {
    return device >= 0 && unsigned(device) < gpu->devices
               ? 0
               : gpu->complain(absl::StrCat("there is no GPU ", device));
  }
  static Gpu::Stream *streamOf(CUstream stream) {
    if (!stream) {
      return gpu->streams[current_device].get();
    }
    for (auto &known : gpu->streams) {
      if (known.get() == handle<Gpu::Stream>(stream)) {
        return known.get();
      }
    }
    return nullptr;
  }
  static Gpu::Event *eventOf(CUevent event) {
    auto found = gpu->events.find(handle<Gpu::Event>(event));
    return found == gpu->events.end() ? nullptr : found->second.get();
  }

  /// Gives what was asked for, or a complaint.
  template <typename T>
  static int give(const absl::StatusOr<uint64_t> &made, T &place) {
    if (!made.ok()) {
      return gpu->complain(std::string(made.status().message()));
    }
    place = *made;
    return 0;
  }
  /// The lock is held.
  static int need(bool done, const char *otherwise) {
    return needNoRecording() ? kError : done ? 0 : gpu->complain(otherwise);
  }

  /// Returns whether a graph still records.
  static bool isOpen(const Gpu::Graph &graph) {
    return graph.branches.front().stream->records == &graph;
  }

  static int enqueue(CUstream stream, Gpu::Task task) {
    if (needContext()) {
      return kError;
    }
    Gpu::Stream *queue = streamOf(stream);
    if (!queue) {
      return gpu->complain(task.name + ": there is no such stream");
    }
    if (queue->device != current_device) {
      return gpu->complain(absl::StrCat(
          task.name, " is given to a stream of GPU ", queue->device,
          " by a thread with the context of GPU ", current_device));
    }
    if (queue->records) {
      std::string error = queue->records->add(*queue, std::move(task));
      return error.empty() ? 0 : gpu->complain(error);
    }
    if (!gpu->awaitRoom(*queue)) {
      return kError;
    }
    task.issued = gpu->host;
    task.number = ++gpu->task_count;
    queue->tasks.push_back(std::move(task));
    gpu->changed.notify_all();
    gpu->advanceSome();
    return gpu->wrong.empty() ? 0 : kError;
  }
};

} // namespace zerograph::emulator

#endif // ZEROGRAPH_TESTS_EMULATOR_CALLS_H
