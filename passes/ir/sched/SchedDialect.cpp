//===- SchedDialect.cpp - registration of the sched dialect ---------------===//

#include "passes/ir/sched/SchedDialect.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::zg::sched;

#include "passes/ir/sched/SchedDialect.cpp.inc"
#include "passes/ir/sched/SchedEnums.cpp.inc"
#include "passes/ir/sched/SchedInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "passes/ir/sched/SchedAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "passes/ir/sched/SchedTypes.cpp.inc"

void SchedDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "passes/ir/sched/SchedAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "passes/ir/sched/SchedTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "passes/ir/sched/SchedOps.cpp.inc"
      >();
}

SliceOp Step::slice(unsigned i) {
  return getSlices()[i].getDefiningOp<SliceOp>();
}

int64_t mlir::zg::sched::worldOf(Operation *op) {
  return zero::meshOf(op).ranks();
}

ArenaAttr mlir::zg::sched::arenaOf(ModuleOp module, Space space) {
  if (auto arenas = module->getAttrOfType<ArrayAttr>(kArenasAttr)) {
    for (auto arena : arenas.getAsRange<ArenaAttr>()) {
      if (arena.getSpace() == space) {
        return arena;
      }
    }
  }
  return {};
}

int64_t mlir::zg::sched::addressOf(SliceOp slice) {
  return (static_cast<int64_t>(slice.getSpace()) << 56) + *slice.getOffset();
}

bool mlir::zg::sched::overlap(AccessAttr a, AccessAttr b, int64_t world) {
  return a.getOffset() < b.end(world) && b.getOffset() < a.end(world);
}
