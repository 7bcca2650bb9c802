//===- Calls.cpp - the functions of NVIDIA's driver, emulated -------------===//

#include "tests/emulator/Gpu.h"

#include "absl/strings/str_cat.h"

#include <chrono>
#include <cstring>

using namespace zerograph;
using namespace zerograph::emulator;

namespace {

/// What a complaint is to who calls; the rest is in Gpu::complaint.
constexpr int kError = 1;
constexpr uint32_t kMostThreads = 1024;

Gpu *gpu = nullptr;
/// Whose context the thread has.
thread_local const Gpu *current = nullptr;

template <typename T>
T *handle(auto *opaque) {
  return reinterpret_cast<T *>(opaque);
}

} // namespace

namespace zerograph::emulator {

/// Each has the parameters of the driver's function of that name.
struct Calls {
  using Lock = std::lock_guard<std::mutex>;

  static bool fails(const char *function) { return gpu->countCall(function); }
  static int needContext() {
    return current == gpu ? 0
                          : gpu->complain("a call needs a context, and the "
                                          "thread has none");
  }
  static Gpu::Stream *streamOf(CUstream stream) {
    if (!stream) {
      return gpu->streams.front().get();
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

  static int init(unsigned) { return 0; }
  static int errorName(int, const char **name) {
    *name = "EMULATED";
    return 0;
  }
  static int errorString(int, const char **text) {
    *text = gpu->wrong.empty() ? "made to fail" : gpu->wrong.c_str();
    return 0;
  }
  static int driverVersion(int *version) {
    *version = 12000;
    return 0;
  }
  static int deviceCount(int *count) {
    *count = 1;
    return 0;
  }
  static int device(int *device, int) {
    *device = 0;
    return 0;
  }
  static int deviceName(char *name, int room, int) {
    std::strncpy(name, "emulated", size_t(room));
    return 0;
  }
  static int deviceAttribute(int *value, int attribute, int) {
    *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 8 : 0;
    return 0;
  }
  static int retain(CUcontext *context, int) {
    Lock lock(gpu->mutex);
    ++gpu->contexts;
    *context = handle<CUctx_st>(gpu);
    return 0;
  }
  static int release(int) {
    Lock lock(gpu->mutex);
    --gpu->contexts;
    return 0;
  }
  static int setCurrent(CUcontext context) {
    current = context ? gpu : nullptr;
    return 0;
  }
  static int memoryInfo(size_t *free, size_t *total) {
    *free = *total = size_t(16) << 30;
    return needContext();
  }

  static int allocateAs(CUdeviceptr *address, size_t bytes, bool pinned) {
    Lock lock(gpu->mutex);
    if (needContext() || bytes == 0) {
      return kError;
    }
    auto begin = gpu->memory.allocate(bytes, pinned);
    if (!begin.ok()) {
      return gpu->complain(std::string(begin.status().message()));
    }
    *address = *begin;
    return 0;
  }
  static int allocate(CUdeviceptr *address, size_t bytes) {
    return allocateAs(address, bytes, false);
  }
  static int allocateHost(void **memory, size_t bytes, unsigned) {
    CUdeviceptr address = 0;
    int result = allocateAs(&address, bytes, true);
    *memory = reinterpret_cast<void *>(address);
    return result;
  }
  static int free(CUdeviceptr address) {
    Lock lock(gpu->mutex);
    if (needContext()) {
      return kError;
    }
    gpu->conflicts.forget(address);
    return gpu->memory.free(address)
               ? 0
               : gpu->complain("memory is freed that was not allocated");
  }
  static int freeHost(void *memory) {
    return free(reinterpret_cast<CUdeviceptr>(memory));
  }

  static int enqueue(CUstream stream, Gpu::Task task) {
    if (needContext()) {
      return kError;
    }
    Gpu::Stream *queue = streamOf(stream);
    if (!queue) {
      return gpu->complain(task.name + ": there is no such stream");
    }
    task.issued = gpu->host;
    queue->tasks.push_back(std::move(task));
    gpu->advanceSome();
    return gpu->wrong.empty() ? 0 : kError;
  }

  static Gpu::Task setTask(const char *name, CUdeviceptr to, std::string value,
                           size_t count) {
    auto set = [=](Gpu::Touched &touched) {
      size_t size = value.size();
      char *target = gpu->reach(to, size * count, true, touched, name);
      for (size_t i = 0; target && i < count; ++i) {
        std::memcpy(target + i * size, value.data(), size);
      }
      return absl::OkStatus();
    };
    return {name, set};
  }

  // What the host gives and does not wait for goes to the default stream, for
  // which no other waits: as with a real driver the call may return before the
  // bytes are there.
  static int toDevice(CUdeviceptr to, const void *from, size_t bytes) {
    Lock lock(gpu->mutex);
    std::string data(static_cast<const char *>(from), bytes);
    auto copy = [=](Gpu::Touched &touched) {
      char *target = gpu->reach(to, bytes, true, touched, "cuMemcpyHtoD");
      if (target) {
        std::memcpy(target, data.data(), bytes);
      }
      return absl::OkStatus();
    };
    return enqueue(nullptr, {"cuMemcpyHtoD", copy});
  }
  static int toHost(void *to, CUdeviceptr from, size_t bytes) {
    Lock lock(gpu->mutex);
    auto copy = [=](Gpu::Touched &touched) {
      char *source = gpu->reach(from, bytes, false, touched, "cuMemcpyDtoH");
      if (source) {
        std::memcpy(to, source, bytes);
      }
      return absl::OkStatus();
    };
    int result = enqueue(nullptr, {"cuMemcpyDtoH", copy});
    return result ? result : gpu->drain(*gpu->streams.front());
  }
  static int set8(CUdeviceptr to, unsigned char value, size_t bytes) {
    Lock lock(gpu->mutex);
    return enqueue(
        nullptr, setTask("cuMemsetD8", to, std::string(1, char(value)), bytes));
  }
  static int set32(CUdeviceptr to, unsigned value, size_t words) {
    Lock lock(gpu->mutex);
    std::string bytes(reinterpret_cast<const char *>(&value), sizeof(value));
    return enqueue(nullptr, setTask("cuMemsetD32", to, bytes, words));
  }
  static int copyLater(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                       CUstream stream) {
    Lock lock(gpu->mutex);
    auto copy = [=](Gpu::Touched &touched) {
      char *target = gpu->reach(to, bytes, true, touched, "cuMemcpyAsync");
      char *source = gpu->reach(from, bytes, false, touched, "cuMemcpyAsync");
      if (target && source) {
        std::memcpy(target, source, bytes);
      }
      return absl::OkStatus();
    };
    return enqueue(stream, {"cuMemcpyAsync", copy});
  }
  static int setLater(CUdeviceptr to, unsigned char value, size_t bytes,
                      CUstream stream) {
    Lock lock(gpu->mutex);
    return enqueue(stream, setTask("cuMemsetD8Async", to,
                                   std::string(1, char(value)), bytes));
  }

  static int loadModule(CUmodule *module, const void *text, unsigned, int *,
                        void **) {
    Lock lock(gpu->mutex);
    if (needContext()) {
      return kError;
    }
    auto kernels = Kernels::compile(static_cast<const char *>(text));
    if (!kernels.ok()) {
      return gpu->complain(std::string(kernels.status().message()));
    }
    auto owned =
        std::make_unique<Gpu::Module>(Gpu::Module{std::move(*kernels), {}});
    *module = handle<CUmod_st>(owned.get());
    gpu->modules[owned.get()] = std::move(owned);
    return 0;
  }
  static int unloadModule(CUmodule module) {
    Lock lock(gpu->mutex);
    bool known =
        !needContext() && gpu->modules.erase(handle<Gpu::Module>(module)) > 0;
    return known ? 0 : kError;
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
    // The driver copies the parameters when the launch is issued.
    std::vector<uint64_t> values(
        kernel->module->kernels.parameters(kernel->symbol)->size());
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
    if (needContext() || !queue) {
      return kError;
    }
    return gpu->drain(*queue);
  }
  static int waitEvent(CUstream stream, CUevent event, unsigned) {
    Lock lock(gpu->mutex);
    Gpu::Event *awaited = eventOf(event);
    if (!awaited || awaited->recorded == 0) {
      return gpu->complain("a stream awaits an event that was never recorded: "
                           "it would wait for nothing");
    }
    Gpu::Task task;
    task.event = awaited;
    task.version = awaited->recorded;
    task.name = "cuStreamWaitEvent";
    return enqueue(stream, std::move(task));
  }
  static int createEvent(CUevent *event, unsigned) {
    Lock lock(gpu->mutex);
    if (needContext()) {
      return kError;
    }
    auto owned = std::make_unique<Gpu::Event>();
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
    if (!recorded) {
      return gpu->complain("there is no such event");
    }
    uint64_t version = ++recorded->recorded;
    Gpu::Stream *on = streamOf(stream);
    auto done = [=](Gpu::Touched &) {
      recorded->done = version;
      recorded->clock = on->clock;
      return absl::OkStatus();
    };
    return enqueue(stream, {"cuEventRecord", done});
  }
  static int elapsed(float *milliseconds, CUevent, CUevent) {
    *milliseconds = 0; // nothing here takes a time that means something
    return 0;
  }
};

} // namespace zerograph::emulator

static const CudaApi kEmulated = {
    .cuInit = Calls::init,
    .cuGetErrorName = Calls::errorName,
    .cuGetErrorString = Calls::errorString,
    .cuDriverGetVersion = Calls::driverVersion,
    .cuDeviceGetCount = Calls::deviceCount,
    .cuDeviceGet = Calls::device,
    .cuDeviceGetName = Calls::deviceName,
    .cuDeviceGetAttribute = Calls::deviceAttribute,
    .cuDevicePrimaryCtxRetain = Calls::retain,
    .cuDevicePrimaryCtxRelease = Calls::release,
    .cuCtxSetCurrent = Calls::setCurrent,
    .cuMemGetInfo = Calls::memoryInfo,
    .cuMemAlloc = Calls::allocate,
    .cuMemFree = Calls::free,
    .cuMemHostAlloc = Calls::allocateHost,
    .cuMemFreeHost = Calls::freeHost,
    .cuMemcpyHtoD = Calls::toDevice,
    .cuMemcpyDtoH = Calls::toHost,
    .cuMemsetD8 = Calls::set8,
    .cuMemsetD32 = Calls::set32,
    .cuMemcpyAsync = Calls::copyLater,
    .cuMemsetD8Async = Calls::setLater,
    .cuModuleLoadDataEx = Calls::loadModule,
    .cuModuleUnload = Calls::unloadModule,
    .cuModuleGetFunction = Calls::function,
    .cuLaunchKernel = Calls::launch,
    .cuStreamCreateWithPriority = Calls::createStream,
    .cuStreamDestroy = Calls::destroyStream,
    .cuStreamSynchronize = Calls::synchronize,
    .cuStreamWaitEvent = Calls::waitEvent,
    .cuEventCreate = Calls::createEvent,
    .cuEventDestroy = Calls::destroyEvent,
    .cuEventRecord = Calls::recordEvent,
    .cuEventElapsedTime = Calls::elapsed,
};

namespace zerograph::emulator {

/// The emulated function `Member` of the table, which can be told to fail.
template <auto Member, const char *Name, typename Function>
struct Counted;
template <auto Member, const char *Name, typename... Arguments>
struct Counted<Member, Name, CUresult (*)(Arguments...)> {
  static CUresult call(Arguments... arguments) {
    return Calls::fails(Name) ? kError : (kEmulated.*Member)(arguments...);
  }
};

} // namespace zerograph::emulator

#define ZEROGRAPH_NAME(name, ...) static constexpr char k_##name[] = #name;
ZEROGRAPH_CUDA_FUNCTIONS(ZEROGRAPH_NAME)

#define ZEROGRAPH_COUNTED(name, ...)                                           \
  .name = Counted<&CudaApi::name, k_##name, decltype(CudaApi::name)>::call,
static const CudaApi kCounted = {ZEROGRAPH_CUDA_FUNCTIONS(ZEROGRAPH_COUNTED)};

Gpu::Gpu(uint32_t seed) : random(seed) {
  streams.push_back(std::make_unique<Stream>());
  gpu = this;
  setCudaApi(&kCounted);
}

Gpu::~Gpu() {
  setCudaApi(nullptr);
  gpu = nullptr;
}
