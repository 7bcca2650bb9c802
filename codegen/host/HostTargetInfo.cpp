//===- HostTargetInfo.cpp - what passes ask of the host -------------------===//

#include "codegen/host/HostTargetInfo.h"

#include "codegen/plan/PlanTypes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "runtime/device/host/ConvolutionLibrary.h"
#include "runtime/device/host/MatmulLibrary.h"

using namespace mlir;
using namespace mlir::zg;
namespace plan = zerograph::plan;

bool HostTargetInfo::hasMatmul(Type elementType) const {
  return library && (elementType.isF32() ||
                     (elementType.isBF16() && zerograph::multipliesBf16()));
}

bool HostTargetInfo::hasConvolution(Type elementType) const {
  return convolution && elementType.isF32();
}

static FailureOr<int64_t> bytesOr(absl::StatusOr<uint64_t> bytes,
                                  std::string &error) {
  if (!bytes.ok()) {
    error = std::string(bytes.status().message());
    return failure();
  }
  return static_cast<int64_t>(*bytes);
}

FailureOr<int64_t>
HostTargetInfo::matmulScratchBytes(const MatmulShape &shape,
                                   std::string &error) const {
  return bytesOr(zerograph::scratchBytes(planMatmul(shape)), error);
}

FailureOr<int64_t>
HostTargetInfo::convolutionScratchBytes(const nn::Convolution &shape,
                                        std::string &error) const {
  return bytesOr(zerograph::scratchBytes(planConvolution(shape)), error);
}
