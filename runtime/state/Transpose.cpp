//===- Transpose.cpp - matrices with rows as columns ----------------------===//

#include "runtime/state/Transpose.h"

#include <algorithm>
#include <cstring>

using namespace zerograph;

namespace {

/// A side of the squares that are transposed at once, so that both matrices
/// are read and written by lines of the cache.
constexpr uint64_t kSquare = 32;

} // namespace

void zerograph::transposeMatrix(const std::byte *source, uint64_t rows,
                                uint64_t columns, uint64_t element,
                                std::byte *destination) {
  for (uint64_t top = 0; top < rows; top += kSquare) {
    for (uint64_t left = 0; left < columns; left += kSquare) {
      for (uint64_t i = top; i < std::min(rows, top + kSquare); ++i) {
        for (uint64_t j = left; j < std::min(columns, left + kSquare); ++j) {
          std::memcpy(destination + (j * rows + i) * element,
                      source + (i * columns + j) * element, element);
        }
      }
    }
  }
}
