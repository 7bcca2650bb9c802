//===- Offload.cpp - what the host computes, and what crosses to it -------===//

#include "passes/ir/nn/LiteralValues.h"
#include "passes/ir/nn/Queries.h"
#include "passes/ir/zero/ZeroSides.h"
#include "passes/zero/Passes.h"
#include "passes/zero/UnitStates.h"

namespace mlir::zg::zero {

#define GEN_PASS_DEF_OFFLOAD
#include "passes/zero/Passes.h.inc"

namespace {

/// The ops of a program that the host computes: those that work on its memory,
/// and those whose results only these use.
class HostOps {
public:
  explicit HostOps(nn::ProgramOp program) : sides(program) {
    for (Operation &op : llvm::reverse(program.front())) {
      if (mayBeOnHost(&op) && !op.use_empty() &&
          llvm::all_of(op.getUsers(),
                       [&](Operation *user) { return contains(user); })) {
        wanted.insert(&op);
      }
    }
  }

  bool contains(Operation *op) const {
    return sides.onHost(op) || wanted.contains(op);
  }
  /// Returns whether the value lies in the host's memory.
  bool has(Value value) const {
    Operation *op = value.getDefiningOp();
    return op ? contains(op) || isa<OffloadOp, ReadOp>(op)
              : sides.onHost(value);
  }

private:
  Sides sides;
  DenseSet<Operation *> wanted;
};

/// The unit that a value is of, and the segment; -1: none or all.
struct Part {
  int64_t unit = -1, segment = -1;
};

class Transfers {
public:
  Transfers(nn::ProgramOp program, const UnitStates &states)
      : program(program), states(states), literals(program.front()),
        host(program) {}

  void insert() {
    for (Operation &op : llvm::make_early_inc_range(program.front())) {
      for (OpOperand &operand : op.getOpOperands()) {
        visit(operand);
      }
    }
  }

  int64_t offloads = 0, fetches = 0;

private:
  void visit(OpOperand &operand) {
    Operation *user = operand.getOwner();
    if (isa<FetchOp, ReadOp>(user) || operand.get().getDefiningOp<WriteOp>()) {
      return;
    }
    bool wantsHost =
        isa<nn::ReturnOp>(user)
            ? sideOfResult(program, operand.getOperandNumber()) == Side::Host
            : host.contains(user) || isa<WriteOp>(user);
    bool isHost = host.has(operand.get());
    if (wantsHost && !isHost && !literals.contains(operand.get())) {
      operand.set(offloaded(operand.get(), user));
    } else if (!wantsHost && isHost) {
      operand.set(fetched(operand));
    }
  }

  Value offloaded(Value value, Operation *user) {
    if (Value known = down.lookup(value)) {
      return known;
    }
    Value result;
    if (OpOperand *source = rematerializationSource(value)) {
      unsigned index = source->getOperandNumber();
      Value below = offloaded(source->get(), user);
      Operation *again = OpBuilder(user).clone(*value.getDefiningOp());
      again->setOperand(index, below);
      result = again->getResult(0);
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

  /// Returns the one operand, no larger, that an elementwise op makes the value
  /// of: then that goes down, and both sides make what they need of it. So a
  /// gradient stays one, also where it is widened. Returns null where there is
  /// none.
  OpOperand *rematerializationSource(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || !mayBeOnHost(op) || !nn::isElementwise(op)) {
      return nullptr;
    }
    OpOperand *source = nullptr;
    for (OpOperand &operand : op->getOpOperands()) {
      if (literals.contains(operand.get())) {
        continue;
      }
      if (source || nn::tensorBytes(operand.get().getType()) >
                        nn::tensorBytes(value.getType())) {
        return nullptr;
      }
      source = &operand;
    }
    return source;
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
    return builder.create<Op>(
        location, value.getType(), value, number(part.unit),
        number(part.segment),
        builder.getI64IntegerAttr(nn::tensorBytes(value.getType())),
        builder.getStringAttr(reason));
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
  /// The literals; each side makes what it reads of them (zero-split-sides).
  const nn::LiteralValues literals;
  HostOps host;
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
