//===- HostCode.cpp - what the host brings to a plan ----------------------===//

#include "codegen/host/HostCode.h"

#include "codegen/plan/PlanTypes.h"
#include "runtime/device/host/MatmulLibrary.h"

using namespace mlir;
using namespace mlir::zg;
namespace plan = zerograph::plan;

static void writeTarget(const HostTarget &host, plan::Target &target) {
  target.set_device("host");
  SmallVector<StringRef> features;
  StringRef(host.features).split(features, ',', -1, /*KeepEmpty=*/false);
  llvm::sort(features);
  for (StringRef feature : features) {
    // A feature that is switched off is not needed.
    if (!feature.starts_with("-")) {
      target.add_features(feature.ltrim('+').str());
    }
  }
  if (host.library) {
    target.set_math_library(zerograph::libraryVersion());
    target.set_math_isa(zerograph::effectiveIsa());
  }
  target.set_cut_version(zerograph::kCutVersion);
}

LogicalResult HostCode::add(Operation *op, plan::Kernel &kernel) {
  FailureOr<KernelInfo> info = kernels.add(op);
  if (failed(info)) {
    return failure();
  }
  kernel.set_symbol(info->symbol);
  if (info->multiplied) {
    kernel.add_operations()->set_type(planType(info->multiplied));
  }
  kernel.mutable_host()->set_extent(info->extent);
  kernel.mutable_host()->set_grain(info->grain);
  return success();
}

void HostCode::describe(plan::Plan &plan) const {
  writeTarget(target, *plan.add_devices());
}

LogicalResult HostCode::finish(plan::Plan &plan) {
  FailureOr<std::vector<char>> bytes = kernels.finish();
  if (failed(bytes)) {
    return failure();
  }
  plan.add_modules()->set_elf(std::string(bytes->begin(), bytes->end()));
  return success();
}
