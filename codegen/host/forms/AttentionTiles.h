//===- AttentionTiles.h - matrices that fit in a cache --------------------===//

#ifndef ZEROGRAPH_CODEGEN_HOST_FORMS_ATTENTIONTILES_H
#define ZEROGRAPH_CODEGEN_HOST_FORMS_ATTENTIONTILES_H

#include "codegen/emit/loops/AttentionLoops.h"
#include "codegen/host/forms/HostBody.h"

namespace mlir::zg::host {

/// Is a matrix on the call's stack, row by row; `cols` is a multiple of the
/// lanes.
struct Tile {
  Value pointer;
  int64_t rows = 0, cols = 0;
};

/// Is the left factor of a product: says how far apart its elements lie from
/// row to row, and along the depth, over which products are summed up.
struct LeftFactor {
  Value pointer;
  int64_t row = 1, depth = 1;

  static LeftFactor plain(const Tile &tile) {
    return {tile.pointer, tile.cols, 1};
  }
  static LeftFactor transposed(const Tile &tile) {
    return {tile.pointer, 1, tile.cols};
  }
};

/// Emits what kernels of attention do with tiles.
class AttentionTiles {
public:
  /// `vectors`: how many vectors of sixteen lanes the registers have room for.
  AttentionTiles(HostBody &body, Type element, int64_t vectors)
      : body(body), l(body.lanes), element(element), vectors(vectors) {}

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
  /// Adds a product to `c`: each element goes on with its chain of fma, over
  /// [0, depth).
  void multiply(const Tile &c, const LeftFactor &a, const Tile &b, Value depth);

private:
  /// Adds to `count` vectors of columns from `col` on, of kRows rows.
  void multiplyBlock(const Tile &c, const LeftFactor &a, const Tile &b,
                     Value depth, Value row, Value col, int64_t count);

  HostBody &body;
  Lanes &l;
  Type element;
  int64_t vectors;
};

} // namespace mlir::zg::host

#endif // ZEROGRAPH_CODEGEN_HOST_FORMS_ATTENTIONTILES_H
