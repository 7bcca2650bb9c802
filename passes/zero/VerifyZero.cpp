//===- VerifyZero.cpp - every gradient reduced once, gathers match --------===//

#include "passes/ir/nn/NNDialect.h"
#include "passes/ir/zero/ZeroSpaces.h"
#include "passes/zero/Passes.h"

namespace mlir::zg::zero {

#define GEN_PASS_DEF_VERIFYZERO
#include "passes/zero/Passes.h.inc"

namespace {

//===----------------------------------------------------------------------===//
// --zero-verify
//===----------------------------------------------------------------------===//

struct VerifyZero : impl::VerifyZeroBase<VerifyZero> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    ArrayAttr units = unitsOf(module);
    if (!units) {
      module.emitError("has no zero.layout");
      return signalPassFailure();
    }
    bool alone = meshOf(module).ranks() == 1;
    bool good = !alone || verifyAlone();
    collect(module);
    for (auto [index, attribute] : llvm::enumerate(units)) {
      auto unit = cast<ParamUnitAttr>(attribute);
      if (unit.getTrainable()) {
        good &=
            alone ? verifyPacked(unit, index) : verifyReductions(unit, index);
      }
      if (unit.getTrainable() || unit.getLocal()) {
        good &= verifyUpdate(unit, index);
      }
      if (unit.getLocal()) {
        good &= verifyApart(index);
      }
    }
    module.walk([&](PrefetchOp op) {
      if (!op.getHandle().hasOneUse()) {
        op.emitOpError("is awaited ")
            << llvm::range_size(op.getHandle().getUses()) << " times, not once";
        good = false;
      }
    });
    for (auto program : module.getOps<nn::ProgramOp>()) {
      good &= verifyStates(program, units) && succeeded(verifySpaces(program));
      for (unsigned i = 0; i < program.getNumArguments(); ++i) {
        if (auto parameter = program.getArgAttrOfType<nn::ParameterAttr>(
                i, nn::kParameterAttr)) {
          program.emitError("still has parameter ")
              << parameter.getName() << " as an argument";
          good = false;
        }
      }
    }
    if (!good) {
      signalPassFailure();
    }
  }

  void collect(ModuleOp module) {
    reductionsOf.clear();
    updatesOf.clear();
    left.clear();
    read.clear();
    module.walk([&](ReduceScatterOp reduce) {
      reductionsOf[reduce.getUnit()].push_back(reduce);
    });
    for (auto program : module.getOps<nn::ProgramOp>()) {
      for (unsigned i = 0; i < program.getNumResults(); ++i) {
        auto state = program.getResultAttrOfType<StateAttr>(i, kUpdatesAttr);
        if (state && state.getRole() == kParamRole) {
          updatesOf[state.getUnit()].push_back(state.getSegment());
        }
        Value value = program.front().getTerminator()->getOperand(i);
        left.try_emplace({program, state}, value);
      }
      for (BlockArgument argument : program.getArguments()) {
        if (!argument.use_empty()) {
          read.insert({program, program.getArgAttr(argument.getArgNumber(),
                                                   kStateAttr)});
        }
      }
    }
  }

  /// Checks that states are what their units declare.
  bool verifyStates(nn::ProgramOp program, ArrayAttr units) {
    bool good = true;
    auto check = [&](Attribute attribute, Type type) {
      auto state = dyn_cast_or_null<StateAttr>(attribute);
      if (!state || state.getUnit() < 0) {
        return;
      }
      if (state.getUnit() >= static_cast<int64_t>(units.size())) {
        program.emitError("has a state of unit ")
            << state.getUnit() << " of " << units.size();
        good = false;
        return;
      }
      auto unit = cast<ParamUnitAttr>(units[state.getUnit()]);
      auto declared = llvm::find_if(unit.getStates(), [&](UnitStateAttr one) {
        return one.getRole() == state.getRole();
      });
      Type element = cast<RankedTensorType>(type).getElementType();
      if (declared == unit.getStates().end() ||
          declared->getType() != element ||
          declared->getSharded() != state.getSharded() ||
          typeIn(declared->getSpace(), type) != type) {
        program.emitError("has ") << state << " of " << type << ", which unit "
                                  << unit.getName() << " does not declare";
        good = false;
      }
    };
    for (unsigned i = 0; i < program.getNumArguments(); ++i) {
      check(program.getArgAttr(i, kStateAttr), program.getArgumentTypes()[i]);
    }
    for (unsigned i = 0; i < program.getNumResults(); ++i) {
      check(program.getResultAttr(i, kUpdatesAttr),
            program.getResultTypes()[i]);
    }
    return good;
  }

  /// Checks that one rank moves nothing.
  bool verifyAlone() {
    bool alone = true;
    getOperation().walk([&](Operation *op) {
      if (isa<AllGatherOp, PrefetchOp, ReduceScatterOp, AllReduceOp>(op)) {
        op->emitOpError("is a collective, and there is one rank; run "
                        "zero-one-rank");
        alone = false;
      }
    });
    return alone;
  }

  /// Checks that the gradients of one rank, which reduces nothing, are packed
  /// once.
  bool verifyPacked(ParamUnitAttr unit, size_t index) {
    int64_t packs = 0;
    getOperation().walk([&](PackOp pack) { packs += pack.getUnit() == index; });
    if (packs != 1) {
      getOperation().emitError("gradients of unit ")
          << unit.getName() << " are packed " << packs << " times, not once";
    }
    return packs == 1;
  }

  /// Checks that each segment is reduced once in all programs; where the sum is
  /// carried from @micro to @update, that it is that sum, and the update leaves
  /// it zero.
  bool verifyReductions(ParamUnitAttr unit, size_t index) {
    SmallVector<SmallVector<ReduceScatterOp>> reductions(
        unit.getSegments().size());
    for (ReduceScatterOp reduce : reductionsOf.lookup(index)) {
      if (reduce.getSegment() < reductions.size()) {
        reductions[reduce.getSegment()].push_back(reduce);
      }
    }
    for (auto [segment, ops] : llvm::enumerate(reductions)) {
      if (ops.size() != 1) {
        getOperation().emitError("segment ")
            << segment << " of unit " << unit.getName() << " is reduced "
            << ops.size() << " times, not once";
        return false;
      }
      auto program = ops.front()->getParentOfType<nn::ProgramOp>();
      bool good = program.getName() == kMicroProgram
                      ? verifyCarried(ops.front(), program, unit)
                  : program.getName() == kUpdateProgram
                      ? verifyOwn(ops.front(), program, unit)
                      : true;
      if (!good) {
        return false;
      }
    }
    return true;
  }

  /// Checks that the sum is added to, kept, read once all micro-batches are
  /// done, and zeroed.
  bool verifyCarried(ReduceScatterOp sum, nn::ProgramOp micro,
                     ParamUnitAttr unit) {
    Value before = sum.getAccumulator();
    auto held = dyn_cast_or_null<BlockArgument>(before ? beforeTransfers(before)
                                                       : before);
    auto state = held ? micro.getArgAttrOfType<StateAttr>(held.getArgNumber(),
                                                          kStateAttr)
                      : StateAttr();
    if (!state || updateOf(micro, state) != sum.getResult()) {
      sum.emitOpError("of every micro-batch does not add to a sum that is "
                      "carried");
      return false;
    }
    auto update = getOperation().lookupSymbol<nn::ProgramOp>(kUpdateProgram);
    bool isRead = update && read.contains({update, state});
    if (!isRead || !leavesZero(update, state)) {
      sum.emitOpError("makes a sum of gradients of unit ")
          << unit.getName() << " that @update does not "
          << (isRead ? "leave zero" : "read");
      return false;
    }
    return true;
  }

  /// Checks that what @update reduces, rounded or not, is what micro-batches
  /// add to, and is zeroed.
  bool verifyOwn(ReduceScatterOp sum, nn::ProgramOp update,
                 ParamUnitAttr unit) {
    auto sent = sum.getFlat().getDefiningOp<nn::ConvertOp>();
    auto held =
        dyn_cast<BlockArgument>(sent ? sent.getOperand() : sum.getFlat());
    auto state = held ? update.getArgAttrOfType<StateAttr>(held.getArgNumber(),
                                                           kStateAttr)
                      : StateAttr();
    auto micro = getOperation().lookupSymbol<nn::ProgramOp>(kMicroProgram);
    if (state && micro && updateOf(micro, state) && leavesZero(update, state)) {
      return true;
    }
    sum.emitOpError("reduces gradients of unit ")
        << unit.getName()
        << " that micro-batches do not add up, or that are not left zero";
    return false;
  }

  /// Returns what the program leaves in the state, before it is transferred
  /// there; null where the program leaves the state as it was.
  Value updateOf(nn::ProgramOp program, StateAttr state) const {
    Value value = left.lookup({program, state});
    return value ? beforeTransfers(value) : value;
  }
  bool leavesZero(nn::ProgramOp program, StateAttr state) const {
    Value value = updateOf(program, state);
    return value && value.getDefiningOp<nn::ConstantOp>();
  }

  /// Checks that no collective moves what is each rank's own.
  bool verifyApart(size_t index) {
    bool apart = true;
    getOperation().walk([&](Operation *op) {
      auto unit = op->getAttrOfType<IntegerAttr>("unit");
      if (isa<AllGatherOp, PrefetchOp, ReduceScatterOp>(op) && unit &&
          unit.getInt() == static_cast<int64_t>(index)) {
        op->emitOpError("moves unit ") << index << ", which is each rank's own";
        apart = false;
      }
    });
    return apart;
  }

  bool verifyUpdate(ParamUnitAttr unit, size_t index) {
    SmallVector<int64_t> updated = updatesOf.lookup(index);
    llvm::sort(updated);
    bool whole = updated.size() == 1 && updated[0] == -1;
    if (whole || llvm::equal(updated, llvm::seq<int64_t>(
                                          0, unit.getSegments().size()))) {
      return true;
    }
    getOperation().emitError("parameters of unit ")
        << unit.getName() << " are updated " << updated.size() << " times for "
        << unit.getSegments().size() << " segments";
    return false;
  }

  /// Hold, by unit, the reductions, and the segments whose parameters are
  /// updated.
  DenseMap<int64_t, SmallVector<ReduceScatterOp>> reductionsOf;
  DenseMap<int64_t, SmallVector<int64_t>> updatesOf;
  /// Holds the value that a program leaves in a state.
  DenseMap<std::pair<Operation *, Attribute>, Value> left;
  /// Holds the states that a program reads.
  DenseSet<std::pair<Operation *, Attribute>> read;
};

} // namespace
} // namespace mlir::zg::zero
