//===- CudaDriver.cpp - this machine's GPUs -------------------------------===//

#include "runtime/device/cuda/CudaDriver.h"

#include "runtime/base/Text.h"
#include "runtime/device/cuda/Architectures.h"
#include "runtime/device/cuda/CudaBuffer.h"
#include "runtime/device/cuda/CudaModule.h"
#include "runtime/device/cuda/CudaOperations.h"
#include "runtime/device/cuda/CudaProgram.h"
#include "runtime/device/host/HostMemory.h"

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"

#include <algorithm>

using namespace zerograph;

namespace {

class CudaDevice final : public Device {
public:
  CudaDevice(std::shared_ptr<CudaContext> context, const DeviceOptions &options)
      : context(std::move(context)), options(options) {}
  ~CudaDevice() override;

  absl::StatusOr<std::unique_ptr<Buffer>>
  allocate(plan::Space space, uint64_t bytes, uint64_t alignment) override {
    return makeCudaBuffer(context, space, bytes, alignment);
  }
  absl::StatusOr<std::unique_ptr<BoundProgram>>
  bind(ProgramBinding program) override;
  void onFailure(FailureCallback callback) override {
    failure = std::move(callback);
  }

private:
  absl::StatusOr<CUstream> streamOf(const ProgramBinding &program,
                                    unsigned index);
  absl::Status bindStep(const ProgramBinding &program, StepBinding &step,
                        CudaProgram &bound);

  std::shared_ptr<CudaContext> context;
  const DeviceOptions options;
  std::vector<CUstream> streams;
  FailureCallback failure;
};

CudaDevice::~CudaDevice() {
  if (context->enter().ok()) {
    for (CUstream stream : streams) {
      if (stream) {
        context->api.cuStreamDestroy(stream);
      }
    }
  }
}

/// One for each stream that some program uses.
absl::StatusOr<CUstream> CudaDevice::streamOf(const ProgramBinding &program,
                                              unsigned index) {
  streams.resize(std::max<size_t>(streams.size(), index + 1));
  if (!streams[index]) {
    int priority = program.streams[index].computes ? kUsual : kUrgent;
    ZG_CUDA(context->api, cuStreamCreateWithPriority, &streams[index],
            CU_STREAM_NON_BLOCKING, priority);
  }
  return streams[index];
}

absl::Status CudaDevice::bindStep(const ProgramBinding &program,
                                  StepBinding &step, CudaProgram &bound) {
  ZG_ASSIGN_OR_RETURN(CUstream stream, streamOf(program, step.stream));
  std::unique_ptr<Operation> operation = std::move(step.operation);
  if (!operation) {
    ZG_ASSIGN_OR_RETURN(operation,
                        makeCudaOperation(context->api, program.module, step));
  }
  auto countOf = [&](Timepoint point) -> absl::StatusOr<CudaProgram::Count> {
    ZG_ASSIGN_OR_RETURN(CUdeviceptr counter,
                        cudaAddress(program.counters.part(
                            point.counter * kCounterBytes, kCounterBytes)));
    return CudaProgram::Count{counter, point.value};
  };
  std::vector<CudaProgram::Count> awaits;
  std::optional<CudaProgram::Count> publishes;
  for (Timepoint point : step.awaits) {
    ZG_ASSIGN_OR_RETURN(awaits.emplace_back(), countOf(point));
  }
  if (step.publishes) {
    ZG_ASSIGN_OR_RETURN(publishes, countOf(*step.publishes));
  }
  return bound.add(stream, step.number, std::move(operation), step.waits,
                   std::move(awaits), publishes);
}

absl::StatusOr<std::unique_ptr<BoundProgram>>
CudaDevice::bind(ProgramBinding program) {
  ZG_RETURN_IF_ERROR(context->enter());
  auto bound = std::make_unique<CudaProgram>(
      context, options, [this](const absl::Status &status, uint32_t step) {
        if (failure) {
          failure(status, step);
        }
      });
  for (StepBinding &step : program.steps) {
    absl::Status status = bindStep(program, step, *bound);
    if (!status.ok()) {
      return annotate(status, absl::StrCat("step ", step.number, " '",
                                           step.step->name(), "'"));
    }
  }
  ZG_RETURN_IF_ERROR(bound->seal());
  return bound;
}

absl::StatusOr<std::string> uuidOf(const CudaApi &api, CUdevice device) {
  CUuuid id = {};
  ZG_CUDA(api, cuDeviceGetUuid, &id, device);
  return absl::BytesToHexString({id.bytes, sizeof(id.bytes)});
}

class CudaDriver final : public Driver {
public:
  explicit CudaDriver(std::shared_ptr<CudaContext> context)
      : context(std::move(context)) {}

  absl::StatusOr<std::unique_ptr<Module>>
  load(const plan::Plan &plan, const LoadOptions &options) override {
    return CudaModule::load(context, plan, options);
  }

  absl::StatusOr<std::unique_ptr<Device>>
  createDevice(const DeviceOptions &options) override {
    return std::make_unique<CudaDevice>(context, options);
  }

  absl::Status checkMemory(const MemoryNeed &need) const override {
    ZG_ASSIGN_OR_RETURN(Room room, lookForRoom());
    if (need.device <= room.free) {
      return zerograph::checkMemory(need.pinned, hostMemory());
    }
    return absl::ResourceExhaustedError(absl::StrCat(
        "the ranks on the GPU need ", grouped(need.device), " bytes, and ",
        grouped(room.free), " of ", grouped(room.total),
        " are free: use a smaller micro-batch or a higher ZeRO stage (see "
        "zerograph inspect)"));
  }

  /// Streams in one queue of the hardware wait for each other: one that awaits
  /// the host may hold up another, for which the host waits.
  absl::Status checkStreams(unsigned streams) const override {
    unsigned queues = cudaQueues();
    if (streams <= queues) {
      return absl::OkStatus();
    }
    return absl::FailedPreconditionError(absl::StrCat(
        "the ranks on the GPU have ", streams,
        " streams, which wait for the "
        "host's part of the plan, and the GPU gives this process ",
        queues,
        " queues (CUDA_DEVICE_MAX_CONNECTIONS), so that two would wait for "
        "each "
        "other: ",
        streams <= kMostCudaQueues
            ? "unset CUDA_DEVICE_MAX_CONNECTIONS"
            : "let fewer ranks share a GPU, or compile without offload"));
  }

  absl::StatusOr<std::string> accelerator() const override {
    return uuidOf(context->api, context->device);
  }

  absl::StatusOr<std::string> model() const override {
    char name[256] = "";
    ZG_CUDA(context->api, cuDeviceGetName, name, sizeof(name) - 1,
            context->device);
    return std::string(name);
  }

  absl::StatusOr<std::optional<uint64_t>> memoryInUse() const override {
    ZG_ASSIGN_OR_RETURN(Room room, lookForRoom());
    return room.total - room.free;
  }

private:
  struct Room {
    size_t free = 0, total = 0;
  };
  absl::StatusOr<Room> lookForRoom() const {
    ZG_RETURN_IF_ERROR(context->enter());
    Room room;
    ZG_CUDA(context->api, cuMemGetInfo, &room.free, &room.total);
    return room;
  }

  std::shared_ptr<CudaContext> context;
};

/// 90 of "sm_90"; nothing of another name.
std::optional<int> numberOf(absl::string_view architecture) {
  int number = 0;
  if (absl::ConsumePrefix(&architecture, "sm_") &&
      absl::SimpleAtoi(architecture, &number)) {
    return number;
  }
  return std::nullopt;
}

absl::Status checkArchitecture(const plan::Target &target,
                               const CudaContext &context) {
  for (const std::string &wanted : target.features()) {
    std::optional<int> needs = numberOf(wanted);
    std::optional<int> has = numberOf(context.architecture());
    // The driver says whether it loads one of another name.
    if (needs && has && *has < *needs) {
      return absl::FailedPreconditionError(absl::StrCat(
          "this machine cannot run the plan: its kernels are for ", wanted,
          " and later, the GPU is of ", context.architecture(),
          architectureFor(*has)
              ? absl::StrCat(". Compile it with --target cuda:sm_",
                             *architectureFor(*has))
              : absl::StrCat(", and sm_", kArchitectures[0],
                             " is the oldest there is")));
    }
  }
  return absl::OkStatus();
}

} // namespace

absl::StatusOr<std::vector<std::string>> zerograph::listGpus() {
  ZG_ASSIGN_OR_RETURN(const CudaApi *api, cudaApi());
  int count = 0;
  ZG_CUDA(*api, cuDeviceGetCount, &count);
  std::vector<std::string> gpus;
  for (int i = 0; i < count; ++i) {
    CUdevice device = 0;
    ZG_CUDA(*api, cuDeviceGet, &device, i);
    ZG_ASSIGN_OR_RETURN(gpus.emplace_back(), uuidOf(*api, device));
  }
  return gpus;
}

absl::StatusOr<std::string> zerograph::nativeArchitecture() {
  ZG_ASSIGN_OR_RETURN(const CudaApi *api, cudaApi());
  CUdevice device = 0;
  ZG_CUDA(*api, cuDeviceGet, &device, 0);
  ZG_ASSIGN_OR_RETURN(int capability, capabilityOf(*api, device));
  std::optional<int> architecture = architectureFor(capability);
  if (!architecture) {
    return absl::FailedPreconditionError(
        absl::StrCat("the GPU is of sm_", capability, ", and plans are for sm_",
                     kArchitectures[0], " and later"));
  }
  return absl::StrCat("sm_", *architecture);
}

absl::StatusOr<std::unique_ptr<Driver>>
zerograph::openCudaDriver(const plan::Target &target, unsigned number) {
  ZG_ASSIGN_OR_RETURN(const CudaApi *api, cudaApi());
  ZG_ASSIGN_OR_RETURN(auto context, CudaContext::open(*api, int(number)));
  ZG_RETURN_IF_ERROR(checkArchitecture(target, *context));
  return std::make_unique<CudaDriver>(std::move(context));
}
