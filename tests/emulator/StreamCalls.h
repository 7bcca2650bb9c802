//===- StreamCalls.h - the driver's calls about kernels and streams -------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_STREAMCALLS_H
#define ZEROGRAPH_TESTS_EMULATOR_STREAMCALLS_H

#include "tests/emulator/Calls.h"

#include <atomic>

namespace zerograph::emulator {

/// Each has the parameters of the driver's function of that name.
struct StreamCalls : Calls {
  static int loadModule(CUmodule *module, const void *text, unsigned, int *,
                        void **) {
    Lock lock(gpu->mutex);
    if (needNoRecording()) {
      return kError;
    }
    auto kernels = Kernels::compile(static_cast<const char *>(text));
    if (!kernels.ok()) {
      return gpu->complain(std::string(kernels.status().message()));
    }
    if (kernels->target() > 10 * kCapability) {
      return gpu->complain(absl::StrCat("a GPU of sm_", 10 * kCapability,
                                        " is given code for sm_",
                                        kernels->target()));
    }
    auto owned = std::make_unique<Gpu::Module>(
        Gpu::Module{current_device, std::move(*kernels), {}});
    *module = handle<CUmod_st>(owned.get());
    gpu->modules[owned.get()] = std::move(owned);
    return 0;
  }
  static int unloadModule(CUmodule module) {
    Lock lock(gpu->mutex);
    auto found = gpu->modules.find(handle<Gpu::Module>(module));
    if (needContext() || found == gpu->modules.end()) {
      return kError;
    }
    for (const Buffer &counter : found->second->kernels.counters()) {
      gpu->conflicts.forget(reinterpret_cast<uint64_t>(counter.begin));
    }
    gpu->modules.erase(found);
    return 0;
  }
  static int function(CUfunction *function, CUmodule module,
                      const char *symbol) {
    Lock lock(gpu->mutex);
    auto *owner = handle<Gpu::Module>(module);
    if (!owner->kernels.parameters(symbol)) {
      return gpu->complain(absl::StrCat("there is no kernel ", symbol));
    }
    auto [entry, added] =
        owner->functions.try_emplace(symbol, Gpu::Function{owner, symbol});
    *function = handle<CUfunc_st>(&entry->second);
    return 0;
  }
  static int functionAttribute(int *value, int, CUfunction) {
    *value = int(kMostThreads);
    return needContext();
  }
  static int launch(CUfunction function, unsigned grid, unsigned gridY,
                    unsigned gridZ, unsigned block, unsigned blockY,
                    unsigned blockZ, unsigned, CUstream stream,
                    void **parameters, void **) {
    Lock lock(gpu->mutex);
    auto *kernel = handle<Gpu::Function>(function);
    bool plain = gridY == 1 && gridZ == 1 && blockY == 1 && blockZ == 1;
    if (!plain || grid == 0 || block == 0 || block > kMostThreads) {
      return gpu->complain(absl::StrCat(kernel->symbol, " is launched on ",
                                        grid, " blocks of ", block,
                                        " threads"));
    }
    if (kernel->module->device != current_device) {
      return gpu->complain(absl::StrCat(kernel->symbol, ", loaded on GPU ",
                                        kernel->module->device,
                                        ", is launched on another"));
    }
    // The driver copies the parameters when the launch is issued.
    std::vector<uint64_t> values(
        kernel->module->kernels.parameters(kernel->symbol).value());
    for (size_t i = 0; i < values.size(); ++i) {
      std::memcpy(&values[i], parameters[i], sizeof(uint64_t));
    }
    auto run = [=, values = std::move(values)](Gpu::Touched &touched) {
      return gpu->launch(*kernel, grid, block, values, touched);
    };
    return enqueue(stream, {kernel->symbol, run});
  }

  static int createStream(CUstream *stream, unsigned flags, int) {
    Lock lock(gpu->mutex);
    if (needContext()) {
      return kError;
    }
    if (flags != CU_STREAM_NON_BLOCKING) {
      return gpu->complain("a stream waits for the default stream");
    }
    auto owned = std::make_unique<Gpu::Stream>();
    owned->number = ++gpu->stream_count;
    owned->device = current_device;
    *stream = handle<CUstream_st>(owned.get());
    gpu->streams.push_back(std::move(owned));
    return 0;
  }
  static int destroyStream(CUstream stream) {
    Lock lock(gpu->mutex);
    Gpu::Stream *known = stream ? streamOf(stream) : nullptr;
    if (needContext() || !known) {
      return kError;
    }
    std::erase_if(gpu->streams,
                  [&](const auto &owned) { return owned.get() == known; });
    return 0;
  }
  static int synchronize(CUstream stream) {
    Lock lock(gpu->mutex);
    Gpu::Stream *queue = streamOf(stream);
    if (needNoRecording() || !queue) {
      return kError;
    }
    return gpu->drain(*queue);
  }
  static int waitEvent(CUstream stream, CUevent event, unsigned) {
    Lock lock(gpu->mutex);
    Gpu::Event *awaited = eventOf(event);
    Gpu::Stream *queue = streamOf(stream);
    if (!awaited || !queue || (awaited->recorded == 0 && !awaited->graph)) {
      return gpu->complain("a stream awaits an event that was never recorded: "
                           "it would wait for nothing");
    }
    if (awaited->graph && !queue->records) {
      if (!isOpen(*awaited->graph)) {
        return gpu->complain("a stream awaits an event of a graph");
      }
      gpu->graphs.at(const_cast<Gpu::Graph *>(awaited->graph))->join(*queue);
    }
    Gpu::Task task;
    task.awaits = awaited;
    task.version = awaited->recorded;
    task.name = "cuStreamWaitEvent";
    return enqueue(stream, std::move(task));
  }
  /// A number in memory that the host sees too; null, with a complaint, where
  /// it is not.
  static std::atomic<uint32_t> *counterAt(CUdeviceptr address) {
    const Memory::Allocation *found = gpu->memory.find(address);
    if (!found || !found->pinned || address % sizeof(uint32_t) != 0) {
      gpu->complain("a stream counts in memory that the host does not see");
      return nullptr;
    }
    return reinterpret_cast<std::atomic<uint32_t> *>(found->alias +
                                                     (address - found->begin));
  }
  /// The stream goes on with what the host knows by then. The driver compares
  /// cyclically ("CUstreamWaitValue_flags" of its manual).
  static int waitValue(CUstream stream, CUdeviceptr address, uint32_t value,
                       unsigned flags) {
    Lock lock(gpu->mutex);
    std::atomic<uint32_t> *counter = counterAt(address);
    if (!counter || recording != 0 || flags != CU_STREAM_WAIT_VALUE_GEQ) {
      return gpu->complain("a stream cannot await this value");
    }
    Gpu::Stream *queue = streamOf(stream);
    Gpu::Task task;
    task.name = "cuStreamWaitValue32";
    task.ready = [counter, value] {
      return int32_t(counter->load() - value) >= 0;
    };
    task.run = [queue](Gpu::Touched &) {
      queue->clock.merge(gpu->host);
      return absl::OkStatus();
    };
    return enqueue(stream, std::move(task));
  }
  /// Whoever of the host waits for the value knows what the stream does.
  static int writeValue(CUstream stream, CUdeviceptr address, uint32_t value,
                        unsigned) {
    Lock lock(gpu->mutex);
    std::atomic<uint32_t> *counter = counterAt(address);
    if (!counter || recording != 0) {
      return gpu->complain("a stream cannot write this value");
    }
    Gpu::Stream *queue = streamOf(stream);
    Gpu::Task task;
    task.name = "cuStreamWriteValue32";
    task.run = [=](Gpu::Touched &) {
      gpu->host.merge(queue->clock);
      counter->store(value);
      return absl::OkStatus();
    };
    return enqueue(stream, std::move(task));
  }
  static int createEvent(CUevent *event, unsigned) {
    Lock lock(gpu->mutex);
    if (needContext()) {
      return kError;
    }
    auto owned = std::make_unique<Gpu::Event>();
    owned->device = current_device;
    *event = handle<CUevent_st>(owned.get());
    gpu->events[owned.get()] = std::move(owned);
    return 0;
  }
  static int destroyEvent(CUevent event) {
    Lock lock(gpu->mutex);
    bool known =
        !needContext() && gpu->events.erase(handle<Gpu::Event>(event)) > 0;
    return known ? 0 : kError;
  }
  static int recordEvent(CUevent event, CUstream stream) {
    Lock lock(gpu->mutex);
    Gpu::Event *recorded = eventOf(event);
    Gpu::Stream *queue = streamOf(stream);
    if (!recorded || !queue) {
      return gpu->complain("there is no such event or stream");
    }
    if (recorded->device != queue->device) {
      return gpu->complain("an event is recorded on another GPU than its own");
    }
    Gpu::Task task;
    task.records = recorded;
    task.name = "cuEventRecord";
    if (!queue->records) {
      recorded->graph = nullptr;
      task.version = ++recorded->recorded;
    }
    return enqueue(stream, std::move(task));
  }
  static int queryEvent(CUevent event) {
    Lock lock(gpu->mutex);
    Gpu::Event *asked = eventOf(event);
    if (needNoRecording() || !asked) {
      return kError;
    }
    if (asked->done < asked->recorded) {
      gpu->advance();
    }
    if (!gpu->wrong.empty()) {
      return kError;
    }
    if (asked->done < asked->recorded) {
      return CUDA_ERROR_NOT_READY;
    }
    gpu->host.merge(asked->clock);
    return 0;
  }
  static int elapsed(float *milliseconds, CUevent, CUevent) {
    *milliseconds = 0; // nothing here takes a time that means something
    return 0;
  }
};

} // namespace zerograph::emulator

#endif // ZEROGRAPH_TESTS_EMULATOR_STREAMCALLS_H
