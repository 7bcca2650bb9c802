//===- KernelWriter.h - writes one kernel ---------------------------------===//

#ifndef ZEROGRAPH_PASSES_KERNELS_KERNELWRITER_H
#define ZEROGRAPH_PASSES_KERNELS_KERNELWRITER_H

#include "passes/ir/nn/NNDialect.h"
#include "passes/kernels/Materialize.h"

#include "llvm/ADT/MapVector.h"

namespace mlir::zg::kernels {

/// Writes the kernel of a spec at the builder's insertion point.
class KernelWriter {
public:
  /// `bufferOf` gives the function's value that holds a leaf, of the leaf's
  /// type. It may create ops at the insertion point.
  KernelWriter(OpBuilder &builder, const KernelSpec &spec,
               llvm::function_ref<Value(Value)> bufferOf)
      : builder(builder), inside(builder.getContext()), spec(spec),
        bufferOf(bufferOf) {}

  /// The results are those of the spec, each with its number of elements but
  /// perhaps another shape.
  nn::KernelOp write();

private:
  Value argument(Value leaf);
  Value reshaped(Value value, ArrayRef<int64_t> shape);
  Value reading(Value value);
  Value operandAt(Value value, Level level);
  void writeMember(Operation *op);
  Value cloneAt(Operation *op, ValueRange operands, ArrayRef<int64_t> shape);
  Location location() const;

  OpBuilder &builder;
  OpBuilder inside;
  const KernelSpec &spec;
  llvm::function_ref<Value(Value)> bufferOf;
  Block *body = nullptr;
  SmallVector<Value> operands;
  /// Original values inside the kernel at their own shapes, and members at
  /// the kernel's.
  llvm::DenseMap<Value, Value> read, computed;
  llvm::DenseMap<std::pair<Value, unsigned>, Value> readAt;
};

} // namespace mlir::zg::kernels

#endif // ZEROGRAPH_PASSES_KERNELS_KERNELWRITER_H
