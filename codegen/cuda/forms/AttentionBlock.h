//===- AttentionBlock.h - products of the threads of a block --------------===//

#ifndef ZEROGRAPH_CODEGEN_CUDA_FORMS_ATTENTIONBLOCK_H
#define ZEROGRAPH_CODEGEN_CUDA_FORMS_ATTENTIONBLOCK_H

#include "codegen/cuda/forms/CudaBody.h"
#include "codegen/emit/loops/AttentionLoops.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::zg::cuda {

/// Holds a thread's numbers of a tile: kOwn rows by kOwn columns, row by row.
using Sums = SmallVector<Value>;

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

  /// Are the first of this thread's rows and columns.
  Value ownRow, ownCol;
  /// Are what the threads share: a tile, and numbers of each of its columns. In
  /// backward, `sums` holds the inverses of sums.
  Value tile, maxima, sums, deltas;

  /// Returns how many tiles rows of so many elements make.
  static int64_t tilesOf(int64_t size) {
    return int64_t(llvm::divideCeil(size, kTile));
  }
  Sums zeros(int64_t tiles = 1);
  /// Returns an operand's reader, of as many elements at once as it allows.
  OperandReader readerOf(AttentionOperand &operand);
  /// Multiplies rows of `left` by rows of `right`, along their `size`
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
  /// Stores tiles of kTile columns each as rows of a result, from its column
  /// `first` on; null: from its first.
  void storeRows(unsigned result, ArrayRef<Value> sums, const OperandRows &rows,
                 int64_t size, llvm::function_ref<Value(int64_t, Value)> adjust,
                 Value first = {});

  /// Loads and stores neighbouring numbers.
  Sums load(Value pointer, Value offset, int64_t count = kOwn);
  void store(Value pointer, Value offset, ArrayRef<Value> values);
  /// Counts the elements from one row of the shared tile to the next.
  static constexpr int64_t kPitch = kTile + kOwn;

private:
  /// Bring an operand's rows by kDepth columns from `col` on, transposed, or
  /// kDepth of its rows by kTile columns, to where the threads share them.
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
  /// Hold kDepth numbers of each row or column that is multiplied: [depth][row
  /// or column].
  Value leftPart, rightPart;
};

} // namespace mlir::zg::cuda

#endif // ZEROGRAPH_CODEGEN_CUDA_FORMS_ATTENTIONBLOCK_H
