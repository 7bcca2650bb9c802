//===- Layout.cpp - parameters and gradients in flat buffers --------------===//

#include "passes/differentiate/Loss.h"
#include "passes/differentiate/Passes.h"
#include "passes/ir/nn/NNBuilder.h"
#include "passes/ir/nn/Queries.h"
#include "passes/zero/FlatBuffers.h"
#include "passes/zero/Passes.h"

namespace mlir::zg::zero {

#define GEN_PASS_DEF_LAYOUT
#include "passes/zero/Passes.h.inc"

namespace {

/// Gives a returned argument an op that reads it, so that it is viewed, and
/// gathered, like any other use. A gradient may be another parameter: that of
/// w1 in sum(w1 * w2) is w2.
void useReturnedArguments(nn::ProgramOp micro) {
  Operation *terminator = micro.front().getTerminator();
  OpBuilder builder(terminator);
  for (OpOperand &result : terminator->getOpOperands()) {
    if (isa<BlockArgument>(result.get())) {
      result.set(builder.create<nn::ReshapeOp>(
          result.get().getLoc(), result.get().getType(), result.get()));
    }
  }
}

/// Returns whether the op reduces other dimensions than its last, as a sum that
/// is a gradient of the next unit does.
bool reducesRows(Operation *op) {
  auto reduce = dyn_cast<nn::ReduceOp>(op);
  return reduce && reduce.getDims().front() + 1 <
                       int64_t(nn::shapeOf(reduce.getOperand()).size());
}

/// Returns the last of the ops after `op`, one after the other, that may share
/// a kernel with it, or `op`: up to a product, a view of a parameter, or a sum
/// of rows.
Operation *lastSharing(Operation *op) {
  for (Operation *next = op->getNextNode();
       nn::sharesKernel(next) && !reducesRows(next);
       next = next->getNextNode()) {
    op = next;
  }
  return op;
}

//===----------------------------------------------------------------------===//
// --zero-layout
//===----------------------------------------------------------------------===//

struct Layout : impl::LayoutBase<Layout> {
  using LayoutBase::LayoutBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto micro = module.lookupSymbol<nn::ProgramOp>(nn::kMicroFunction);
    if (!micro) {
      module.emitError("has no function @micro; run nn-differentiate");
      return signalPassFailure();
    }
    if (ranks < 1 || zero_stage < 0 || zero_stage > 3 || accumulate < 1 ||
        bucket_bytes < 1) {
      module.emitError("needs ranks >= 1, zero 0 to 3, accumulate >= 1 and "
                       "bucket-bytes >= 1");
      return signalPassFailure();
    }
    bool last = reduce == "last" && accumulate > 1 && ranks > 1;
    if (last && zero_stage > 1) {
      module.emitError("reduces gradients last, so that every rank keeps whole "
                       "ones, which ZeRO stage ")
          << zero_stage.getValue()
          << " is there to avoid; expected stage 0 or 1";
      return signalPassFailure();
    }
    std::string error;
    std::optional<OptimizerGroups> optimizerGroups =
        OptimizerGroups::parse(groups.getValue(), no_decay, error);
    if (!optimizerGroups) {
      module.emitError("has the group ") << error;
      return signalPassFailure();
    }
    useReturnedArguments(micro);
    std::vector<Unit> made = groupIntoUnits(
        micro,
        {ranks, zero_stage, bucket_bytes, persistence_threshold, units,
         /*masters=*/master_precision == "fp32", &*optimizerGroups, last});
    declareUnits(module, made, *optimizerGroups, ranks, zero_stage, accumulate);
    UnitStates states = *UnitStates::of(module);
    Program program(micro);
    viewParameters(program, made, states);
    packResults(program, states);
  }

  /// Packs what the micro-batch makes for each member of a unit: gradients of
  /// those that are trained, next values of those that are each rank's own.
  void packResults(Program &program, const UnitStates &states) {
    nn::ProgramOp micro = program.function();
    llvm::StringMap<Value> made;
    unsigned known = micro.getNumResults();
    for (unsigned i = 0; i < known; ++i) {
      for (StringRef name :
           {StringRef(nn::kGradientAttr), StringRef(nn::kNextValueAttr)}) {
        if (auto of = micro.getResultAttrOfType<StringAttr>(i, name)) {
          made[of.getValue()] = program.terminator()->getOperand(i);
        }
      }
    }
    // Found before any pack stands between ops.
    SmallVector<Completion> completions;
    for (int64_t unit = 0; unit < states.size(); ++unit) {
      if (states[unit].getTrainable() || states[unit].getLocal()) {
        completions.push_back(completionOf(states, unit, made));
      }
    }
    packInOrder(program, states, made, completions);
    Builder builder(&getContext());
    for (auto [unit, last, place, pack] : completions) {
      if (states[unit].getTrainable()) {
        program.result(pack, kGradientAttr, builder.getI64IntegerAttr(unit));
      } else {
        program.update(pack, states.whole(unit, kParamRole));
      }
    }
    program.eraseResults([&](unsigned i) {
      return i > 0 && i < known && !nn::isBesideLoss(micro, i);
    });
  }

  /// Returns the type that the micro-batch makes them in; for gradients that it
  /// reduces, the one in which they are sent.
  RankedTensorType packedType(const UnitStates &states, int64_t unit) {
    if (!states[unit].getTrainable()) {
      return states.wholeType(unit, kParamRole);
    }
    return states.reducesLast(unit) ? states.wholeType(unit, kGradRole)
                                    : states.sentType(unit, reduce_precision);
  }

  /// Says of a unit after which op all that is packed for it is made, and after
  /// which one it is packed.
  struct Completion {
    int64_t unit;
    Operation *last = nullptr, *place = nullptr;
    Value pack = {};
  };

  /// Returns where a unit is packed: after the last of the operands to be made
  /// and the ops that may share its kernel, as the gradient of a norm's operand
  /// does with that of its scale.
  static Completion completionOf(const UnitStates &states, int64_t unit,
                                 const llvm::StringMap<Value> &made) {
    Completion completion{unit};
    for (PlacementAttr place : states[unit].getPlacements()) {
      Operation *maker = made.lookup(place.getParameter().getName().getValue())
                             .getDefiningOp();
      Operation *&last = completion.last;
      last = last && maker->isBeforeInBlock(last) ? last : maker;
    }
    completion.place = lastSharing(completion.last);
    return completion;
  }

  /// Packs the units, those at one place in the order in which they are
  /// complete.
  void packInOrder(Program &program, const UnitStates &states,
                   const llvm::StringMap<Value> &made,
                   MutableArrayRef<Completion> completions) {
    SmallVector<Completion *> order(llvm::make_pointer_range(completions));
    llvm::stable_sort(order, [](Completion *a, Completion *b) {
      return a->last->isBeforeInBlock(b->last);
    });
    // Has the last pack that was put after each op.
    DenseMap<Operation *, Operation *> behind;
    for (Completion *completion : order) {
      Operation *place = completion->place;
      Operation *&previous = behind.try_emplace(place, place).first->second;
      completion->pack =
          pack(program, states, completion->unit, made, previous);
      previous = completion->pack.getDefiningOp();
    }
  }

  /// Packs a unit right after an op.
  Value pack(Program &program, const UnitStates &states, int64_t unit,
             const llvm::StringMap<Value> &made, Operation *after) {
    SmallVector<Value> parts;
    SmallVector<int64_t> offsets;
    for (PlacementAttr place : states[unit].getPlacements()) {
      parts.push_back(made.lookup(place.getParameter().getName().getValue()));
      offsets.push_back(place.getOffset());
    }
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfter(after);
    RankedTensorType type = packedType(states, unit);
    for (Value &part : parts) {
      nn::NNBuilder b(builder, part.getLoc());
      part = b.convert(part, type.getElementType());
    }
    return builder.create<PackOp>(states.location(unit, program.location()),
                                  type, parts, offsets, unit);
  }
};

} // namespace
} // namespace mlir::zg::zero
