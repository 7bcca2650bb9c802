//===- ZeroDialect.cpp - registration of the zero dialect -----------------===//

#include "passes/ir/zero/ZeroDialect.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::zg::zero;

#include "passes/ir/zero/ZeroDialect.cpp.inc"
#include "passes/ir/zero/ZeroEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "passes/ir/zero/ZeroAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "passes/ir/zero/ZeroTypes.cpp.inc"

void ZeroDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "passes/ir/zero/ZeroAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "passes/ir/zero/ZeroTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "passes/ir/zero/ZeroOps.cpp.inc"
      >();
}

int64_t mlir::zg::zero::segmentOffset(ParamUnitAttr unit, int64_t segment) {
  int64_t offset = 0;
  for (int64_t length : unit.getSegments().take_front(segment)) {
    offset += length;
  }
  return offset;
}
