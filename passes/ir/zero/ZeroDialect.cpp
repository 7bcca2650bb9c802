//===- ZeroDialect.cpp - registration of the zero dialect -----------------===//

#include "passes/ir/zero/ZeroDialect.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "passes/ir/nn/Locations.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace mlir;
using namespace mlir::zg::zero;

#include "passes/ir/zero/ZeroDialect.cpp.inc"
#include "passes/ir/zero/ZeroEnums.cpp.inc"

//===----------------------------------------------------------------------===//
// Tables: an entry a line
//===----------------------------------------------------------------------===//

static ParseResult parsePlacements(AsmParser &parser,
                                   SmallVector<PlacementAttr> &placements) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() {
    return parser.parseCustomAttributeWithFallback(placements.emplace_back());
  });
}

static void printPlacements(AsmPrinter &printer,
                            ArrayRef<PlacementAttr> placements) {
  printer << '[';
  llvm::interleave(
      placements, printer.getStream(),
      [&](PlacementAttr placement) {
        printer << "\n        ";
        printer.printStrippedAttrOrType(placement);
      },
      ",");
  printer << ']';
}

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

MeshAttr mlir::zg::zero::meshOf(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module) {
    module = op->getParentOfType<ModuleOp>();
  }
  auto mesh = module ? module->getAttrOfType<MeshAttr>(kMeshAttr) : MeshAttr();
  return mesh ? mesh
              : MeshAttr::get(op->getContext(),
                              StringAttr::get(op->getContext(), kDataAxis), 1);
}

LayoutOp mlir::zg::zero::layoutOf(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module) {
    module = op->getParentOfType<ModuleOp>();
  }
  if (module) {
    // At the end, after what may be thousands of slices.
    for (Operation &last : llvm::reverse(*module.getBody())) {
      if (auto layout = dyn_cast<LayoutOp>(last)) {
        return layout;
      }
    }
  }
  return {};
}

ArrayAttr mlir::zg::zero::unitsOf(Operation *op) {
  LayoutOp layout = layoutOf(op);
  return layout ? layout.getUnits() : ArrayAttr();
}

//===----------------------------------------------------------------------===//
// MeshAttr
//===----------------------------------------------------------------------===//

/// `<["data" = 8, "tensor" = 2]>`
Attribute MeshAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  SMLoc location = parser.getCurrentLocation();
  auto parseAxis = [&]() -> ParseResult {
    return failure(parser.parseAttribute(names.emplace_back()) ||
                   parser.parseEqual() ||
                   parser.parseInteger(sizes.emplace_back()));
  };
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseAxis) ||
      parser.parseGreater()) {
    return {};
  }
  return parser.getChecked<MeshAttr>(location, parser.getContext(), names,
                                     sizes);
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(
      llvm::zip_equal(getNames(), getSizes()), printer, [&](auto axis) {
        printer << std::get<0>(axis) << " = " << std::get<1>(axis);
      });
  printer << "]>";
}

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<StringAttr> names,
                               ArrayRef<int64_t> sizes) {
  if (names.empty()) {
    return emitError() << "a mesh needs an axis";
  }
  llvm::SmallDenseSet<StringAttr> seen;
  for (auto [name, size] : llvm::zip_equal(names, sizes)) {
    if (size < 1) {
      return emitError() << "axis " << name << " of the mesh has " << size
                         << " ranks; expected at least one";
    }
    if (!seen.insert(name).second) {
      return emitError() << "axis " << name << " of the mesh is there twice";
    }
  }
  return success();
}

Location ParamUnitAttr::location(Location program) const {
  return getPlace() ? nn::locationOf(getContext(), getName(),
                                     {getPlace().str(), "", 0})
                    : Location(NameLoc::get(getName(), program));
}

int64_t MeshAttr::ranks() const {
  return std::accumulate(getSizes().begin(), getSizes().end(), int64_t(1),
                         std::multiplies<>());
}

FailureOr<int64_t> MeshAttr::ranks(ArrayAttr group) const {
  int64_t product = 1;
  for (auto name : group.getAsRange<StringAttr>()) {
    const auto *axis = llvm::find(getNames(), name);
    if (axis == getNames().end()) {
      return failure();
    }
    product *= getSizes()[axis - getNames().begin()];
  }
  return product;
}
