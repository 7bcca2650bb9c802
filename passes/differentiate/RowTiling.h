//===- RowTiling.h - a region, computed tile by tile ----------------------===//

#ifndef ZEROGRAPH_PASSES_DIFFERENTIATE_ROWTILING_H
#define ZEROGRAPH_PASSES_DIFFERENTIATE_ROWTILING_H

#include "passes/differentiate/RowRegion.h"

namespace mlir::zg::nn {

/// A tile has a multiple of so many rows, so that it begins at an aligned
/// address however long a row is.
constexpr int64_t kRowGrain = 64;

/// Replaces the ops of a region by those of its tiles, one after the other,
/// each of `tileRows` rows; the last may have fewer. Erases the region's ops.
void computeByTiles(const RowRegion &region, int64_t tileRows);

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_DIFFERENTIATE_ROWTILING_H
