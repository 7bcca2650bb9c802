//===- NNNames.cpp - by which names values are printed --------------------===//

#include "passes/ir/nn/NNDialect.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::nn;

std::string nn::printedName(StringRef text) {
  // "node #0", the first of several buffers of a node.
  std::string name;
  for (char c : text) {
    if (c == '#' && !name.empty() && name.back() == '_') {
      name.back() = '.';
    } else {
      name += llvm::isAlnum(c) || StringRef("$.-_").contains(c) ? c : '_';
    }
  }
  return name;
}

/// A number that is the same everywhere is told by its name.
static std::string nameOfConstant(ConstantOp constant) {
  auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
  if (!splat || !isa<IntegerType>(splat.getElementType())) {
    return "cst";
  }
  SmallString<16> digits;
  splat.getSplatValue<APInt>().toString(
      digits, 10,
      /*Signed=*/!splat.getElementType().isUnsignedInteger() &&
          !splat.getElementType().isInteger(1));
  return ("c" + digits).str();
}

/// The name of what `op` gives; empty where nothing is known.
static std::string nameOfResults(Operation *op) {
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    return nameOfConstant(constant);
  }
  return printedName(nn::nameOf(op->getLoc()));
}

void nn::detail::nameResults(Operation *op, ArrayRef<StringRef> names,
                             OpAsmSetValueNameFn setName) {
  if (op->getNumResults() == 0) {
    return;
  }
  std::string base = nameOfResults(op);
  if (names.size() != op->getNumResults() || names.size() == 1) {
    setName(op->getResult(0), base);
    return;
  }
  for (auto [result, name] : llvm::zip_equal(op->getResults(), names)) {
    if (base.empty()) {
      setName(result, name);
    } else {
      setName(result, name == "result" ? base : base + "." + name.str());
    }
  }
}

// Names follow from what a dump holds: an argument's location is its name
// there, that of a kernel's is not.

void ProgramOp::getAsmBlockArgumentNames(Region &region,
                                         OpAsmSetValueNameFn setName) {
  for (BlockArgument argument : region.getArguments()) {
    if (std::string name = nn::nameOf(argument.getLoc()); !name.empty()) {
      setName(argument, printedName(name));
    }
  }
}

/// The name of what a kernel reads; empty where nothing is known.
static std::string nameOfOperand(Value operand) {
  if (Operation *op = operand.getDefiningOp()) {
    return nameOfResults(op);
  }
  bool isArgument = isa<ProgramOp>(operand.getParentBlock()->getParentOp());
  return isArgument ? printedName(nn::nameOf(operand.getLoc())) : "";
}

void KernelOp::getAsmBlockArgumentNames(Region &region,
                                        OpAsmSetValueNameFn setName) {
  for (auto [argument, operand] :
       llvm::zip(region.getArguments(), getOperands())) {
    if (std::string name = nameOfOperand(operand); !name.empty()) {
      setName(argument, name);
    }
  }
}
