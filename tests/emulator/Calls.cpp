//===- Calls.cpp - the functions of NVIDIA's driver, emulated -------------===//

#include "tests/emulator/Counted.h"
#include "tests/emulator/DeviceCalls.h"
#include "tests/emulator/GraphCalls.h"
#include "tests/emulator/MemoryCalls.h"
#include "tests/emulator/StreamCalls.h"

#include <algorithm>
#include <tuple>
#include <unistd.h>

using namespace zerograph;
using namespace zerograph::emulator;

static const CudaApi kEmulated = {
    .cuInit = DeviceCalls::init,
    .cuGetErrorName = DeviceCalls::errorName,
    .cuGetErrorString = DeviceCalls::errorString,
    .cuDriverGetVersion = DeviceCalls::driverVersion,
    .cuDeviceGetCount = DeviceCalls::deviceCount,
    .cuDeviceGet = DeviceCalls::device,
    .cuDeviceGetName = DeviceCalls::deviceName,
    .cuDeviceGetUuid = DeviceCalls::deviceId,
    .cuDeviceGetAttribute = DeviceCalls::deviceAttribute,
    .cuDevicePrimaryCtxRetain = DeviceCalls::retain,
    .cuDevicePrimaryCtxRelease = DeviceCalls::release,
    .cuCtxSetCurrent = DeviceCalls::setCurrent,
    .cuMemGetInfo = DeviceCalls::memoryInfo,
    .cuMemGetAllocationGranularity = MemoryCalls::granularity,
    .cuMemAddressReserve = MemoryCalls::reserve,
    .cuMemAddressFree = MemoryCalls::unreserve,
    .cuMemCreate = MemoryCalls::createMemory,
    .cuMemRelease = MemoryCalls::releaseMemory,
    .cuMemMap = MemoryCalls::mapMemory,
    .cuMemUnmap = MemoryCalls::unmapMemory,
    .cuMemSetAccess = MemoryCalls::setAccess,
    .cuMemHostAlloc = MemoryCalls::allocateHost,
    .cuMemFreeHost = MemoryCalls::freeHost,
    .cuMemcpyHtoD = MemoryCalls::toDevice,
    .cuMemcpyDtoH = MemoryCalls::toHost,
    .cuMemsetD8 = MemoryCalls::set8,
    .cuMemsetD32 = MemoryCalls::set32,
    .cuPointerGetAttribute = MemoryCalls::pointerAttribute,
    .cuMemcpyAsync = MemoryCalls::copyLater,
    .cuMemsetD8Async = MemoryCalls::setLater,
    .cuModuleLoadDataEx = StreamCalls::loadModule,
    .cuModuleUnload = StreamCalls::unloadModule,
    .cuModuleGetFunction = StreamCalls::function,
    .cuFuncGetAttribute = StreamCalls::functionAttribute,
    .cuLaunchKernel = StreamCalls::launch,
    .cuStreamCreateWithPriority = StreamCalls::createStream,
    .cuStreamDestroy = StreamCalls::destroyStream,
    .cuStreamSynchronize = StreamCalls::synchronize,
    .cuStreamWaitEvent = StreamCalls::waitEvent,
    .cuStreamWaitValue32 = StreamCalls::waitValue,
    .cuStreamWriteValue32 = StreamCalls::writeValue,
    .cuEventCreate = StreamCalls::createEvent,
    .cuEventDestroy = StreamCalls::destroyEvent,
    .cuEventRecord = StreamCalls::recordEvent,
    .cuEventQuery = StreamCalls::queryEvent,
    .cuEventElapsedTime = StreamCalls::elapsed,
    .cuStreamBeginCapture = GraphCalls::beginCapture,
    .cuStreamEndCapture = GraphCalls::endCapture,
    .cuGraphInstantiate = GraphCalls::instantiate,
    .cuGraphUpload = GraphCalls::uploadGraph,
    .cuGraphLaunch = GraphCalls::launchGraph,
    .cuGraphDestroy = GraphCalls::destroyGraph,
    .cuGraphExecDestroy = GraphCalls::destroyExecutable,
};

namespace {

struct Library {
  static constexpr const auto &table = kEmulated;
  static bool fails(const char *name) { return Calls::fails(name); }
  template <auto Member>
  static int fail(auto... arguments) {
    if constexpr (isMember<Member, &CudaApi::cuStreamEndCapture>) {
      GraphCalls::abandonCapture(std::get<0>(std::tuple(arguments...)));
    }
    return Calls::kError;
  }
};

ZEROGRAPH_CUDA_FUNCTIONS(ZEROGRAPH_COUNTED_NAME)

#define ZEROGRAPH_PLACE(name, ...) ZEROGRAPH_COUNTED(Library, CudaApi, name)
const CudaApi kCounted = {ZEROGRAPH_CUDA_FUNCTIONS(ZEROGRAPH_PLACE)};

} // namespace

int Gpu::needContext() { return Calls::needContext(); }

bool Gpu::isRecording() { return Calls::recording > 0; }

bool Gpu::records(CUstream stream) {
  Stream *queue = Calls::streamOf(stream);
  return queue && queue->records;
}

uint64_t Gpu::recordingOf(CUstream stream) {
  Stream *queue = Calls::streamOf(stream);
  return queue && queue->records ? queue->records->number : 0;
}

bool Gpu::isOpen(uint64_t recording) const {
  return std::any_of(graphs.begin(), graphs.end(), [&](const auto &graph) {
    return graph.second->number == recording && Calls::isOpen(*graph.second);
  });
}

int Gpu::enqueue(CUstream stream, Task task) {
  return Calls::enqueue(stream, std::move(task));
}

unsigned Gpu::currentDevice() const { return Calls::current_device; }

Gpu::Gpu(uint32_t seed, unsigned devices)
    : devices(devices), identity(uint64_t(getpid())), random(seed) {
  for (unsigned device = 0; device < devices; ++device) {
    streams.push_back(std::make_unique<Stream>());
    streams.back()->device = device;
    streams.back()->number = device == 0 ? 0 : ++stream_count;
  }
  Calls::gpu = this;
  Calls::recording = 0;
  setCudaApi(&kCounted);
}

Gpu::~Gpu() {
  for (const auto &graph : executables) {
    graph->streams.clear(); // whose tasks keep the graph
  }
  setCudaApi(nullptr);
  Calls::gpu = nullptr;
}
