//===- PlanWriter.cpp - from the sched dialect to a plan ------------------===//

#include "codegen/plan/PlanWriter.h"

#include "codegen/plan/PlanParts.h"
#include "codegen/plan/PlanTypes.h"
#include "passes/differentiate/Optimizer.h"
#include "passes/kernels/Linear.h"
#include "passes/schedule/InPlace.h"
#include "passes/zero/Passes.h"
#include "runtime/base/Version.h"
#include "runtime/plan/Hyperparameters.h"

using namespace mlir;
using namespace mlir::zg;
namespace plan = zerograph::plan;

namespace {

plan::OptimizerGroup writeGroup(zero::OptimizerGroupAttr group) {
  DictionaryAttr options = group.getOptions();
  plan::OptimizerGroup result;
  result.set_name(group.getName().str());
  if (auto kind = options.getAs<StringAttr>("optimizer")) {
    result.set_kind(kind.str());
  }
  zerograph::setHyperparameters(nn::hyperparametersOf(options), result);
  return result;
}

LogicalResult writeHeader(ModuleOp module, const PlanInfo &info,
                          plan::Plan &plan) {
  plan.set_producer(zerograph::kProducer);
  plan.set_model(info.model);
  // A program that only runs forward updates nothing.
  zero::LayoutOp layout = zero::layoutOf(module);
  if (layout && layout.getGroups()) {
    for (auto group :
         layout.getGroups()->getAsRange<zero::OptimizerGroupAttr>()) {
      if (group.getOptions()) {
        *plan.add_groups() = writeGroup(group);
        *plan.mutable_schedule() = info.schedule;
      }
    }
  }
  plan.set_dump_gradients(info.dump_gradients);
  plan.set_skip_nonfinite(info.skip_nonfinite);
  plan.set_clip_norm(info.clip_norm);
  plan.set_clip_value(info.clip_value);
  if (!info.recompute.empty()) {
    plan.set_recompute(info.recompute);
    plan.set_recompute_ratio(info.recompute_ratio);
  }
  if (info.loss_scale) {
    *plan.mutable_loss_scale() = *info.loss_scale;
  }
  auto number = [&](StringRef name) -> int64_t {
    auto attribute = module->getAttrOfType<IntegerAttr>(name);
    return attribute ? attribute.getInt() : -1;
  };
  for (StringRef name :
       {StringRef(zero::kStageAttr), StringRef(zero::kAccumulateAttr)}) {
    if (number(name) < 0) {
      return module.emitError("has no '") << name << "'";
    }
  }
  zero::MeshAttr mesh = zero::meshOf(module);
  for (auto [name, size] : llvm::zip_equal(mesh.getNames(), mesh.getSizes())) {
    plan::Axis &axis = *plan.add_mesh();
    axis.set_name(name.str());
    axis.set_size(size);
  }
  if (auto unfused = module->getAttrOfType<ArrayAttr>(nn::kUnfusedAttr)) {
    for (auto softmax : unfused.getAsRange<ArrayAttr>()) {
      plan::Unfused &entry = *plan.add_unfused();
      entry.set_node(cast<StringAttr>(softmax[0]).str());
      entry.set_reason(cast<StringAttr>(softmax[1]).str());
    }
  }
  plan.set_recomputed(std::max<int64_t>(number(zero::kRecomputedAttr), 0));
  plan.set_zero_stage(number(zero::kStageAttr));
  plan.set_accumulate(number(zero::kAccumulateAttr));
  return success();
}

/// Writes what launches of the kernel must bring: its operands, then its
/// results.
LogicalResult writeOperands(Operation *kernel, plan::Kernel &entry) {
  auto add = [&](Type type, plan::Mode mode) {
    plan::Operand &operand = *entry.add_operands();
    operand.set_bytes(nn::tensorBytes(type));
    operand.set_mode(mode);
    operand.set_type(planType(cast<RankedTensorType>(type).getElementType()));
    return operand.type() != plan::ELEMENT_INVALID;
  };
  for (Type type : kernel->getOperandTypes()) {
    if (!add(type, plan::READ)) {
      return kernel->emitError("reads ") << type << ", which no plan can hold";
    }
  }
  for (OpResult result : kernel->getResults()) {
    if (!add(result.getType(), plan::WRITE)) {
      return kernel->emitError("makes ")
             << result.getType() << ", which no plan can hold";
    }
    plan::Operand &written = *entry.mutable_operands(entry.operands_size() - 1);
    for (unsigned i :
         kernels::linearOperands(kernel, result.getResultNumber())) {
      written.add_linear_in(i);
    }
    for (unsigned i = 0; i < kernel->getNumOperands(); ++i) {
      if (sched::canShareStorage(kernel, i, result.getResultNumber())) {
        written.add_in_place(i);
      }
    }
  }
  return success();
}

LogicalResult writeKernels(ModuleOp module, DeviceCode &code,
                           DeviceCode &helper, plan::Plan &plan,
                           PlanIndex &index) {
  for (auto op : module.getOps<sched::KernelOp>()) {
    index.kernels[op.getName()] = plan.kernels_size();
    plan::Kernel &kernel = *plan.add_kernels();
    // A device has one module, of its number.
    kernel.set_module(op.getOnHost() ? kHelper : 0);
    if (failed((op.getOnHost() ? helper : code).add(op.kernel(), kernel)) ||
        failed(writeOperands(op.kernel(), kernel)) ||
        failed(writeCost(op.kernel(), kernel))) {
      return failure();
    }
  }
  return success();
}

} // namespace

/// Writes the device, and the host if it has anything to do: what they must
/// have, and their code.
static LogicalResult writeDevices(DeviceCode &code, DeviceCode &helper,
                                  bool withoutCode, plan::Plan &plan) {
  SmallVector<DeviceCode *, 2> devices = {&code};
  if (llvm::any_of(plan.streams(), [](const plan::Stream &stream) {
        return stream.device() == kHelper;
      })) {
    devices.push_back(&helper);
  }
  for (auto [number, device] : llvm::enumerate(devices)) {
    device->describe(plan);
    if (withoutCode) {
      continue;
    }
    if (failed(device->finish(plan))) {
      return failure();
    }
    plan.mutable_modules(int(number))->set_device(uint32_t(number));
  }
  return success();
}

FailureOr<plan::Plan> mlir::zg::writePlan(ModuleOp module, DeviceCode &code,
                                          DeviceCode &helper,
                                          const PlanInfo &info) {
  plan::Plan plan;
  PlanIndex index;
  if (failed(writeHeader(module, info, plan)) ||
      failed(writeDeclarations(module, info, plan, index)) ||
      failed(writeKernels(module, code, helper, plan, index))) {
    return failure();
  }
  for (auto program : module.getOps<sched::ProgramOp>()) {
    if (failed(writeProgram(program, index, plan))) {
      return failure();
    }
  }
  if (failed(writeDevices(code, helper, info.without_code, plan))) {
    return failure();
  }
  return plan;
}
