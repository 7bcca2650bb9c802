//===- ShardUpdate.cpp - the update of parameters by their owners ---------===//

#include "passes/zero/Passes.h"
#include "passes/zero/Sharder.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::zero;

void Sharder::updateAll(ProgramBuilder &program) {
  // In the order in which gradients are complete, so that the first ones are
  // freed first.
  SmallVector<UnitState *> order;
  for (UnitState &unit : units) {
    if (unit.trainable()) {
      order.push_back(&unit);
    }
  }
  llvm::stable_sort(order, [&](UnitState *a, UnitState *b) {
    return complete[a->index] < complete[b->index];
  });
  for (UnitState *unit : order) {
    if (accumulate > 1) {
      reduced[unit->index].clear();
      for (int64_t segment = 0; segment < unit->segments(); ++segment) {
        reduced[unit->index].push_back(
            program.state(key(*unit, segment, kGradRole, true),
                          unit->shardType(segment, options.world)));
      }
    }
    if (unit->shardedUpdate) {
      updateShards(program, *unit);
    } else {
      updateWhole(program, *unit);
    }
    if (accumulate > 1) {
      for (int64_t segment = 0; segment < unit->segments(); ++segment) {
        RankedTensorType type = unit->shardType(segment, options.world);
        Value zero = program.builder().create<nn::ConstantOp>(
            program.location(), type,
            SplatElementsAttr::get(
                type, program.builder().getZeroAttr(type.getElementType())));
        program.update(zero, key(*unit, segment, kGradRole, true));
      }
    }
  }
}

/// Of float64 where any parameter is; buildUpdate rounds it for others.
Value Sharder::optimizerScalar(ProgramBuilder &program, StringRef name) {
  OpBuilder &builder = program.builder();
  bool wide = llvm::any_of(units, [](const UnitState &unit) {
    return unit.attribute().getTrainable() &&
           unit.flatType().getElementType().isF64();
  });
  return program.scalar(
      name, RankedTensorType::get({1}, wide ? builder.getF64Type()
                                            : builder.getF32Type()));
}

/// Stage 0: every rank updates everything.
void Sharder::updateWhole(ProgramBuilder &program, UnitState &unit) {
  OpBuilder &builder = program.builder();
  auto location = NameLoc::get(unit.attribute().getName(), program.location());
  Value gradient = reduced[unit.index].front();
  if (accumulate > 1) {
    gradient = builder.create<AllGatherOp>(
        location, unit.flatType(), reduced[unit.index], unit.index, kDataGroup,
        "stage 0 updates whole parameters of " +
            unit.attribute().getName().getValue().str(),
        /*stay=*/StayAttr(), /*in_place=*/false);
  }
  SmallVector<StringRef> roles = nn::optimizerStates(optimizer);
  SmallVector<Value> states;
  for (StringRef role : roles) {
    states.push_back(
        program.state(key(unit, -1, role, false), unit.flatType()));
  }
  nn::Update update = nn::buildUpdate(
      builder, location, optimizer, wholeParameters(program, unit), gradient,
      states, [&](StringRef name) { return optimizerScalar(program, name); });
  program.update(update.parameter, key(unit, -1, kParamRole, false));
  for (auto [role, state] : llvm::zip(roles, update.states)) {
    program.update(state, key(unit, -1, role, false));
  }
}

/// Stages 1 to 3: every rank updates its shards.
void Sharder::updateShards(ProgramBuilder &program, UnitState &unit) {
  OpBuilder &builder = program.builder();
  auto location = NameLoc::get(unit.attribute().getName(), program.location());
  SmallVector<StringRef> roles = nn::optimizerStates(optimizer);
  SmallVector<Value> parameters = parameterShards(program, unit);
  SmallVector<Value> updated;
  for (int64_t segment = 0; segment < unit.segments(); ++segment) {
    SmallVector<Value> states;
    for (StringRef role : roles) {
      states.push_back(program.state(key(unit, segment, role, true),
                                     unit.shardType(segment, options.world)));
    }
    nn::Update update = nn::buildUpdate(
        builder, location, optimizer, parameters[segment],
        reduced[unit.index][segment], states,
        [&](StringRef name) { return optimizerScalar(program, name); });
    for (auto [role, state] : llvm::zip(roles, update.states)) {
      program.update(state, key(unit, segment, role, true));
    }
    updated.push_back(update.parameter);
    if (unit.shardedParameters) {
      program.update(update.parameter, key(unit, segment, kParamRole, true));
    }
  }
  if (!unit.shardedParameters) {
    Value whole = builder.create<AllGatherOp>(
        location, unit.flatType(), updated, unit.index, kDataGroup,
        "updated parameters of " + unit.attribute().getName().getValue().str(),
        /*stay=*/StayAttr(), /*in_place=*/true);
    program.update(whole, key(unit, -1, kParamRole, false));
  }
}
