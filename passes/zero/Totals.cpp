//===- Totals.cpp - numbers that are summed over ranks --------------------===//

#include "passes/zero/Totals.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::zero;

Value mlir::zg::zero::numberOf(Program &program, Value loss) {
  OpBuilder builder(program.terminator());
  Location location = loss.getLoc();
  Type element = cast<RankedTensorType>(loss.getType()).getElementType();
  loss = builder.create<nn::ReshapeOp>(
      location, RankedTensorType::get({1}, element), loss);
  if (!element.isF64() && !element.isF32()) {
    loss = builder.create<nn::ConvertOp>(
        location, RankedTensorType::get({1}, builder.getF32Type()), loss);
  }
  return loss;
}

void mlir::zg::zero::addTotal(Program &program, Value value, StringRef role,
                              StringRef reason, bool early, int64_t place) {
  OpBuilder builder(program.terminator());
  if (early) {
    builder.setInsertionPointAfterValue(value);
  }
  auto type = cast<RankedTensorType>(value.getType());
  auto state = StateAttr::get(builder.getContext(), -1, place,
                              builder.getStringAttr(role), false);
  auto sum = builder.create<AllReduceOp>(
      isa<BlockArgument>(value) ? program.terminator()->getOperand(0).getLoc()
                                : value.getLoc(),
      type, value, program.state(state, type),
      builder.getStrArrayAttr({kDataAxis}), reason);
  program.update(sum, state);
}

void mlir::zg::zero::addMetric(Program &program, unsigned result, Value value,
                               StringRef role) {
  nn::ProgramOp function = program.function();
  auto place =
      function.getResultAttrOfType<IntegerAttr>(result, nn::kMetricAttr);
  auto name = function.getResultAttrOfType<StringAttr>(result, nn::kOutputAttr);
  addTotal(program, value, role,
           ("the metric " + (name ? name.getValue() : StringRef())).str(),
           /*early=*/false, place.getInt());
}
