//===- Arrays.h - arrays of the C interface -------------------------------===//

#ifndef ZEROGRAPH_API_ARRAYS_H
#define ZEROGRAPH_API_ARRAYS_H

#include "api/zerograph.h"
#include "runtime/io/TensorFile.h"

namespace zerograph::api {

/// Returns the caller's arrays by name, in the memory where they are. `what` is
/// what errors call them.
absl::StatusOr<TensorFile> arraysOf(const char *what, const zg_array *arrays,
                                    size_t count);

} // namespace zerograph::api

#endif // ZEROGRAPH_API_ARRAYS_H
