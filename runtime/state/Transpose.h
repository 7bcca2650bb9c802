//===- Transpose.h - matrices with rows as columns ------------------------===//

#ifndef ZEROGRAPH_RUNTIME_STATE_TRANSPOSE_H
#define ZEROGRAPH_RUNTIME_STATE_TRANSPOSE_H

#include "runtime/io/TensorFile.h"

#include <cstddef>
#include <cstdint>

namespace zerograph {

/// Writes the transpose of a matrix of `rows` × `columns` elements of `element`
/// bytes to other bytes.
void transposeMatrix(const std::byte *source, uint64_t rows, uint64_t columns,
                     uint64_t element, std::byte *destination);

/// Elements [first, first + count) of a transpose, and where they are to go.
struct TransposedPart {
  uint64_t first, count;
  std::byte *to;
};

/// Reads parts of the transpose of a matrix in a file. Every part has elements
/// of each row of the file, so the whole matrix is read, some rows at a time,
/// once for all parts. Thread-safe.
absl::Status readTransposed(const TensorExtent &matrix,
                            absl::Span<const TransposedPart> parts);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_STATE_TRANSPOSE_H
