//===- Transpose.h - matrices with rows as columns ------------------------===//

#ifndef ZEROGRAPH_RUNTIME_STATE_TRANSPOSE_H
#define ZEROGRAPH_RUNTIME_STATE_TRANSPOSE_H

#include <cstddef>
#include <cstdint>

namespace zerograph {

/// Writes the transpose of a matrix of `rows` × `columns` elements of `element`
/// bytes to other bytes.
void transposeMatrix(const std::byte *source, uint64_t rows, uint64_t columns,
                     uint64_t element, std::byte *destination);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_STATE_TRANSPOSE_H
