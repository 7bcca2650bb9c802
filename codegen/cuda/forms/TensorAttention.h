//===- TensorAttention.h - attention on tensor cores ----------------------===//
//
// FlashAttention-2 (Dao, 2307.08691) without its sums of several threads: a
// block of threads computes kBlock rows, queries or keys, against all columns,
// keys or queries, in their order; each warp has kRows of the rows. Scores are
// in registers, where they become an operand of the next product. What is
// multiplied has 16 bits, sums have 32. The gradient multiplies the scores
// twice, once for the queries and once for the keys, and once more for a bias:
// so nothing is added up that another block of threads computes, and bits are
// always the same. Registers have room for sums of kPart columns: blocks of
// threads that compute larger heads share their columns, and each makes the
// scores itself. Bits differ from those of the core ops (AttentionLoops.h),
// and may differ between GPUs, as those of a library's products do.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_CODEGEN_CUDA_FORMS_TENSORATTENTION_H
#define ZEROGRAPH_CODEGEN_CUDA_FORMS_TENSORATTENTION_H

#include "codegen/cuda/forms/TensorCores.h"
#include "codegen/emit/loops/AttentionLoops.h"

namespace mlir::zg::cuda {

/// Emits a kernel. Derived classes emit the work of a block of threads, all of
/// which come to each call.
class TensorAttention {
public:
  static constexpr int64_t kThreads = 128;
  /// Counts the numbers of 16 bits of one access.
  static constexpr int64_t kPiece = kAccessBytes / 2;

  /// Returns the type of 16 bits that all is multiplied in; null: something has
  /// another type.
  static Type elementOf(AttentionLoops &loops);
  /// Returns how many blocks of threads share an item of a kernel.
  static int64_t sharersOf(const AttentionLoops &loops);
  /// Returns how many products of two numbers they repeat.
  static int64_t repeatedBy(const AttentionLoops &loops);

  /// Returns how many blocks of threads a multiprocessor holds at least: their
  /// registers suffice, and warps hide how long others' products take.
  static int32_t blocksOf(const AttentionLoops &loops) {
    return std::max(loops.shape.size, loops.shape.valueSize) <= kBlock ? 3 : 1;
  }

  TensorAttention(CudaBody &body, AttentionLoops &loops, StringRef name);

protected:
  using Values = SmallVector<Value>;
  /// Has the rows of a block as a left operand: their first columns in
  /// registers, a fragment for each kDepth, the others where the threads share
  /// them.
  struct Rows {
    SmallVector<Fragment> fragments;
    SharedMatrix shared;
  };
  /// Has some columns of an operand or a result; null: from the first on.
  struct Columns {
    Value first;
    int64_t count = 0;
  };
  static constexpr int64_t kBlock = AttentionLoops::kBlock;
  static constexpr int64_t kSums = TensorCores::kSums;
  /// Is the most columns of which a thread has sums.
  static constexpr int64_t kPart = 128;
  static_assert(nn::kMaxHeadSize <= 2 * kPart, "padded() makes two parts");

  /// Returns how far apart rows of so many elements lie: an odd number of
  /// pieces, so that eight of them have pieces in different banks.
  static int64_t pitchOf(int64_t size) { return size + kPiece; }
  /// Returns how many parts rows of so many elements have.
  static int64_t partsOf(int64_t size) { return llvm::divideCeil(size, kPart); }
  static bool isWide(const AttentionLoops &loops) {
    return std::max(loops.shape.size, loops.shape.valueSize) > kPart;
  }
  /// Returns a number of elements as products take it, of which each part has
  /// as many.
  int64_t padded(int64_t size) const {
    int64_t parts = isWide(loops) ? 2 : 1;
    return int64_t(llvm::alignTo(size, parts * TensorCores::kDepth));
  }
  /// Returns all columns of rows of so many elements, or those of a part.
  Columns allOf(int64_t size) const { return {{}, padded(size)}; }
  Columns partOf(int64_t size, Value part) const {
    int64_t parts = partsOf(size), count = padded(size) / parts;
    return {parts == 1 ? Value() : l.mul(part, l.index(count)), count};
  }
  Value number(double value) { return l.real(loops.element, value); }
  /// Returns how many sums a thread has of so many columns.
  static size_t sumsOf(int64_t cols) {
    return size_t(cols / TensorCores::kCols * kSums);
  }
  Values zeros(int64_t cols) { return Values(sumsOf(cols), number(0)); }

  /// Has the columns of a turn: `first` is the number of the first, and a and b
  /// are two operands of them. `slot` is where this turn's have their place.
  struct Turn {
    Value first, slot;
    SharedMatrix a, b;
  };
  /// Returns the turn of columns from number * turn on.
  Turn turnOf(Value number);
  /// Returns the sums after add(turn, sums) for the columns of blocks [lo, hi),
  /// in order. bring(turn) brings its columns; where there is room for two
  /// turns', those of the next one come while one is added.
  Values forTurns(Value lo, Value hi, ValueRange sums,
                  llvm::function_ref<void(const Turn &)> bring,
                  llvm::function_ref<Values(const Turn &, ValueRange)> add);
  /// Brings columns of `count` rows of an operand to where the threads share
  /// them; what is beyond its columns is 0. They are there after `arrive`.
  void bring(AttentionOperand &operand, const OperandRows &rows, int64_t count,
             const SharedMatrix &matrix, const Columns &cols);
  /// Waits for all that the threads bring.
  void arrive();
  /// Returns kBlock rows of `size` elements, in registers; they come through
  /// `by`, which is free before and after. `stay`: the last kPart columns that
  /// come stay there.
  Rows bringRows(AttentionOperand &operand, const OperandRows &rows,
                 int64_t size, const SharedMatrix &by, bool stay = false);
  /// Returns the products of rows and of the columns of a turn, along `size`.
  Values multiply(const Rows &rows, const SharedMatrix &matrix, int64_t size);
  /// Adds the product of numbers of a tile, rounded, and columns of as many
  /// rows of a matrix as the tile has columns.
  Values addProduct(ValueRange sums, ArrayRef<Value> tile, SharedMatrix matrix,
                    const Columns &cols);
  /// Stores tiles as rows of a result of `size` columns, from its column
  /// `first` on; null: from its first.
  void storeRows(unsigned result, ArrayRef<Value> sums, const OperandRows &rows,
                 int64_t size,
                 llvm::function_ref<Value(int64_t row, Value)> adjust,
                 Value first = {});

  /// Calls emit(number, row, chunk) for each number of this thread in the tile
  /// of a turn. `row` is 0 or 1.
  void forScores(Value query, Value key, bool rowsAreKeys,
                 llvm::function_ref<void(int64_t, int64_t, Chunk &)> emit);
  /// Returns what emit(assume) emits of such a tile. Where the window leaves
  /// the whole tile, assume(chunk) gives a chunk what is known then.
  Values
  ofTile(Value query, Value key, bool rowsAreKeys, TypeRange types,
         llvm::function_ref<Values(llvm::function_ref<void(Chunk &)>)> emit);
  /// Returns the place of a block of queries, counted from the last: what sees
  /// more keys begins earlier.
  Value lastFirst(Value query) {
    return l.sub(l.index((loops.queryBlocks() - 1) * kBlock), query);
  }
  /// Returns the number of the thread's row 0 or 1 of a block.
  Value rowOf(int64_t row);
  /// Returns the column, of a tile, of one of the thread's numbers.
  Value colOf(int64_t number);
  /// Returns whether a column is one of `count`; null: all columns are.
  Value isCol(Value first, int64_t number, int64_t count);
  /// Returns max, inverse or delta of a query of a head.
  Value ofQuery(AttentionOperand &operand, Value query);
  /// Returns whether some query of a block sees nothing but masked keys, by
  /// its maxima.
  Value anyMasked(llvm::function_ref<Value(Value place)> maximum);
  /// Returns what combine makes of the four threads of a row.
  Value acrossRow(Value own, llvm::function_ref<Value(Value, Value)> combine);
  /// Returns e^(x - base).
  Value power(Value x, Value base);

  CudaBody &body;
  Lanes &l;
  AttentionLoops &loops;
  std::string name;
  const nn::AttentionShape &shape;
  TensorCores cores;
  /// Counts the columns of a turn, and the turns that have a place.
  int64_t turn, slots;
  /// Is where the columns lie: in each slot, two operands of as many as a turn
  /// has.
  SharedMatrix columns;
  Value head;
};

/// Emits the block of threads `item` of a kernel of attention, or of its
/// gradient.
void emitTensorAttention(CudaBody &body, AttentionLoops &loops, StringRef name,
                         Value item);
void emitTensorAttentionGradient(CudaBody &body, AttentionLoops &loops,
                                 StringRef name, Value item);

} // namespace mlir::zg::cuda

#endif // ZEROGRAPH_CODEGEN_CUDA_FORMS_TENSORATTENTION_H
