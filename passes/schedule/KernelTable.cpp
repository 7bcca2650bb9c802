//===- KernelTable.cpp - one sched.kernel for equal bodies ----------------===//

#include "passes/schedule/KernelTable.h"

#include "mlir/IR/IRMapping.h"
#include "passes/ir/zero/ZeroSpaces.h"

#include <limits>

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::sched;

FlatSymbolRefAttr KernelTable::intern(Operation *op) {
  auto builder = OpBuilder::atBlockEnd(module.getBody());
  auto kernel = builder.create<sched::KernelOp>(op->getLoc(), "kernel",
                                                zero::isOnHost(op));
  Block &block = kernel.getBody().emplaceBlock();
  IRMapping mapping;
  SmallVector<Value> arguments;
  for (Value operand : op->getOperands()) {
    arguments.push_back(block.addArgument(
        zero::typeIn(zero::Space::device, operand.getType()), op->getLoc()));
  }
  builder.setInsertionPointToEnd(&block);
  // Operands by place and not by value: two of them may be the same tensor.
  Operation *body = builder.clone(*op);
  body->setOperands(arguments);
  // Whoever computes it, the kernel is the same.
  zero::placeIn(zero::Space::device, body);

  std::string text;
  llvm::raw_string_ostream stream(text);
  // All that decides what is computed and nothing else, whatever the options of
  // zerograph-opt make of a printed op.
  kernel->print(stream, OpPrintingFlags()
                            .useLocalScope()
                            .assumeVerified()
                            .printGenericOpForm() // in which nothing has a name
                            .enableDebugInfo(false)
                            .elideLargeElementsAttrs(
                                std::numeric_limits<int64_t>::max()));
  auto [it, isNew] = kernels.try_emplace(text);
  if (!isNew) {
    kernel.erase();
    return it->second;
  }
  std::string name = "k" + std::to_string(kernels.size() - 1);
  kernel.setSymName(name);
  it->second = FlatSymbolRefAttr::get(module.getContext(), name);
  return it->second;
}
