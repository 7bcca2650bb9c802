//===- TensorCores.h - products of 16 bits on tensor cores ----------------===//
//
// A warp multiplies 16 rows by 16 numbers of depth by 8 columns in one
// instruction, mma.sync.m16n8k16, whose sums are f32. Which thread has which
// numbers is said in NVIDIA's PTX ISA, "Matrix Fragments for mma.m16n8k16".
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_CODEGEN_CUDA_FORMS_TENSORCORES_H
#define ZEROGRAPH_CODEGEN_CUDA_FORMS_TENSORCORES_H

#include "codegen/cuda/forms/CudaBody.h"

namespace mlir::zg::cuda {

/// Is a matrix of 16 bits that the threads of a block share. Its rows begin at
/// multiples of 16 bytes, `pitch` elements apart.
struct SharedMatrix {
  Value pointer;
  int64_t pitch = 0;
};

/// Holds what a thread has of an operand: words of two numbers.
using Fragment = SmallVector<Value, 4>;

/// Emits what the 32 threads of a warp do together; all of them come to each
/// call. A thread has two rows, ownRow and ownRow + 8, and of every 8 columns
/// two neighbouring ones, from ownCol on: four sums, row by row.
class TensorCores {
public:
  /// `element`: bf16 or f16, of what is multiplied.
  TensorCores(CudaBody &body, Type element);

  static constexpr int64_t kRows = 16, kCols = 8, kDepth = 16, kSums = 4;

  /// The warp's number in its block.
  Value warp;
  Value ownRow, ownCol;

  /// Returns kRows rows of a matrix, kDepth columns of it, as a left operand.
  Fragment left(const SharedMatrix &matrix, Value row, int64_t col);
  /// Returns sums of 2 * kCols columns, rounded, as a left operand.
  Fragment left(ArrayRef<Value> sums);
  /// Returns 2 * kCols rows of a matrix, kDepth columns of it, as the columns
  /// of a right operand.
  Fragment rightByRows(const SharedMatrix &matrix, int64_t row, int64_t col);
  /// Returns kDepth rows of a matrix, 2 * kCols columns of it, as a right
  /// operand.
  Fragment rightByColumns(const SharedMatrix &matrix, int64_t row, int64_t col);
  /// Adds the product of a left operand and 2 * kCols columns to their sums.
  void multiply(const Fragment &left, const Fragment &right,
                MutableArrayRef<Value> sums);

  /// Copies 16 bytes from where all threads reach to where those of a block do,
  /// or zeros if `inside` is there and false. Done after finishCopies().
  void copy(Value to, Value from, Value inside);
  /// Waits for what this thread copies.
  void finishCopies();

private:
  Value call(StringRef intrinsic, Type result, ValueRange operands);
  Fragment load(const SharedMatrix &matrix, Value offset, bool transposed);
  Value offsetOf(const SharedMatrix &matrix, Value row, Value col);

  CudaBody &body;
  Lanes &l;
  bool isHalf;
  /// Give the row and column of 16 by 16 whose address a thread passes to
  /// ldmatrix: tall, rows are counted before columns; wide, columns before
  /// rows.
  Value tallRow, tallCol, wideRow, wideCol;
};

} // namespace mlir::zg::cuda

#endif // ZEROGRAPH_CODEGEN_CUDA_FORMS_TENSORCORES_H
