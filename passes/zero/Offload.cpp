//===- Offload.cpp - what the host computes, and what crosses to it -------===//

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/ir/nn/LiteralValues.h"
#include "passes/ir/nn/Queries.h"
#include "passes/ir/zero/ZeroSpaces.h"
#include "passes/zero/Passes.h"
#include "passes/zero/UnitStates.h"

namespace mlir::zg::zero {

#define GEN_PASS_DEF_OFFLOAD
#include "passes/zero/Passes.h.inc"

namespace {

/// Decides which ops of a program the host computes: those that take values of
/// its memory, and those whose results only these take. Says so in the types of
/// what they make, and of states.
void placeOps(nn::ProgramOp program, const nn::LiteralValues &literals) {
  ArrayAttr units = unitsOf(program);
  auto place = [&](Value value, Attribute attribute) {
    if (auto state = dyn_cast_or_null<StateAttr>(attribute)) {
      value.setType(typeIn(spaceOf(state, units), value.getType()));
    }
  };
  for (BlockArgument argument : program.getArguments()) {
    place(argument, program.getArgAttr(argument.getArgNumber(), kStateAttr));
  }
  auto isHosts = [](Value value) {
    return spaceOf(value.getType()) == Space::host;
  };
  for (Operation &op : program.front()) {
    if (isa<ReadOp>(op) ||
        (mayBeOnHost(&op) && llvm::any_of(op.getOperands(), isHosts))) {
      placeIn(Space::host, &op);
    } else if (isa<WriteOp>(op)) {
      placeIn(Space::nvme, &op);
    }
  }
  for (Operation &op : llvm::reverse(program.front())) {
    if (mayBeOnHost(&op) && !op.use_empty() &&
        !literals.contains(op.getResult(0)) &&
        llvm::all_of(op.getUsers(), isOnHost)) {
      placeIn(Space::host, &op);
    }
  }
}

/// The unit that a value is of, and the segment; -1: none or all.
struct Part {
  int64_t unit = -1, segment = -1;
};

class Transfers {
public:
  Transfers(nn::ProgramOp program, const UnitStates &states)
      : program(program), states(states), literals(program.front()) {}

  void insert() {
    placeOps(program, literals);
    for (Operation &op : llvm::make_early_inc_range(program.front())) {
      for (OpOperand &operand : op.getOpOperands()) {
        visit(operand);
      }
    }
    Block &block = program.front();
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
      if (isOpTriviallyDead(&op) && literals.contains(op.getResult(0))) {
        op.erase(); // only the host took it
      }
    }
    program.setType(
        FunctionType::get(program.getContext(), block.getArgumentTypes(),
                          block.getTerminator()->getOperandTypes()));
  }

  int64_t offloads = 0, fetches = 0;

private:
  void visit(OpOperand &operand) {
    Operation *user = operand.getOwner();
    Space lies = spaceOf(operand.get().getType());
    if (isa<FetchOp>(user) || lies == Space::nvme) {
      return;
    }
    bool wantsHost = isOnHost(user) || isa<WriteOp>(user) ||
                     (isa<nn::ReturnOp>(user) && keepsOnHost(operand));
    if (wantsHost && lies == Space::device) {
      operand.set(offloaded(operand.get(), user));
    } else if (!wantsHost && lies == Space::host) {
      operand.set(fetched(operand));
    }
  }

  /// Returns whether a result of the program replaces a state of the host's.
  bool keepsOnHost(OpOperand &result) {
    auto state = program.getResultAttrOfType<StateAttr>(
        result.getOperandNumber(), kUpdatesAttr);
    Space space = state ? spaceOf(state, unitsOf(program)) : Space::device;
    return space == Space::pinned || space == Space::host;
  }

  Value offloaded(Value value, Operation *user) {
    if (Value known = down.lookup(value)) {
      return known;
    }
    Value result;
    if (isMadeAgain(value)) {
      Operation *op = value.getDefiningOp();
      IRMapping below;
      for (Value operand : op->getOperands()) {
        below.map(operand, offloaded(operand, user));
      }
      OpBuilder builder(user);
      if (literals.contains(value)) {
        builder.setInsertionPointAfter(op);
      }
      Operation *again = builder.clone(*op, below);
      placeIn(Space::host, again);
      result = again->getResult(cast<OpResult>(value).getResultNumber());
    } else {
      Part part = partOf(value);
      OpBuilder builder(user);
      if (value.getDefiningOp() || part.unit < 0) { // or of the runtime
        builder.setInsertionPointAfterValue(value);
      }
      result =
          transfer<OffloadOp>(builder, value, part, reasonDown(user, part));
      ++offloads;
    }
    return down[value] = result;
  }

  /// Returns whether the host makes its own of the value: of literals, and of
  /// the one operand, no larger, that an elementwise op makes the value of.
  /// That goes down then, and both sides make what they need of it. So a
  /// gradient stays one, also where it is widened.
  bool isMadeAgain(Value value) {
    if (literals.contains(value)) {
      return true;
    }
    Operation *op = value.getDefiningOp();
    if (!op || !mayBeOnHost(op) || !nn::isElementwise(op)) {
      return false;
    }
    auto sources =
        llvm::make_filter_range(op->getOperands(), [&](Value operand) {
          return !literals.contains(operand);
        });
    return llvm::hasSingleElement(sources) &&
           nn::tensorBytes((*sources.begin()).getType()) <=
               nn::tensorBytes(value.getType());
  }

  Value fetched(OpOperand &operand) {
    Value value = operand.get();
    Operation *user = operand.getOwner();
    Part part = partOf(operand);
    // A state that the host keeps is brought for each use, and a value that it
    // has made, once.
    OpBuilder builder(user);
    std::string reason = reasonUp(user, part);
    if (isa<BlockArgument>(value)) {
      ++fetches;
      return transfer<FetchOp>(builder, value, part, reason);
    }
    Value &result = up[value];
    if (!result) {
      builder.setInsertionPointAfterValue(value);
      result = transfer<FetchOp>(builder, value, part, reason);
      ++fetches;
    }
    return result;
  }

  template <typename Op>
  Value transfer(OpBuilder &builder, Value value, Part part, StringRef reason) {
    auto number = [&](int64_t n) {
      return n < 0 ? IntegerAttr() : builder.getI64IntegerAttr(n);
    };
    Location location = part.unit < 0
                            ? value.getLoc()
                            : states.location(part.unit, program.getLoc());
    return createTransfer<Op>(builder, location, value, reason,
                              number(part.unit), number(part.segment));
  }

  /// Says why what is part of a unit, or none, goes down.
  std::string reasonDown(Operation *user, Part part) const {
    if (part.unit < 0) {
      return "for updates on the host";
    }
    std::string name = states.name(part.unit).str();
    return isa<nn::ReturnOp, WriteOp>(user)
               ? "sum of gradients of " + name
               : "gradients of " + name + ", for the update on the host";
  }

  /// Says why it comes up.
  std::string reasonUp(Operation *user, Part part) const {
    if (isa<ReduceScatterOp>(user)) {
      return "sum of gradients of " + states.name(part.unit).str();
    }
    if (auto reason = user->getAttrOfType<StringAttr>("reason")) {
      return reason.str();
    }
    return part.unit < 0
               ? "made on the host"
               : "updated parameters of " + states.name(part.unit).str();
  }

  /// Returns the part that gradients are which a rank has reduced, packed or
  /// carried.
  Part partOf(Value value) {
    if (auto reduce = value.getDefiningOp<ReduceScatterOp>()) {
      return {int64_t(reduce.getUnit()), int64_t(reduce.getSegment())};
    }
    if (auto pack = value.getDefiningOp<PackOp>()) {
      return {int64_t(pack.getUnit())};
    }
    if (auto gather = value.getDefiningOp<AllGatherOp>()) {
      return {int64_t(gather.getUnit())};
    }
    auto argument = dyn_cast<BlockArgument>(value);
    auto state = argument ? program.getArgAttrOfType<StateAttr>(
                                argument.getArgNumber(), kStateAttr)
                          : StateAttr();
    return state ? Part{state.getUnit(), state.getSegment()} : Part();
  }

  /// Returns the part that parameters or sums of gradients are, as the op that
  /// takes them says.
  Part partOf(OpOperand &operand) {
    Operation *user = operand.getOwner();
    if (auto reduce = dyn_cast<ReduceScatterOp>(user)) {
      return {int64_t(reduce.getUnit()), int64_t(reduce.getSegment())};
    }
    if (auto gather = dyn_cast<AllGatherOp>(user)) {
      return {int64_t(gather.getUnit()), int64_t(operand.getOperandNumber())};
    }
    auto state = isa<nn::ReturnOp>(user)
                     ? program.getResultAttrOfType<StateAttr>(
                           operand.getOperandNumber(), kUpdatesAttr)
                     : StateAttr();
    return state ? Part{state.getUnit(), state.getSegment()} : Part();
  }

  nn::ProgramOp program;
  const UnitStates &states;
  const nn::LiteralValues literals;
  DenseMap<Value, Value> down, up; ///< a moved value's other name
};

//===----------------------------------------------------------------------===//
// --zero-offload
//===----------------------------------------------------------------------===//

struct Offload : impl::OffloadBase<Offload> {
  void runOnOperation() override {
    FailureOr<UnitStates> states = UnitStates::of(getOperation());
    if (failed(states)) {
      return signalPassFailure();
    }
    if (!states->anyOnHost()) {
      return;
    }
    for (auto program : getOperation().getOps<nn::ProgramOp>()) {
      Transfers transfers(program, *states);
      transfers.insert();
      offloaded += transfers.offloads;
      fetched += transfers.fetches;
    }
  }
};

} // namespace
} // namespace mlir::zg::zero
