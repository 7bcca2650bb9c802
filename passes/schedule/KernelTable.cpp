//===- KernelTable.cpp - one sched.kernel for equal bodies ----------------===//

#include "passes/schedule/KernelTable.h"

#include "mlir/IR/IRMapping.h"
#include "passes/ir/zero/ZeroSpaces.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::sched;

namespace {

/// Returns a number that is the same for kernels that compute the same.
uint64_t hashOf(sched::KernelOp kernel) {
  DenseMap<Value, unsigned> numbers;
  auto number = [&](Value value) {
    return llvm::hash_value(
        numbers.try_emplace(value, numbers.size()).first->second);
  };
  llvm::hash_code hash = llvm::hash_value(kernel.getOnHost());
  kernel.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    hash = llvm::hash_combine(
        hash, OperationEquivalence::computeHash(
                  op, number, number, OperationEquivalence::IgnoreLocations));
  });
  return hash;
}

/// Returns whether kernels compute the same, wherever they come from.
bool areSame(sched::KernelOp a, sched::KernelOp b) {
  return a.getOnHost() == b.getOnHost() &&
         OperationEquivalence::isRegionEquivalentTo(
             &a.getBody(), &b.getBody(), OperationEquivalence::IgnoreLocations);
}

} // namespace

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

  SmallVector<sched::KernelOp, 1> &alike = kernels[hashOf(kernel)];
  for (sched::KernelOp other : alike) {
    if (areSame(other, kernel)) {
      kernel.erase();
      return FlatSymbolRefAttr::get(other);
    }
  }
  kernel.setSymName("k" + std::to_string(count++));
  alike.push_back(kernel);
  return FlatSymbolRefAttr::get(kernel);
}
