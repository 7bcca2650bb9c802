//===- LowerToSched.cpp - from tensors to steps over byte ranges ----------===//

#include "passes/schedule/Passes.h"
#include "passes/schedule/StepEmitter.h"

namespace mlir::zg::sched {

#define GEN_PASS_DEF_LOWERTOSCHED
#include "passes/schedule/Passes.h.inc"

namespace {

//===----------------------------------------------------------------------===//
// --sched-lower
//===----------------------------------------------------------------------===//

struct LowerToSched : impl::LowerToSchedBase<LowerToSched> {
  explicit LowerToSched(const TargetInfo &target) : target(target) {}

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<nn::ProgramOp> functions(module.getOps<nn::ProgramOp>());
    SliceTable slices(module);
    KernelTable kernels(module);
    for (nn::ProgramOp function : functions) {
      if (failed(lower(function, slices, kernels))) {
        return signalPassFailure();
      }
      function.erase();
    }
    // Puts what runs first, then what it uses, then the layout, for the
    // reader's sake.
    Block *body = module.getBody();
    SmallVector<Operation *> ordered;
    llvm::append_range(ordered, module.getOps<SliceOp>());
    llvm::append_range(ordered, module.getOps<sched::KernelOp>());
    llvm::append_range(ordered, module.getOps<zero::LayoutOp>());
    for (Operation *op : ordered) {
      op->moveBefore(body, body->end());
    }
  }

  LogicalResult lower(nn::ProgramOp function, SliceTable &slices,
                      KernelTable &kernels) {
    if (!function.getBody().hasOneBlock()) {
      return function.emitError("@")
             << function.getName() << " has no body of one block";
    }
    if (failed(checkUnits(function, slices))) {
      return failure();
    }
    BufferAssignment storage(function, slices);
    if (failed(storage.assign())) {
      return failure();
    }
    auto builder = OpBuilder::atBlockEnd(getOperation().getBody());
    auto program =
        builder.create<ProgramOp>(function.getLoc(), "lowered", ValueRange());
    program.getBody().emplaceBlock();
    program.setSymName(function.getName());
    StepEmitter emitter(program, slices, kernels, storage, target);
    emitter.copyIn(function);
    for (Operation &op : function.front()) {
      if (failed(emitter.emit(&op))) {
        return failure();
      }
    }
    return success();
  }

  /// Ops of the zero dialect accept any unit where the module names none.
  LogicalResult checkUnits(nn::ProgramOp function, const SliceTable &slices) {
    WalkResult result = function.walk([&](Operation *op) {
      auto unit = op->getAttrOfType<IntegerAttr>("unit");
      if (unit &&
          unit.getInt() >= static_cast<int64_t>(slices.units().size())) {
        op->emitOpError("names unit ")
            << unit.getInt() << ", but the zero.layout has "
            << slices.units().size();
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  const TargetInfo &target;
};

} // namespace

std::unique_ptr<Pass> createLowerToSched(const TargetInfo &target) {
  return std::make_unique<LowerToSched>(target);
}

} // namespace mlir::zg::sched
