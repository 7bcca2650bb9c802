//===- SchedNames.cpp - by which names slices and timepoints are printed --===//

#include "passes/ir/sched/SchedDialect.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::sched;

static std::string nameOf(SliceOp slice) {
  if (zero::StateAttr state = slice.getStateAttr()) {
    return zero::printedName(state, zero::unitsOf(slice));
  }
  std::string label = slice.getLabel().str();
  return slice.getSliceClass() == SliceClass::gathered ? label + ".flat"
                                                       : label;
}

void sched::detail::nameResults(Operation *op, OpAsmSetValueNameFn setName) {
  if (auto slice = dyn_cast<SliceOp>(op)) {
    setName(slice.getResult(), nn::printedName(nameOf(slice)));
  } else if (auto step = dyn_cast<Step>(op)) {
    setName(op->getResult(0), nn::printedName(step.getLabel().str() + ".done"));
  }
}
