//===- MatmulParts.cpp - how a product is cut into library calls ----------===//

#include "runtime/device/host/MatmulLibrary.h"

#include <algorithm>
#include <bit>

using namespace zerograph;

namespace {

constexpr uint64_t kMostParts = 8;
constexpr double kFlopsOfPart = 8e6;
constexpr uint64_t kColumns = 64;
constexpr uint64_t kLeastColumns = 192;
constexpr uint64_t kRows = 16;

/// Cuts [0, extent) into at most `pieces` at multiples of `grain`.
std::vector<std::pair<uint64_t, uint64_t>>
cutRange(uint64_t extent, uint64_t grain, uint64_t pieces) {
  uint64_t grains = (extent + grain - 1) / grain;
  pieces = std::max<uint64_t>(1, std::min(pieces, grains));
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (uint64_t i = 0; i < pieces; ++i) {
    uint64_t begin = grains * i / pieces * grain;
    uint64_t end = std::min(extent, grains * (i + 1) / pieces * grain);
    ranges.push_back({begin, end});
  }
  return ranges;
}

/// How often the rows and the columns of C are divided.
struct Pieces {
  uint64_t rows = 1, columns = 1;
};

/// Cuts an m x n matrix into `parts`, a power of two, or as many as its size
/// allows, so that they read the fewest elements: each reads its rows of A and
/// its columns of B. Of equal ones, the one with wider parts is taken.
Pieces piecesOf(uint64_t m, uint64_t n, uint64_t parts) {
  uint64_t most_rows = (m + kRows - 1) / kRows;
  uint64_t most_columns = std::max<uint64_t>(1, n / kLeastColumns);
  Pieces best;
  for (uint64_t rows = std::min(parts, std::bit_floor(most_rows)); rows > 0;
       rows /= 2) {
    Pieces pieces{rows, std::min(parts / rows, std::bit_floor(most_columns))};
    auto cost = [&](const Pieces &p) { return p.columns * m + p.rows * n; };
    uint64_t count = pieces.rows * pieces.columns;
    uint64_t best_count = best.rows * best.columns;
    if (count > best_count ||
        (count == best_count && cost(pieces) < cost(best))) {
      best = pieces;
    }
  }
  return best;
}

} // namespace

std::vector<MatmulPart> zerograph::cutMatmul(uint64_t batch, uint64_t m,
                                             uint64_t n, uint64_t k) {
  double flops = 2.0 * double(batch) * double(m) * double(n) * double(k);
  auto wanted =
      uint64_t(std::clamp(flops / kFlopsOfPart, 1.0, double(kMostParts)));
  uint64_t batches = std::clamp<uint64_t>(batch, 1, wanted);
  Pieces pieces = piecesOf(m, n, std::bit_floor(wanted / batches));
  auto rows = cutRange(m, kRows, pieces.rows);
  auto columns = cutRange(n, kColumns, pieces.columns);

  std::vector<MatmulPart> parts;
  for (auto [batch_begin, batch_end] : cutRange(batch, 1, batches)) {
    for (auto [m_begin, m_end] : rows) {
      for (auto [n_begin, n_end] : columns) {
        parts.push_back(
            {batch_begin, batch_end, m_begin, m_end, n_begin, n_end});
      }
    }
  }
  return parts;
}
