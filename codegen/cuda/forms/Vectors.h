//===- Vectors.h - elements that a thread computes together ---------------===//

#ifndef ZEROGRAPH_CODEGEN_CUDA_FORMS_VECTORS_H
#define ZEROGRAPH_CODEGEN_CUDA_FORMS_VECTORS_H

#include "codegen/emit/Graph.h"

namespace mlir::zg::cuda {

/// Elements of one access: at most 8.
int64_t accessWidth(Type element);

/// Returns the columns that a thread computes together: as many as the widest
/// elements have in one access, where all that changes with the column is read
/// side by side; else 1. Of several rows the columns are a multiple, or every
/// row that is read or stored begins at one and some columns are left over.
/// `stored`: the elements of what is stored side by side, in rows that begin
/// at multiples of `apart` elements.
int64_t vectorWidth(emit::Graph &graph, ArrayRef<Type> stored, int64_t apart);
/// Returns the same for threads that share rows, at most `most`: no columns are
/// left over, also if there is one row.
int64_t sharedWidth(emit::Graph &graph, int64_t most);

} // namespace mlir::zg::cuda

#endif // ZEROGRAPH_CODEGEN_CUDA_FORMS_VECTORS_H
