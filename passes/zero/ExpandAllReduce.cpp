//===- ExpandAllReduce.cpp - all_reduce = reduce_scatter + all_gather -----===//

#include "passes/zero/Passes.h"

namespace mlir::zg::zero {

#define GEN_PASS_DEF_EXPANDALLREDUCE
#include "passes/zero/Passes.h.inc"

namespace {

//===----------------------------------------------------------------------===//
// --zero-expand-all-reduce
//===----------------------------------------------------------------------===//

struct ExpandAllReduce : impl::ExpandAllReduceBase<ExpandAllReduce> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<AllReduceOp> reductions;
    module.walk([&](AllReduceOp op) {
      if (static_cast<int64_t>(op.getUnit()) >= 0) {
        reductions.push_back(op);
      }
    });
    if (reductions.empty()) {
      return;
    }
    auto units = module->getAttrOfType<ArrayAttr>(kUnitsAttr);
    auto world = module->getAttrOfType<IntegerAttr>(kWorldAttr);
    if (!units || !world) {
      module.emitError("has all_reduce ops of units but no '")
          << kUnitsAttr << "' and '" << kWorldAttr << "'";
      return signalPassFailure();
    }
    for (AllReduceOp op : reductions) {
      expand(op, cast<ParamUnitAttr>(units[op.getUnit()]), world.getInt());
    }
  }

  void expand(AllReduceOp op, ParamUnitAttr unit, int64_t world) {
    OpBuilder builder(op);
    SmallVector<Value> shards;
    for (auto [segment, length] : llvm::enumerate(unit.getSegments())) {
      shards.push_back(builder.create<ReduceScatterOp>(
          op.getLoc(),
          RankedTensorType::get({length / world}, unit.getElementType()),
          op.getOperand(), /*accumulator=*/Value(), op.getUnit(), segment,
          op.getGroup(), op.getReason(), /*in_place=*/true));
    }
    auto gathered = builder.create<AllGatherOp>(
        op.getLoc(), op.getType(), shards, op.getUnit(), op.getGroup(),
        op.getReason(), /*stay=*/StayAttr(), /*in_place=*/true);
    op.replaceAllUsesWith(gathered.getResult());
    op.erase();
  }
};

} // namespace
} // namespace mlir::zg::zero
