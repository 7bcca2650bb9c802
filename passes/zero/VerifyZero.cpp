//===- VerifyZero.cpp - every gradient reduced once, gathers match --------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/zero/Passes.h"

namespace mlir::zg::zero {

#define GEN_PASS_DEF_VERIFYZERO
#include "passes/zero/Passes.h.inc"

namespace {

//===----------------------------------------------------------------------===//
// --zero-verify
//===----------------------------------------------------------------------===//

struct VerifyZero : impl::VerifyZeroBase<VerifyZero> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto units = module->getAttrOfType<ArrayAttr>(kUnitsAttr);
    if (!units) {
      module.emitError("has no '") << kUnitsAttr << "'";
      return signalPassFailure();
    }
    bool good = true;
    for (auto [index, attribute] : llvm::enumerate(units)) {
      auto unit = cast<ParamUnitAttr>(attribute);
      if (unit.getTrainable()) {
        good &= verifyReductions(unit, index);
      }
      if (unit.getTrainable() || unit.getLocal()) {
        good &= verifyUpdate(unit, index);
      }
      if (unit.getLocal()) {
        good &= verifyApart(index);
      }
    }
    module.walk([&](PrefetchOp op) {
      if (!op.getHandle().hasOneUse()) {
        op.emitOpError("is awaited ")
            << llvm::range_size(op.getHandle().getUses()) << " times, not once";
        good = false;
      }
    });
    for (auto program : module.getOps<func::FuncOp>()) {
      for (unsigned i = 0; i < program.getNumArguments(); ++i) {
        if (auto parameter = program.getArgAttrOfType<nn::ParameterAttr>(
                i, nn::kParameterAttr)) {
          program.emitError("still has parameter ")
              << parameter.getName() << " as an argument";
          good = false;
        }
      }
    }
    if (!good) {
      signalPassFailure();
    }
  }

  bool verifyReductions(ParamUnitAttr unit, size_t index) {
    SmallVector<int64_t> count(unit.getSegments().size());
    getOperation().walk([&](Operation *op) {
      if (auto reduce = dyn_cast<ReduceScatterOp>(op)) {
        if (reduce.getUnit() == index && reduce.getSegment() < count.size()) {
          ++count[reduce.getSegment()];
        }
      } else if (auto all = dyn_cast<AllReduceOp>(op)) {
        if (all.getUnit() == index) {
          for (int64_t &segment : count) {
            ++segment;
          }
        }
      }
    });
    for (auto [segment, reductions] : llvm::enumerate(count)) {
      if (reductions != 1) {
        getOperation().emitError("segment ")
            << segment << " of unit " << unit.getName() << " is reduced "
            << reductions << " times, not once";
        return false;
      }
    }
    return true;
  }

  /// No collective has to do with what is each rank's own.
  bool verifyApart(size_t index) {
    bool apart = true;
    getOperation().walk([&](Operation *op) {
      auto unit = op->getAttrOfType<IntegerAttr>("unit");
      if (isa<AllGatherOp, PrefetchOp, ReduceScatterOp, AllReduceOp>(op) &&
          unit && unit.getInt() == static_cast<int64_t>(index)) {
        op->emitOpError("moves unit ") << index << ", which is each rank's own";
        apart = false;
      }
    });
    return apart;
  }

  bool verifyUpdate(ParamUnitAttr unit, size_t index) {
    SmallVector<int64_t> updated;
    for (auto program : getOperation().getOps<func::FuncOp>()) {
      for (unsigned i = 0; i < program.getNumResults(); ++i) {
        auto state = program.getResultAttrOfType<StateAttr>(i, kUpdatesAttr);
        if (state && state.getUnit() == static_cast<int64_t>(index) &&
            state.getRole() == kParamRole) {
          updated.push_back(state.getSegment());
        }
      }
    }
    llvm::sort(updated);
    bool whole = updated.size() == 1 && updated[0] == -1;
    if (whole || llvm::equal(updated, llvm::seq<int64_t>(
                                          0, unit.getSegments().size()))) {
      return true;
    }
    getOperation().emitError("parameters of unit ")
        << unit.getName() << " are updated " << updated.size() << " times for "
        << unit.getSegments().size() << " segments";
    return false;
  }
};

} // namespace
} // namespace mlir::zg::zero
