//===- Kernel.cpp - what every device asks of a kernel --------------------===//

#include "codegen/emit/Kernel.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::zg;

LogicalResult emit::checkNotEmpty(Operation *op) {
  SmallVector<Type> types(op->getOperandTypes());
  llvm::append_range(types, op->getResultTypes());
  for (Type type : types) {
    if (cast<RankedTensorType>(type).getNumElements() == 0) {
      return op->emitError("'")
             << nn::nameOf(op->getLoc()) << "': a tensor of type " << type
             << " has no elements; no kernel can be generated for it";
    }
  }
  return success();
}

std::string emit::kernelSymbol(unsigned number, Operation *op) {
  auto kernel = dyn_cast<nn::KernelOp>(op);
  StringRef form =
      kernel ? nn::stringifyKernelForm(kernel.getForm()) : "matmul";
  return ("k" + Twine(number) + "_" + form).str();
}
