//===- CudaDevice.cpp - a GPU as a rank's device --------------------------===//

#include "runtime/device/cuda/CudaDevice.h"

#include "runtime/device/cuda/CudaBuffer.h"
#include "runtime/device/cuda/CudaOperations.h"
#include "runtime/device/cuda/CudaProgram.h"

#include <algorithm>

using namespace zerograph;

namespace {

/// A stream that waits is more urgent than one that computes: a collective that
/// begins late delays everybody.
constexpr int kUrgent = -1, kUsual = 0;

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

} // namespace

std::unique_ptr<Device>
zerograph::makeCudaDevice(std::shared_ptr<CudaContext> context,
                          const DeviceOptions &options) {
  return std::make_unique<CudaDevice>(std::move(context), options);
}
