//===- UnitUpdate.cpp - the update of a unit by its owners ----------------===//

#include "passes/zero/UnitUpdate.h"

#include "passes/ir/nn/NNBuilder.h"
#include "passes/zero/TrustRatio.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::zero;
using zerograph::options::Scalar;

void UnitUpdate::run(int64_t unit, ValueRange gradients) {
  location = states.location(unit, program.location());
  if (states.shardsUpdate(unit)) {
    updateShards(unit, gradients);
  } else {
    updateWhole(unit, gradients);
  }
}

/// Updates everything on every rank.
void UnitUpdate::updateWhole(int64_t unit, ValueRange gradients) {
  Value gradient = builder.create<AllGatherOp>(
      location, states.wholeType(unit, kGradRole), gradients, unit,
      states.axes(unit),
      "every rank updates all parameters of " + states.name(unit).str(),
      /*stay=*/StayAttr(), /*in_place=*/false);
  Value updated = update(unit, /*segments=*/{-1}, gradient).front();
  program.update(updated, states.whole(unit, kParamRole));
}

/// Updates its shards on every rank; the others get them where parameters are
/// whole.
void UnitUpdate::updateShards(int64_t unit, ValueRange gradients) {
  auto segments = llvm::to_vector(llvm::seq<int64_t>(0, states.segments(unit)));
  SmallVector<Value> updated = update(unit, segments, gradients);
  for (int64_t i : segments) {
    if (states.shardsParameters(unit)) {
      program.update(updated[i], states.shard(unit, i, kParamRole));
    }
  }
  if (!states.shardsParameters(unit)) {
    Value whole = builder.create<AllGatherOp>(
        location, states.wholeType(unit, kParamRole), updated, unit,
        states.axes(unit), "updated parameters of " + states.name(unit).str(),
        /*stay=*/StayAttr(), /*in_place=*/true);
    program.update(whole, states.whole(unit, kParamRole));
  }
}

/// Returns the new values of parameters, of the unit's type: of segments, or of
/// the whole buffer (-1). Updates the optimizer's states and the masters.
SmallVector<Value> UnitUpdate::update(int64_t unit, ArrayRef<int64_t> segments,
                                      ValueRange gradients) {
  nn::NNBuilder b(builder, location);
  UnitParts parts{unit, {segments.begin(), segments.end()}, {}, {}};
  SmallVector<Value> before, made;
  for (auto [segment, gradient] : llvm::zip_equal(segments, gradients)) {
    before.push_back(master(unit, segment));
    // The update works in the type of the gradient; states are kept in their
    // own.
    Value wide = b.convert(before.back(), nn::elementOf(gradient));
    nn::Update update = updateFrom(unit, segment, wide, gradient);
    parts.parameters.push_back(wide);
    // The direction lies in memory before norms are made of it: so a kernel
    // that writes states in place makes it, and no other that reads them
    // several times.
    parts.directions.push_back(
        update.direction
            ? builder.create<RecallOp>(location, update.direction.getType(),
                                       update.direction, unit)
            : Value());
    made.push_back(update.parameter);
  }
  if (parts.directions.front()) {
    made = stepByTrustRatio(program, states, parts, optimizerOf(unit),
                            trustedRate(unit), location);
  }
  for (auto [segment, value, old] : llvm::zip_equal(segments, made, before)) {
    value = round(unit, segment, unlessSkipped(value, old));
  }
  return made;
}

nn::Update UnitUpdate::updateFrom(int64_t unit, int64_t segment,
                                  Value parameter, Value gradient) {
  nn::NNBuilder b(builder, location);
  const nn::OptimizerOptions &optimizer = optimizerOf(unit);
  SmallVector<StringRef> roles = nn::optimizerStates(optimizer);
  SmallVector<Value> old, widened;
  for (StringRef role : roles) {
    old.push_back(program.state(states.shard(unit, segment, role),
                                typeOf(unit, segment, role)));
    widened.push_back(b.convert(old.back(), nn::elementOf(gradient)));
  }
  nn::Update made = nn::buildUpdate(
      builder, location, optimizer, parameter, gradient, gradientScale(),
      widened, [&](Scalar one) { return scalar(unit, one); });
  for (auto [role, value, before] : llvm::zip_equal(roles, made.states, old)) {
    program.update(unlessSkipped(value, before),
                   states.shard(unit, segment, role));
  }
  return made;
}

/// Keeps a master's new value and returns the parameters, rounded from it.
Value UnitUpdate::round(int64_t unit, int64_t segment, Value made) {
  if (!hasMaster(unit)) {
    return made;
  }
  program.update(made, states.shard(unit, segment, kMasterRole));
  return nn::NNBuilder(builder, location)
      .convert(made, states.declared(unit, kParamRole).getType());
}

/// Returns the value that replaces `before`, in its type.
Value UnitUpdate::unlessSkipped(Value made, Value before) {
  nn::NNBuilder b(builder, location);
  made = b.convert(made, nn::elementOf(before));
  if (!skips) {
    return made;
  }
  Value scale = gradientScale();
  Value updates = b.compare(nn::CompareKind::ne, scale, b.splat(scale, 0));
  return b.select(b.broadcast(updates, nn::shapeOf(made)), made, before);
}

Value UnitUpdate::gradientScale() {
  return program.scalar(nn::kGradientScale, scalarType);
}

/// Returns a scalar of the unit's group of parameters.
Value UnitUpdate::scalar(int64_t unit, Scalar one) {
  return program.scalar(zerograph::options::nameOf(one), scalarType,
                        states.group(unit));
}

/// Returns the rate of a step along LAMB's direction, before the ratio.
Value UnitUpdate::trustedRate(int64_t unit) {
  nn::NNBuilder b(builder, location);
  Type element = states.declared(unit, kGradRole).getType();
  return b.mul(b.convert(scalar(unit, Scalar::step_size), element),
               b.convert(scalar(unit, Scalar::bias_correction2_sqrt), element));
}

/// Returns the parameters that the update works on.
Value UnitUpdate::master(int64_t unit, int64_t segment) {
  return hasMaster(unit)
             ? program.state(states.shard(unit, segment, kMasterRole),
                             typeOf(unit, segment, kMasterRole))
             : parameters(unit, segment);
}

Value UnitUpdate::parameters(int64_t unit, int64_t segment) {
  if (segment >= 0 && states.shardsParameters(unit)) {
    return program.state(states.shard(unit, segment, kParamRole),
                         states.shardType(unit, segment, kParamRole));
  }
  Value whole = program.state(states.whole(unit, kParamRole),
                              states.wholeType(unit, kParamRole));
  return segment < 0
             ? whole
             : builder.create<ShardOp>(
                   location, states.shardType(unit, segment, kParamRole), whole,
                   unit, segment);
}

RankedTensorType UnitUpdate::typeOf(int64_t unit, int64_t segment,
                                    StringRef role) const {
  return segment < 0 ? states.wholeType(unit, role)
                     : states.shardType(unit, segment, role);
}
