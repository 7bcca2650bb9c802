//===- ShardMicro.cpp - gathers and reductions around a micro-batch -------===//

#include "passes/zero/Passes.h"
#include "passes/zero/Sharder.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::zero;

Value Sharder::view(ProgramBuilder &program, const UnitState &unit,
                    unsigned member, Value flatBuffer) {
  PlacementAttr place = unit.attribute().getPlacements()[member];
  auto location =
      NameLoc::get(place.getParameter().getName(), program.location());
  return program.builder().create<ViewOp>(location, place.getType().getValue(),
                                          flatBuffer, place.getOffset());
}

void Sharder::gather(ProgramBuilder &program, const Gather &gather) {
  UnitState &unit = units[gather.unit];
  auto location = NameLoc::get(unit.attribute().getName(), program.location());
  flat[gather.unit] = program.builder().create<AllGatherOp>(
      location, unit.flatType(), parameterShards(program, unit), unit.index,
      kDataGroup, gather.reason,
      StayAttr::get(program.builder().getContext(), gather.stay),
      /*in_place=*/false);
}

void Sharder::cloneMicro(ProgramBuilder &program) {
  for (BlockArgument argument : micro.getArguments()) {
    auto input = micro.getArgAttrOfType<nn::InputAttr>(argument.getArgNumber(),
                                                       nn::kInputAttr);
    if (input) {
      mapping.map(argument,
                  program.input(argument.getType(), input, argument.getLoc()));
    }
  }
  for (UnitState &unit : units) {
    if (!unit.shardedParameters) {
      flat[unit.index] = wholeParameters(program, unit);
    }
  }

  DenseMap<int64_t, SmallVector<int64_t, 1>> ends; // position -> units
  for (const Gather &gather : gathers) {
    ends[gather.last].push_back(gather.unit);
  }
  size_t nextGather = 0;
  DenseMap<Value, Value> views; // parameter argument -> view in force
  for (auto [index, op] : llvm::enumerate(micro.front().without_terminator())) {
    int64_t position = index;
    for (; nextGather < gathers.size() && gathers[nextGather].first == position;
         ++nextGather) {
      gather(program, gathers[nextGather]);
      for (BlockArgument argument :
           units[gathers[nextGather].unit].unit.arguments) {
        views.erase(argument);
      }
    }
    for (Value operand : op.getOperands()) {
      auto place = places.find(operand);
      if (place == places.end()) {
        continue;
      }
      auto [unit, member] = place->second;
      Value &current = views[operand];
      if (!current) {
        current = view(program, units[unit], member, flat[unit]);
      }
      mapping.map(operand, current);
    }
    if (auto scalar = dyn_cast<nn::ScalarOp>(op)) {
      mapping.map(scalar, program.scalar(scalar.getName(), scalar.getType()));
    } else {
      program.builder().clone(op, mapping);
    }
    reduceWhereComplete(program, position);
    for (int64_t unit : ends.lookup(position)) {
      program.builder().create<ReleaseOp>(program.location(), flat[unit], unit);
    }
  }
}

void Sharder::reduceWhereComplete(ProgramBuilder &program, int64_t position) {
  for (UnitState &unit : units) {
    auto it = complete.find(unit.index);
    if (it != complete.end() && it->second == position) {
      reduce(program, unit);
    }
  }
}

/// What `micro` made for each parameter of the unit, as its flat buffer.
Value Sharder::pack(ProgramBuilder &program, const UnitState &unit,
                    const llvm::StringMap<Value> &members) {
  SmallVector<Value> parts;
  SmallVector<int64_t> offsets;
  for (PlacementAttr place : unit.attribute().getPlacements()) {
    StringRef name = place.getParameter().getName().getValue();
    parts.push_back(mapping.lookup(members.lookup(name)));
    offsets.push_back(place.getOffset());
  }
  return program.builder().create<PackOp>(
      NameLoc::get(unit.attribute().getName(), program.location()),
      unit.flatType(), parts, offsets, unit.index);
}

/// Packs a unit's gradients and reduces them.
void Sharder::reduce(ProgramBuilder &program, UnitState &unit) {
  OpBuilder &builder = program.builder();
  auto location = NameLoc::get(unit.attribute().getName(), program.location());
  Value packed = pack(program, unit, gradients);
  std::string reason = "gradients of " +
                       unit.attribute().getName().getValue().str() +
                       " are complete";
  bool whole = !unit.shardedUpdate && accumulate == 1;
  if (whole) {
    auto all = builder.create<AllReduceOp>(location, unit.flatType(), packed,
                                           /*accumulator=*/Value(), unit.index,
                                           kDataGroup, reason);
    reduced[unit.index] = {all};
    if (dumpGradients) {
      StateAttr state = key(unit, -1, kGradRole, false);
      program.state(state, unit.flatType());
      program.update(all, state);
    }
    return;
  }
  for (int64_t segment = 0; segment < unit.segments(); ++segment) {
    RankedTensorType type = unit.shardType(segment, options.world);
    StateAttr state = key(unit, segment, kGradRole, true);
    Value accumulator;
    bool kept = accumulate > 1 || dumpGradients;
    if (kept) {
      Value held = program.state(state, type);
      accumulator = accumulate > 1 ? held : Value();
    }
    // Stage 1 shards the optimizer alone: its gradients stay whole until the
    // update, and the sum takes this rank's place in them.
    bool inPlace = options.stage == 1 && !kept;
    Value shard = builder.create<ReduceScatterOp>(
        location, type, packed, accumulator, unit.index, segment, kDataGroup,
        reason, inPlace);
    reduced[unit.index].push_back(shard);
    if (kept) {
      program.update(shard, state);
    }
  }
}

/// The loss and the stop flags of all ranks, in one small reduction each.
void Sharder::reduceLoss(ProgramBuilder &program) {
  OpBuilder &builder = program.builder();
  Value loss = micro.front().getTerminator()->getOperand(0);
  Location location = loss.getLoc();
  loss = mapping.lookupOrDefault(loss);
  // Of float64, as the model computes it, or of float32.
  Type element = cast<RankedTensorType>(loss.getType()).getElementType();
  loss = builder.create<nn::ReshapeOp>(
      location, RankedTensorType::get({1}, element), loss);
  if (!element.isF64() && !element.isF32()) {
    loss = builder.create<nn::ConvertOp>(
        location, RankedTensorType::get({1}, builder.getF32Type()), loss);
  }
  auto reduceScalar = [&](Value value, StringRef role, StringRef reason) {
    auto type = cast<RankedTensorType>(value.getType());
    StateAttr state = scalarKey(role);
    Value sum = builder.create<AllReduceOp>(location, type, value,
                                            program.state(state, type),
                                            /*unit=*/-1, kDataGroup, reason);
    program.update(sum, state);
  };
  reduceScalar(loss, kLossRole, "the mean loss");
  reduceScalar(program.scalar(kStopRole), kStopRole,
               "ranks stop after the same step");
}

/// Each rank's own: nothing is reduced.
void Sharder::updateLocal(ProgramBuilder &program) {
  for (UnitState &unit : units) {
    if (unit.attribute().getLocal()) {
      program.update(pack(program, unit, nextValues),
                     key(unit, -1, kParamRole, false));
    }
  }
}
