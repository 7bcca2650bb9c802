//===- Shard.cpp - ZeRO stages 0 to 3 -------------------------------------===//
//
// One algorithm for all stages: the original ops are cloned in order, with
// parameters read through views; gathers, reductions and updates are put
// around them.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/IRMapping.h"
#include "passes/differentiate/Optimizer.h"
#include "passes/differentiate/Passes.h"
#include "passes/zero/GatherPlan.h"
#include "passes/zero/Passes.h"
#include "passes/zero/ProgramBuilder.h"
#include "llvm/ADT/StringSwitch.h"

namespace mlir::zg::zero {

#define GEN_PASS_DEF_SHARD
#include "passes/zero/Passes.h.inc"

namespace {

/// What the passes options decide once, for a unit.
struct UnitState {
  Unit unit;
  int64_t index;
  /// The parameters are this rank's shards across steps.
  bool shardedParameters;
  /// Optimizer state and its gradients are shards.
  bool shardedUpdate;

  ParamUnitAttr attribute() const { return unit.attribute; }
  RankedTensorType flatType() const {
    return RankedTensorType::get({attribute().getElements()},
                                 attribute().getElementType());
  }
  RankedTensorType shardType(int64_t segment, int64_t world) const {
    return RankedTensorType::get({attribute().getSegments()[segment] / world},
                                 attribute().getElementType());
  }
  int64_t segments() const { return attribute().getSegments().size(); }
  bool trainable() const { return attribute().getTrainable(); }
};

class Sharder {
public:
  Sharder(ModuleOp module, func::FuncOp micro, const UnitOptions &unitOptions,
          const nn::OptimizerOptions &optimizer, int64_t accumulate,
          bool dumpGradients);
  void run();

private:
  StateAttr key(const UnitState &unit, int64_t segment, StringRef role,
                bool sharded) const {
    return StateAttr::get(context, unit.index, segment,
                          StringAttr::get(context, role), sharded);
  }
  StateAttr scalarKey(StringRef role) const {
    return StateAttr::get(context, -1, -1, StringAttr::get(context, role),
                          false);
  }

  /// The whole flat buffer as it lives across steps (not for shards).
  Value wholeParameters(ProgramBuilder &program, const UnitState &unit) {
    return program.state(key(unit, -1, kParamRole, false), unit.flatType());
  }
  SmallVector<Value> parameterShards(ProgramBuilder &program,
                                     const UnitState &unit);

  void cloneMicro(ProgramBuilder &program);
  void gather(ProgramBuilder &program, const Gather &gather);
  Value view(ProgramBuilder &program, const UnitState &unit, unsigned member,
             Value flat);
  void reduceWhereComplete(ProgramBuilder &program, int64_t position);
  void reduce(ProgramBuilder &program, UnitState &unit);
  void reduceLoss(ProgramBuilder &program);
  void updateAll(ProgramBuilder &program);
  void updateWhole(ProgramBuilder &program, UnitState &unit);
  void updateShards(ProgramBuilder &program, UnitState &unit);
  void setModuleAttributes();

  ModuleOp module;
  func::FuncOp micro;
  MLIRContext *context;
  UnitOptions options;
  nn::OptimizerOptions optimizer;
  int64_t accumulate;
  bool dumpGradients;

  int64_t lossPosition = 0;
  SmallVector<UnitState> units;
  std::vector<Gather> gathers;
  IRMapping mapping;
  /// Unit -> flat buffer in force while cloning.
  DenseMap<int64_t, Value> flat;
  /// Parameter argument -> its unit and place in it.
  DenseMap<Value, std::pair<int64_t, unsigned>> places;
  /// Trainable unit -> position after which its gradients are complete.
  DenseMap<int64_t, int64_t> complete;
  /// Parameter name -> gradient in `micro`.
  llvm::StringMap<Value> gradients;
  /// Unit -> reduced gradients: one shard a segment, or the whole buffer.
  DenseMap<int64_t, SmallVector<Value>> reduced;
};

Sharder::Sharder(ModuleOp module, func::FuncOp micro,
                 const UnitOptions &unitOptions,
                 const nn::OptimizerOptions &optimizer, int64_t accumulate,
                 bool dumpGradients)
    : module(module), micro(micro), context(module.getContext()),
      options(unitOptions), optimizer(optimizer), accumulate(accumulate),
      dumpGradients(dumpGradients) {
  DenseMap<Operation *, int64_t> position;
  for (auto [index, op] : llvm::enumerate(micro.front())) {
    position[&op] = index;
  }
  Operation *terminator = micro.front().getTerminator();
  auto positionOf = [&](Value value) {
    Operation *op = value.getDefiningOp();
    return op ? position.lookup(op) : 0;
  };
  lossPosition = positionOf(terminator->getOperand(0));

  for (auto [index, unit] : llvm::enumerate(groupIntoUnits(micro, options))) {
    bool persistent = unit.attribute.getPersistent();
    units.push_back({unit, static_cast<int64_t>(index),
                     options.stage == 3 && !persistent, options.stage >= 1});
    for (auto [member, argument] : llvm::enumerate(unit.arguments)) {
      places[argument] = {index, member};
    }
  }
  gathers = planGathers(
      micro,
      llvm::to_vector(
          llvm::map_range(units, [](UnitState &state) { return state.unit; })),
      [&](int64_t unit) { return units[unit].shardedParameters; },
      lossPosition);

  for (unsigned i = 1; i < micro.getNumResults(); ++i) {
    auto name = micro.getResultAttrOfType<StringAttr>(i, nn::kGradientAttr);
    gradients[name.getValue()] = terminator->getOperand(i);
  }
  for (UnitState &unit : units) {
    if (!unit.trainable()) {
      continue;
    }
    int64_t last = 0;
    for (PlacementAttr place : unit.attribute().getPlacements()) {
      last = std::max(last, positionOf(gradients.lookup(
                                place.getParameter().getName().getValue())));
    }
    complete[unit.index] = last;
  }
}

void Sharder::run() {
  setModuleAttributes();
  bool split = accumulate > 1;
  // `micro` must keep its name until the new program has taken everything
  // from it.
  micro.setName("");
  ProgramBuilder program(module, split ? kMicroProgram : kStepProgram,
                         micro.getLoc());
  cloneMicro(program);
  reduceLoss(program);
  if (split) {
    program.finish();
    ProgramBuilder update(module, kUpdateProgram, micro.getLoc());
    updateAll(update);
    update.finish();
  } else {
    updateAll(program);
    program.finish();
  }
  micro.erase();
}

SmallVector<Value> Sharder::parameterShards(ProgramBuilder &program,
                                            const UnitState &unit) {
  SmallVector<Value> shards;
  for (int64_t segment = 0; segment < unit.segments(); ++segment) {
    RankedTensorType type = unit.shardType(segment, options.world);
    if (unit.shardedParameters) {
      shards.push_back(
          program.state(key(unit, segment, kParamRole, true), type));
    } else {
      shards.push_back(program.builder().create<ShardOp>(
          program.location(), type, wholeParameters(program, unit), unit.index,
          segment));
    }
  }
  return shards;
}

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
    program.builder().clone(op, mapping);
    for (const Gather &gathered : gathers) {
      if (gathered.last == position) {
        program.builder().create<ReleaseOp>(program.location(),
                                            flat[gathered.unit], gathered.unit);
      }
    }
    reduceWhereComplete(program, position);
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

/// Packs a unit's gradients and reduces them.
void Sharder::reduce(ProgramBuilder &program, UnitState &unit) {
  OpBuilder &builder = program.builder();
  auto location = NameLoc::get(unit.attribute().getName(), program.location());
  SmallVector<Value> parts;
  SmallVector<int64_t> offsets;
  for (PlacementAttr place : unit.attribute().getPlacements()) {
    StringRef name = place.getParameter().getName().getValue();
    parts.push_back(mapping.lookup(gradients.lookup(name)));
    offsets.push_back(place.getOffset());
  }
  Value packed = builder.create<PackOp>(location, unit.flatType(), parts,
                                        offsets, unit.index);
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
  auto scalarType = RankedTensorType::get({1}, builder.getF32Type());
  Value loss = micro.front().getTerminator()->getOperand(0);
  Location location = loss.getLoc();
  loss = mapping.lookupOrDefault(loss);
  auto element = cast<RankedTensorType>(loss.getType()).getElementType();
  loss = builder.create<nn::ReshapeOp>(
      location, RankedTensorType::get({1}, element), loss);
  if (element != scalarType.getElementType()) {
    loss = builder.create<nn::ConvertOp>(location, scalarType, loss);
  }
  auto reduceScalar = [&](Value value, StringRef role, StringRef reason) {
    StateAttr state = scalarKey(role);
    Value sum = builder.create<AllReduceOp>(location, scalarType, value,
                                            program.state(state, scalarType),
                                            /*unit=*/-1, kDataGroup, reason);
    program.update(sum, state);
  };
  reduceScalar(loss, kLossRole, "the mean loss");
  reduceScalar(program.scalar(kStopRole), kStopRole,
               "ranks stop after the same step");
}

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
      states, [&](StringRef name) { return program.scalar(name); });
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
    nn::Update update =
        nn::buildUpdate(builder, location, optimizer, parameters[segment],
                        reduced[unit.index][segment], states,
                        [&](StringRef name) { return program.scalar(name); });
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

void Sharder::setModuleAttributes() {
  Builder builder(context);
  SmallVector<Attribute> attributes;
  for (UnitState &unit : units) {
    attributes.push_back(unit.attribute());
  }
  module->setAttr(kWorldAttr, builder.getI64IntegerAttr(options.world));
  module->setAttr(kStageAttr, builder.getI64IntegerAttr(options.stage));
  module->setAttr(kAccumulateAttr, builder.getI64IntegerAttr(accumulate));
  module->setAttr(kUnitsAttr, builder.getArrayAttr(attributes));
}

//===----------------------------------------------------------------------===//
// --zero-shard
//===----------------------------------------------------------------------===//

struct Shard : impl::ShardBase<Shard> {
  using ShardBase::ShardBase;

  void runOnOperation() override {
    auto micro = getOperation().lookupSymbol<func::FuncOp>(nn::kMicroFunction);
    if (!micro) {
      getOperation().emitError("has no function @micro; run nn-differentiate");
      return signalPassFailure();
    }
    if (world < 1 || stage < 0 || stage > 3 || accumulate < 1 ||
        bucketBytes < 1) {
      getOperation().emitError(
          "needs world >= 1, stage 0 to 3, accumulate >= 1 "
          "and bucket-bytes >= 1");
      return signalPassFailure();
    }
    auto kind = llvm::StringSwitch<int>(optimizer)
                    .Case("sgd", nn::OptimizerOptions::sgd)
                    .Case("adam", nn::OptimizerOptions::adam)
                    .Case("adamw", nn::OptimizerOptions::adamw)
                    .Default(-1);
    if (kind < 0) {
      getOperation().emitError("knows no optimizer '")
          << optimizer << "'; there are sgd, adam and adamw";
      return signalPassFailure();
    }
    nn::OptimizerOptions update{static_cast<nn::OptimizerOptions::Kind>(kind),
                                learningRate,
                                momentum,
                                nesterov,
                                beta1,
                                beta2,
                                epsilon,
                                weightDecay};
    if (std::string wrong = nn::checkOptimizer(update); !wrong.empty()) {
      getOperation().emitError(wrong);
      return signalPassFailure();
    }
    Sharder(getOperation(), micro,
            {world, stage, bucketBytes, persistenceThreshold, grouping}, update,
            accumulate, dumpGradients)
        .run();
  }
};

} // namespace
} // namespace mlir::zg::zero
