//===- ProductTile.h - an operand of a product in shared memory -----------===//

#ifndef ZEROGRAPH_CODEGEN_CUDA_FORMS_PRODUCTTILE_H
#define ZEROGRAPH_CODEGEN_CUDA_FORMS_PRODUCTTILE_H

#include "codegen/cuda/forms/CudaBody.h"

#include <string>

namespace mlir::zg::cuda {

/// Neighbouring rows and columns that a thread has together.
inline constexpr int64_t kGroup = 4;

/// The elements of a product that a block computes, and the numbers of k that
/// it brings into shared memory together. A thread has `groups` groups of
/// kGroup rows and as many of columns.
struct Tile {
  int64_t rows, cols, depth, groups;

  int64_t threadsAcross() const { return cols / (kGroup * groups); }
  int64_t threads() const { return rows / (kGroup * groups) * threadsAcross(); }
  /// Returns where a group of a thread begins, of `size` rows or columns: those
  /// of neighbouring threads lie side by side.
  Value placeOf(Lanes &l, int64_t size, Value thread, int64_t group) const;
};

/// The operand of each batch: `extent` rows of the left operand, or columns of
/// the right one, by k. Either numbers of k lie side by side, or the others do.
struct OperandShape {
  Type element;
  int64_t extent, k;
  bool alongK;
};

/// One operand of a product as the threads of a block bring it into two buffers
/// of shared memory, [k][row or column].
class TileOperand {
public:
  /// `size`: rows or columns of the tile. Declares the array.
  TileOperand(CudaBody &body, const Tile &tile, OperandShape shape,
              int64_t size, const std::string &name);

  /// The block's rows or columns begin with `first`.
  void enter(Value pointer, Value batch, Value first);
  /// This thread's part of `depth` numbers from k on. What is beyond the
  /// operand's end has some of its elements: nothing is made of it.
  SmallVector<Value> read(Value k, int64_t depth);
  void write(Value buffer, ArrayRef<Value> parts);
  /// The elements of the groups of one of the tile's rows or columns of
  /// threads.
  SmallVector<Value> column(Value buffer, Value k, Value thread);

private:
  /// The place of part `number` of this thread: the first of `together`
  /// elements.
  struct Place {
    Value k, other;
  };
  Place placeOf(int64_t number);
  Value sharedOffset(Value buffer, Value k, Value other);

  CudaBody &body;
  Lanes &l;
  Tile tile;
  OperandShape shape;
  int64_t size;
  /// Elements that are read as one, and how often each thread reads.
  int64_t together, parts;
  Value shared, pointer, start, first;
};

/// Says what a product adds to its elements: operand 2, with a number an
/// element of the result, or a column.
enum class Addend { none, elements, columns };

/// Stores neighbouring elements, those that are before column `n`, each with
/// the number that is added to it.
void storeGroup(CudaBody &body, Value place, Value col, int64_t n,
                ArrayRef<Value> values, Addend addend);

} // namespace mlir::zg::cuda

#endif // ZEROGRAPH_CODEGEN_CUDA_FORMS_PRODUCTTILE_H
