//===- AttentionTiles.h - matrices that fit in a cache --------------------===//

#ifndef ZEROGRAPH_CODEGEN_HOST_FORMS_ATTENTIONTILES_H
#define ZEROGRAPH_CODEGEN_HOST_FORMS_ATTENTIONTILES_H

#include "codegen/emit/loops/AttentionLoops.h"
#include "codegen/host/HostTarget.h"
#include "codegen/host/forms/MatrixRegisters.h"

namespace mlir::zg::host {

/// Is a matrix on the call's stack, row by row; `cols` is a multiple of the
/// lanes. `paired`: each element is a pair of bf16, which come after each other
/// along the depth of a product.
struct Tile {
  Value pointer;
  int64_t rows = 0, cols = 0;
  bool paired = false;
};

/// Is the left factor of a product: a tile, or its transpose.
struct LeftFactor {
  Tile tile;
  bool transposed = false;

  static LeftFactor plain(const Tile &tile) { return {tile, false}; }
  static LeftFactor transpose(const Tile &tile) { return {tile, true}; }

  /// Return how far apart elements, or pairs, lie from row to row, and along
  /// the depth, over which products are summed up.
  int64_t row() const { return transposed ? 1 : tile.cols; }
  int64_t depth() const { return transposed ? tile.cols : 1; }
};

/// Says how the processor multiplies tiles.
struct TileProducts {
  /// Counts the vectors of sixteen lanes that the registers have room for.
  int64_t vectors = 0;
  /// Unless none, factors are rounded to bf16, and sums are those of
  /// PairsOfBf16 or MatrixRegisters.
  Bf16Products bf16 = Bf16Products::none;

  /// Returns whether factors are pairs of bf16.
  bool pairs() const { return bf16 != Bf16Products::none; }
  /// Returns of what a product's depth is a multiple, filled up with zeros.
  int64_t depthGrain() const;
  /// Returns of what the rows of a tile are a multiple.
  int64_t rowGrain() const;
};

/// Emits what kernels of attention do with tiles.
class AttentionTiles {
public:
  /// No tile of a product has more elements than `largest`. Called before any
  /// loop.
  AttentionTiles(HostBody &body, Type element, TileProducts products,
                 int64_t largest);

  /// Makes the processor ready, and leaves it; at the ends of a call.
  void begin();
  void finish();
  /// Allocates a matrix whose columns are rounded up to the lanes. Called
  /// before any loop.
  Tile allocate(int64_t rows, int64_t cols);
  Value load(const Tile &tile, Value row, int64_t col);
  void store(const Tile &tile, Value row, int64_t col, Value value);
  void fill(const Tile &tile, double number);
  /// Adds a tile to another of its size.
  void add(const Tile &to, const Tile &from);
  /// Copies rows of an operand into the first rows of a tile.
  void bring(Body &operand, Node *node, const OperandRows &rows,
             const Tile &tile);
  void transpose(const Tile &from, const Tile &to);
  /// Returns a factor as products take it, which several may: pairs of its
  /// elements, made in `scratch`, or where these are not multiplied the factor
  /// itself.
  LeftFactor prepare(const LeftFactor &left, Value depth, Value scratch);
  Tile prepareRight(const Tile &tile, Value depth, Value scratch);
  /// Allocates scratch for a factor's pairs. Called before any loop.
  Value allocateScratch();
  /// Adds a product to `c`: each element goes on with its chain of fma, or of
  /// pairs, over [0, depth); by AMX, of sums of depthGrain() products.
  void multiply(const Tile &c, const LeftFactor &left, const Tile &right,
                Value depth);

private:
  /// Returns pairs of elements that follow each other in the rows of a tile.
  Tile pairInRows(const Tile &tile, Value depth, Value scratch);
  /// Returns pairs of elements of two rows that follow each other.
  Tile pairOfRows(const Tile &tile, Value depth, Value scratch);
  /// Returns the same of the transpose: pairs within its rows.
  Tile pairTransposed(const Tile &tile, Value depth, Value scratch);
  void pairTransposedBlock(const Tile &tile, Value row, Value col, Value depth,
                           const Tile &paired, Value pair);
  /// Returns pairs of the elements of a row and of the next; 0 from row `depth`
  /// on.
  Value pairBelow(const Tile &tile, Value row, Value col, Value depth);
  Value roundUpToGrain(Value depth);
  /// Adds a product of pairs in registers of AMX.
  void multiplyByAmx(const Tile &c, const Tile &a, const Tile &b, Value depth);
  /// Adds to `rows` by `cols` registers of `c`.
  void multiplyRegisters(const Tile &c, const Tile &a, const Tile &b,
                         Value depth, Value row, Value col, int64_t rows,
                         int64_t cols);
  /// Adds to `count` vectors of columns from `col` on, of kRows rows.
  void multiplyBlock(const Tile &c, const LeftFactor &a, const Tile &b,
                     Value depth, Value row, Value col, int64_t count);

  HostBody &body;
  Lanes &l;
  Type element;
  TileProducts products;
  int64_t largest;
  MatrixRegisters registers;
  Value leftScratch, rightScratch; // for factors of one product
};

} // namespace mlir::zg::host

#endif // ZEROGRAPH_CODEGEN_HOST_FORMS_ATTENTIONTILES_H
