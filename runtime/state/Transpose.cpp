//===- Transpose.cpp - matrices with rows as columns ----------------------===//

#include "runtime/state/Transpose.h"

#include <algorithm>
#include <cstring>

using namespace zerograph;

namespace {

/// A side of the squares that are transposed at once, so that both matrices
/// are read and written by lines of the cache.
constexpr uint64_t kSquare = 32;

/// Bytes that are read at once, or one row if that has more.
constexpr uint64_t kBandBytes = 1 << 20;

/// Some rows of a matrix.
struct Band {
  const std::byte *data;
  uint64_t begin, end; // of the rows
};

/// Writes those elements of `part` that lie in `band`, of a matrix of `rows` ×
/// `columns` elements of `element` bytes.
void transposeBand(const Band &band, uint64_t rows, uint64_t columns,
                   uint64_t element, const TransposedPart &part) {
  if (part.count == 0) {
    return;
  }
  // A row of the transpose is a column.
  uint64_t begin = part.first / rows;
  uint64_t end = std::min(columns, (part.first + part.count - 1) / rows + 1);
  for (uint64_t top = band.begin; top < band.end; top += kSquare) {
    for (uint64_t left = begin; left < end; left += kSquare) {
      for (uint64_t i = top; i < std::min(band.end, top + kSquare); ++i) {
        for (uint64_t j = left; j < std::min(end, left + kSquare); ++j) {
          uint64_t at =
              j * rows + i - part.first; // what is before wraps around
          if (at < part.count) {
            std::memcpy(part.to + at * element,
                        band.data + ((i - band.begin) * columns + j) * element,
                        element);
          }
        }
      }
    }
  }
}

} // namespace

void zerograph::transposeMatrix(const std::byte *source, uint64_t rows,
                                uint64_t columns, uint64_t element,
                                std::byte *destination) {
  transposeBand({source, 0, rows}, rows, columns, element,
                {0, rows * columns, destination});
}

absl::Status zerograph::readTransposed(const TensorExtent &matrix,
                                       absl::Span<const TransposedPart> parts) {
  uint64_t rows = matrix.shape[0], columns = matrix.shape[1];
  uint64_t element = elementSize(matrix.type), row = columns * element;
  if (rows == 0 || columns == 0) {
    return absl::OkStatus();
  }
  uint64_t step = std::min(rows, std::max<uint64_t>(1, kBandBytes / row));
  std::vector<std::byte> bytes(step * row);
  for (uint64_t begin = 0; begin < rows; begin += step) {
    uint64_t end = std::min(rows, begin + step);
    ZG_RETURN_IF_ERROR(matrix.file->read(matrix.offset + begin * row,
                                         (end - begin) * row, bytes.data()));
    for (const TransposedPart &part : parts) {
      transposeBand({bytes.data(), begin, end}, rows, columns, element, part);
    }
  }
  return absl::OkStatus();
}
