//===- Shape.h - shapes, broadcasting and strides -------------------------===//

#ifndef ZEROGRAPH_FRONTEND_BASE_SHAPE_H
#define ZEROGRAPH_FRONTEND_BASE_SHAPE_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>
#include <string>
#include <vector>

namespace zerograph::frontend {

using Shape = std::vector<int64_t>;

/// "2x3", or "scalar".
std::string shapeText(const Shape &shape);
/// Number of elements; fails on a negative dim and on overflow.
int64_t elementCount(const Shape &shape);
/// The shape that two shapes broadcast to by ONNX's rules; fails if there is
/// none.
Shape broadcastShapes(const Shape &a, const Shape &b);
/// `axis`, counted from the end if negative; fails outside [-rank, rank).
int64_t normalizeAxis(int64_t axis, int64_t rank);

/// Row-major strides of a shape.
std::vector<int64_t> rowMajor(const Shape &shape);
/// Strides that read a tensor of shape `from` broadcast to `to`.
std::vector<int64_t> broadcastStrides(const Shape &from, const Shape &to);

/// Calls `visit(i, sum(index_d * strides_d))` for each index of `shape` in
/// row-major order; i counts up.
void forEach(const Shape &shape, const std::vector<int64_t> &strides,
             llvm::function_ref<void(int64_t, int64_t)> visit);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_BASE_SHAPE_H
