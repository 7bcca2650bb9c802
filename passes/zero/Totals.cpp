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
      program.terminator()->getOperand(0).getLoc(), type, value,
      program.state(state, type), builder.getStrArrayAttr({kDataAxis}), reason);
  program.update(sum, state);
}

std::optional<int64_t> mlir::zg::zero::metricOf(Program &program,
                                                unsigned result) {
  auto place = program.function().getResultAttrOfType<IntegerAttr>(
      result, nn::kMetricAttr);
  return place ? std::optional(place.getInt()) : std::nullopt;
}
