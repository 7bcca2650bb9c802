//===- GatherPlan.cpp - when stage 3 gathers and releases which unit ------===//

#include "passes/zero/GatherPlan.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::zero;

namespace {

Stay stayOf(const Gather &gather, int64_t loss) {
  return gather.last <= loss   ? Stay::forward
         : gather.first > loss ? Stay::backward
                               : Stay::kept;
}

std::string describe(const Gather &gather, StringRef unit,
                     Operation *firstUser) {
  std::string name = nn::nameOf(firstUser->getLoc());
  if (name.empty()) {
    name = firstUser->getName().getStringRef().str();
  }
  StringRef where = gather.stay == Stay::forward    ? "forward of "
                    : gather.stay == Stay::backward ? "backward of "
                                                    : "kept from forward to "
                                                      "backward of ";
  return where.str() + unit.str() + ", first needed by " + name;
}

} // namespace

std::vector<Gather>
mlir::zg::zero::planGathers(func::FuncOp program, ArrayRef<Unit> units,
                            function_ref<bool(int64_t)> sharded, int64_t loss) {
  DenseMap<Value, int64_t> unitOf;
  for (auto [index, unit] : llvm::enumerate(units)) {
    if (sharded(index)) {
      for (BlockArgument argument : unit.arguments) {
        unitOf[argument] = index;
      }
    }
  }

  // Walking the block, a stay is open until another unit is used after it; it
  // is extended as long as its unit was the last one, or one of the units of
  // the same op, to be used.
  std::vector<Gather> gathers;
  SmallVector<Operation *> firstUsers;
  DenseMap<int64_t, size_t> latest; // unit -> its last stay
  int64_t lastOther = -1;           // last position at which units were used
  SmallVector<int64_t> lastUnits;   // and which
  for (auto [position, op] : llvm::enumerate(program.front())) {
    SmallVector<int64_t> used;
    for (Value operand : op.getOperands()) {
      auto it = unitOf.find(operand);
      if (it != unitOf.end() && !llvm::is_contained(used, it->second)) {
        used.push_back(it->second);
      }
    }
    if (used.empty()) {
      continue;
    }
    for (int64_t unit : used) {
      auto it = latest.find(unit);
      if (it != latest.end() && gathers[it->second].last == lastOther &&
          llvm::is_contained(lastUnits, unit)) {
        gathers[it->second].last = position;
        continue;
      }
      latest[unit] = gathers.size();
      gathers.push_back({unit, static_cast<int64_t>(position),
                         static_cast<int64_t>(position), Stay::kept, ""});
      firstUsers.push_back(&op);
    }
    lastOther = position;
    lastUnits = used;
  }
  for (auto [gather, user] : llvm::zip(gathers, firstUsers)) {
    gather.stay = stayOf(gather, loss);
    gather.reason = describe(
        gather, units[gather.unit].attribute.getName().getValue(), user);
  }
  return gathers;
}
