//===- Together.h - neighbouring elements in one access -------------------===//

#ifndef ZEROGRAPH_CODEGEN_CUDA_FORMS_TOGETHER_H
#define ZEROGRAPH_CODEGEN_CUDA_FORMS_TOGETHER_H

#include "codegen/cuda/forms/CudaBody.h"

namespace mlir::zg::cuda {

/// Loads `count` elements from `offset` elements after a pointer on: a vector,
/// or one scalar. They lie at a multiple of their bytes, or of one access.
Value loadTogether(Lanes &l, Value pointer, Value offset, Type element,
                   int64_t count);
/// Stores a vector, or one scalar, at such a place.
void storeTogether(Lanes &l, Value pointer, Value offset, Value value);

/// Returns the elements of a vector, or of one scalar.
SmallVector<Value> elementsOf(Lanes &l, Value value);
/// Returns some scalars as a vector; one alone stays as it is.
Value joined(Lanes &l, ArrayRef<Value> values);

} // namespace mlir::zg::cuda

#endif // ZEROGRAPH_CODEGEN_CUDA_FORMS_TOGETHER_H
