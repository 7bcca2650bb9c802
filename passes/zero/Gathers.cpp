//===- Gathers.cpp - sharded parameters gathered before use ---------------===//

#include "passes/zero/GatherPlacement.h"
#include "passes/zero/Passes.h"
#include "passes/zero/Program.h"

namespace mlir::zg::zero {

#define GEN_PASS_DEF_GATHERS
#include "passes/zero/Passes.h.inc"

namespace {

/// Returns the unit whose whole parameters the argument is; -1 for none.
int64_t unitOfState(BlockArgument argument) {
  auto function = cast<nn::ProgramOp>(argument.getOwner()->getParentOp());
  auto state =
      function.getArgAttrOfType<StateAttr>(argument.getArgNumber(), kStateAttr);
  bool whole = state && state.getRole().getValue() == kParamRole &&
               state.getSegment() < 0;
  return whole ? state.getUnit() : -1;
}

void insert(Program &program, const UnitStates &states, const Gather &gather,
            ArrayRef<Operation *> ops) {
  OpBuilder builder(ops[gather.first]);
  SmallVector<Value> shards;
  for (int64_t i = 0; i < states.segments(gather.unit); ++i) {
    shards.push_back(
        program.state(states.shard(gather.unit, i, kParamRole),
                      states.shardType(gather.unit, i, kParamRole)));
  }
  auto flat = builder.create<AllGatherOp>(
      states.location(gather.unit, program.location()),
      states.wholeType(gather.unit, kParamRole), shards, gather.unit,
      states.axes(gather.unit), gather.reason,
      StayAttr::get(builder.getContext(), gather.stay),
      /*in_place=*/false);
  for (ViewOp view : gather.views) {
    view.getFlatMutable().assign(flat);
  }
  builder.setInsertionPointAfter(ops[gather.last]);
  builder.create<ReleaseOp>(program.location(), flat, gather.unit);
}

//===----------------------------------------------------------------------===//
// --zero-gathers
//===----------------------------------------------------------------------===//

struct Gathers : impl::GathersBase<Gathers> {
  void runOnOperation() override {
    FailureOr<UnitStates> states = UnitStates::of(getOperation());
    if (failed(states)) {
      return signalPassFailure();
    }
    FailureOr<Program> program = Program::find(getOperation(), kMicroProgram);
    if (failed(program)) {
      return signalPassFailure();
    }
    gathered += insertGathers(*program, *states);
  }
};

} // namespace

int64_t insertGathers(Program &program, const UnitStates &states) {
  // Positions are those before anything is inserted.
  SmallVector<Operation *> ops = llvm::to_vector(
      llvm::map_range(program.body(), [](Operation &op) { return &op; }));
  std::vector<Gather> gathers = placeGathers(program.function(), states);
  for (const Gather &gather : gathers) {
    insert(program, states, gather, ops);
  }
  program.eraseArguments([&](BlockArgument argument) {
    int64_t unit = unitOfState(argument);
    return unit >= 0 && states.shardsParameters(unit);
  });
  return int64_t(gathers.size());
}

} // namespace mlir::zg::zero
