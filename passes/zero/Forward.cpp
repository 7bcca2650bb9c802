//===- Forward.cpp - running forward, on one rank -------------------------===//

#include "passes/differentiate/Passes.h"
#include "passes/zero/FlatBuffers.h"
#include "passes/zero/Passes.h"

namespace mlir::zg::zero {

#define GEN_PASS_DEF_FORWARD
#include "passes/zero/Passes.h.inc"

namespace {

//===----------------------------------------------------------------------===//
// --zero-forward
//===----------------------------------------------------------------------===//

struct Forward : impl::ForwardBase<Forward> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto forward = module.lookupSymbol<nn::ProgramOp>(nn::kForwardFunction);
    if (!forward || forward.isExternal()) {
      module.emitError("has no function @forward to run");
      return signalPassFailure();
    }
    std::vector<Unit> units = groupIntoUnits(forward, {});
    for (const Unit &unit : units) {
      if (unit.attribute.getTrainable()) {
        forward.emitError("trains unit ")
            << unit.attribute.getName() << ", and is to be run forward only";
        return signalPassFailure();
      }
    }
    declareUnits(module, units, OptimizerGroups(), /*ranks=*/1, /*stage=*/0,
                 /*accumulate=*/1);
    Program program(forward);
    viewParameters(program, units, *UnitStates::of(module));
    if (failed(nameOutputs(program))) {
      return signalPassFailure();
    }
    forward.setName(kForwardProgram);
  }

  LogicalResult nameOutputs(Program &program) {
    nn::ProgramOp forward = program.function();
    unsigned known = forward.getNumResults();
    for (unsigned i = 0; i < known; ++i) {
      auto name = forward.getResultAttrOfType<StringAttr>(i, nn::kOutputAttr);
      if (!name) {
        return forward.emitError("result ") << i << " has no name";
      }
      bool perSample = forward.getResultAttr(i, nn::kPerSampleAttr) != nullptr;
      program.result(program.terminator()->getOperand(i), kOutputAttr,
                     OutputAttr::get(&getContext(), name, perSample));
    }
    program.eraseResults([&](unsigned i) { return i < known; });
    return success();
  }
};

} // namespace
} // namespace mlir::zg::zero
