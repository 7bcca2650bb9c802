//===- GradientSums.cpp - the sums of gradients that an update takes ------===//

#include "passes/zero/GradientSums.h"

#include "passes/ir/nn/NNBuilder.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::zero;

SmallVector<Value> GradientSums::carried(int64_t unit) {
  SmallVector<Value> shards;
  for (int64_t i = 0; i < states.segments(unit); ++i) {
    shards.push_back(program.state(states.shard(unit, i, kGradRole),
                                   states.shardType(unit, i, kGradRole)));
  }
  return shards;
}

SmallVector<Value> GradientSums::reduce(int64_t unit, StringRef precision) {
  Value own = program.state(states.whole(unit, kGradRole),
                            states.wholeType(unit, kGradRole));
  Location location = states.location(unit, program.location());
  Type sent = states.sentType(unit, precision).getElementType();
  own = nn::NNBuilder(builder, location).convert(own, sent);
  SmallVector<Value> shards;
  for (int64_t i = 0; i < states.segments(unit); ++i) {
    shards.push_back(builder.create<ReduceScatterOp>(
        location, states.shardType(unit, i, kGradRole), own,
        /*accumulator=*/Value(), unit, i, states.axes(unit),
        "each rank has added up its gradients of " + states.name(unit).str(),
        /*in_place=*/false));
  }
  return shards;
}

void GradientSums::clear(int64_t unit) {
  if (states.reducesLast(unit)) {
    clear(unit, states.whole(unit, kGradRole),
          states.wholeType(unit, kGradRole));
    return;
  }
  for (int64_t i = 0; i < states.segments(unit); ++i) {
    clear(unit, states.shard(unit, i, kGradRole),
          states.shardType(unit, i, kGradRole));
  }
}

/// Begins the next step's sum at +0.0.
void GradientSums::clear(int64_t unit, StateAttr state, RankedTensorType type) {
  Value zero = builder.create<nn::ConstantOp>(
      states.location(unit, program.location()), type,
      SplatElementsAttr::get(type, builder.getZeroAttr(type.getElementType())));
  program.update(zero, state);
}
