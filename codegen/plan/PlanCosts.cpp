//===- PlanCosts.cpp - what the kernels of a plan cost --------------------===//

#include "codegen/emit/Cost.h"
#include "codegen/plan/PlanParts.h"
#include "codegen/plan/PlanTypes.h"
#include "runtime/plan/Cost.h"

using namespace mlir;
using namespace mlir::zg;
namespace plan = zerograph::plan;

namespace {

plan::Operations &addOperations(plan::Kernel &entry, plan::ElementType type) {
  plan::Operations &operations = *entry.add_operations();
  operations.set_type(type);
  return operations;
}

void writeOperations(plan::ElementType type, const emit::OperationCount &count,
                     plan::Kernel &entry) {
  if (count.simple != 0 || count.special != 0 || count.multiplyAdds != 0) {
    plan::Operations &operations = addOperations(entry, type);
    operations.set_simple(uint64_t(count.simple));
    operations.set_special(uint64_t(count.special));
    operations.set_multiply_adds(uint64_t(count.multiplyAdds));
  }
}

/// A generated product reads its operands as the library's does.
void writeProduct(nn::MatmulOp matmul, plan::Kernel &entry) {
  auto type = cast<RankedTensorType>(matmul.getType());
  auto lhs = cast<RankedTensorType>(matmul.getLhs().getType());
  int64_t rank = type.getRank(), batch = 1;
  for (int64_t size : type.getShape().drop_back(2)) {
    batch *= size;
  }
  entry.set_elements(uint64_t(type.getNumElements()));
  plan::Operand &a = *entry.mutable_operands(0),
                &b = *entry.mutable_operands(1);
  plan::Operand &c = *entry.mutable_operands(entry.operands_size() - 1);
  auto read = zerograph::readInProduct(uint64_t(batch), a.bytes(), b.bytes(),
                                       c.bytes());
  a.set_moved(read[0].saturated());
  b.set_moved(read[1].saturated());
  c.set_moved(c.bytes());
  if (matmul.getInto() || matmul.getBias()) {
    plan::Operand &added = *entry.mutable_operands(2);
    added.set_moved(added.bytes());
  }
  int64_t k = lhs.getDimSize(rank - (matmul.getTransposeA() ? 2 : 1));
  plan::ElementType in = a.type() == plan::F64 ? plan::F64 : plan::F32;
  addOperations(entry, in).set_multiply_adds(uint64_t(type.getNumElements()) *
                                             uint64_t(k));
}

} // namespace

LogicalResult mlir::zg::writeCost(Operation *kernel, plan::Kernel &entry) {
  if (auto matmul = dyn_cast<nn::MatmulOp>(kernel)) {
    writeProduct(matmul, entry);
    return success();
  }
  FailureOr<emit::KernelCost> cost =
      emit::costOf(cast<nn::KernelOp>(kernel), /*wholeHeads=*/entry.has_host());
  if (failed(cost)) {
    return failure();
  }
  for (auto [operand, moves] :
       llvm::zip_equal(*entry.mutable_operands(), cost->operands)) {
    operand.set_moved(uint64_t(moves.moved));
    operand.set_moved_apart(uint64_t(moves.movedApart));
    operand.set_width(uint32_t(moves.width));
  }
  entry.set_elements(uint64_t(cost->elements));
  if (entry.operations_size() > 0) { // its products are of 16 bits
    plan::Operations &products = *entry.mutable_operations(0);
    products.set_multiply_adds(products.multiply_adds() +
                               uint64_t(cost->f32.multiplyAdds));
    cost->f32.multiplyAdds = 0;
  }
  writeOperations(plan::F32, cost->f32, entry);
  writeOperations(plan::F64, cost->f64, entry);
  writeOperations(plan::I64, cost->integers, entry);
  return success();
}
