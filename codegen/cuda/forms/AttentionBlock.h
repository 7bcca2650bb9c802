//===- AttentionBlock.h - products of the threads of a block --------------===//

#ifndef ZEROGRAPH_CODEGEN_CUDA_FORMS_ATTENTIONBLOCK_H
#define ZEROGRAPH_CODEGEN_CUDA_FORMS_ATTENTIONBLOCK_H

#include "codegen/cuda/forms/CudaBody.h"
#include "codegen/emit/loops/AttentionLoops.h"

namespace mlir::zg::cuda {

/// Numbers of a thread: kOwn rows by kOwn columns of a tile, row by row.
using Sums = SmallVector<Value>;

/// Emits the values of an operand: several neighbours where they lie side by
/// side.
struct OperandReader {
  OperandReader(CudaBody &body, AttentionOperand &operand);

  AttentionOperand &operand;
  Body body;
};

/// Emits what the threads of a block do together with tiles of kTile by kTile.
/// A thread has kOwn neighbouring rows and columns. All threads of a block come
/// to each call but `load` and `store`.
class AttentionBlock {
public:
  static constexpr int64_t kTile = AttentionLoops::kBlock;
  static constexpr int64_t kOwn = 4;
  static constexpr int64_t kAcross = kTile / kOwn;
  static constexpr int64_t kThreads = kAcross * kAcross;

  /// Declares what the threads share.
  AttentionBlock(CudaBody &body, AttentionLoops &loops, StringRef name);

  /// The first of this thread's rows and columns.
  Value ownRow, ownCol;
  /// The tile that the threads share, and numbers of each column of it.
  /// Backward has the inverses of sums.
  Value tile, maxima, sums, deltas;

  Sums zeros(int64_t tiles = 1);
  /// Products of rows of `left` and rows of `right`, along their `size`
  /// elements.
  Sums multiplyRows(OperandReader &left, const OperandRows &leftRows,
                    OperandReader &right, const OperandRows &rightRows,
                    int64_t size);
  /// Adds the product of the shared tile, whose rows are summed over, and rows
  /// of `right`: `sums` has a tile for kTile of their `size` elements each.
  Sums addProduct(ValueRange sums, OperandReader &right,
                  const OperandRows &rows, int64_t size);
  /// Puts a tile into the shared one, or its transpose.
  void share(ArrayRef<Value> sums, bool transposed);
  /// Stores tiles of kTile columns each as rows of a result.
  void storeRows(unsigned result, ArrayRef<Value> sums, const OperandRows &rows,
                 int64_t size,
                 llvm::function_ref<Value(int64_t, Value)> adjust);

  /// Neighbouring numbers that the threads share.
  Sums load(Value pointer, Value offset, int64_t count = kOwn);
  void store(Value pointer, Value offset, ArrayRef<Value> values);
  /// Elements from one row of the shared tile to the next.
  static constexpr int64_t kPitch = kTile + kOwn;

  /// Returns what `then` emits where a condition holds that all threads share,
  /// else `otherwise`.
  SmallVector<Value> either(Value condition,
                            llvm::function_ref<SmallVector<Value>()> then,
                            ValueRange otherwise);

private:
  /// Rows by kDepth columns from `col` on go, transposed, into what threads
  /// share; or kDepth rows by kTile columns.
  void bringRows(OperandReader &reader, const OperandRows &rows, Value col,
                 Value shared);
  void bringDepth(OperandReader &reader, const OperandRows &rows, Value row,
                  int64_t col, Value shared);
  Sums read(OperandReader &reader, const OperandRows &rows, Value row,
            Value col);
  Sums multiply(Value left, Value leftRow, Value depth, ValueRange sums);

  static constexpr int64_t kDepth = 16;

  CudaBody &body;
  Lanes &l;
  AttentionLoops &loops;
  /// kDepth numbers of what is multiplied: [depth][row or column].
  Value leftPart, rightPart;
};

} // namespace mlir::zg::cuda

#endif // ZEROGRAPH_CODEGEN_CUDA_FORMS_ATTENTIONBLOCK_H
