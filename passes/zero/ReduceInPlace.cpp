//===- ReduceInPlace.cpp - sums of gradients in the place of gradients ----===//

#include "passes/ir/nn/NNDialect.h"
#include "passes/zero/Passes.h"
#include "passes/zero/UnitStates.h"
#include "llvm/ADT/SetOperations.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::zg::zero {

#define GEN_PASS_DEF_REDUCEINPLACE
#include "passes/zero/Passes.h.inc"

namespace {

//===----------------------------------------------------------------------===//
// --zero-reduce-in-place
//===----------------------------------------------------------------------===//

/// Returns the units whose sums no op reads together with another unit's, so
/// that their update need not wait. A norm of all gradients would join them.
llvm::DenseSet<int64_t> updatedAlone(nn::ProgramOp program) {
  constexpr int64_t kSeveral = -1;
  DenseMap<Operation *, int64_t> unitOf;
  llvm::DenseSet<int64_t> alone, joined;
  for (Operation &op : program.front()) {
    if (auto reduce = dyn_cast<ReduceScatterOp>(op)) {
      unitOf[&op] = reduce.getUnit();
      alone.insert(reduce.getUnit());
      continue;
    }
    llvm::SmallSetVector<int64_t, 2> units;
    for (Value operand : op.getOperands()) {
      if (auto found = unitOf.find(operand.getDefiningOp());
          found != unitOf.end()) {
        units.insert(found->second);
      }
    }
    if (units.empty() || isa<nn::ReturnOp>(op)) {
      continue;
    }
    unitOf[&op] = units.size() == 1 ? units.front() : kSeveral;
    if (units.size() > 1) {
      joined.insert(units.begin(), units.end());
    }
  }
  llvm::set_subtract(alone, joined);
  return alone;
}

struct ReduceInPlace : impl::ReduceInPlaceBase<ReduceInPlace> {
  void runOnOperation() override {
    FailureOr<UnitStates> states = UnitStates::of(getOperation());
    if (failed(states)) {
      return signalPassFailure();
    }
    for (auto program : getOperation().getOps<nn::ProgramOp>()) {
      llvm::DenseSet<int64_t> alone = updatedAlone(program);
      for (auto pack : program.front().getOps<PackOp>()) {
        int64_t unit = pack.getUnit();
        bool staysAnyway =
            !states->shardsGradients(unit) || alone.contains(unit);
        if (staysAnyway && isOnlyReduced(pack)) {
          reduceInPlace(pack);
        }
      }
    }
  }

  /// Returns whether nothing but reductions into buffers of their own reads the
  /// gradients.
  bool isOnlyReduced(PackOp pack) {
    return llvm::all_of(pack->getUsers(), [](Operation *user) {
      auto reduce = dyn_cast<ReduceScatterOp>(user);
      return reduce && !reduce.getAccumulator() && !reduce.rounds() &&
             llvm::none_of(reduce->getUsers(), [](Operation *reader) {
               return isa<nn::ReturnOp>(reader);
             });
    });
  }

  void reduceInPlace(PackOp pack) {
    SmallVector<ReduceScatterOp> sums;
    for (Operation *user : pack->getUsers()) {
      sums.push_back(cast<ReduceScatterOp>(user));
    }
    for (ReduceScatterOp sum : sums) {
      sum.setInPlace(true);
    }
    // The other parts fill the same buffer, beside the rest of backward.
    AllGatherOp gather = sums.empty() ? AllGatherOp() : gatherOf(sums.front());
    if (gather && llvm::all_of(gather.getShards(), [&](Value shard) {
          return llvm::is_contained(sums,
                                    shard.getDefiningOp<ReduceScatterOp>());
        })) {
      gather.setInPlace(true);
      gather->moveAfter(
          gather.getShards().back().getDefiningOp<ReduceScatterOp>());
    }
  }

  /// Returns the gather that reads the sum, beside which a norm may read it;
  /// null for none.
  static AllGatherOp gatherOf(ReduceScatterOp sum) {
    for (Operation *user : sum->getUsers()) {
      if (auto gather = dyn_cast<AllGatherOp>(user)) {
        return gather;
      }
    }
    return {};
  }
};

} // namespace
} // namespace mlir::zg::zero
