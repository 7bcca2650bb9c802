//===- MatmulParts.cpp - how a product is cut into library calls ----------===//

#include "runtime/device/host/MatmulLibrary.h"

#include <algorithm>

using namespace zerograph;

namespace {

constexpr uint64_t kMostParts = 8;
constexpr double kFlopsOfPart = 8e6;
constexpr uint64_t kColumns = 64;
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

} // namespace

std::vector<MatmulPart> zerograph::cutMatmul(uint64_t batch, uint64_t m,
                                             uint64_t n, uint64_t k,
                                             bool mayPack) {
  double flops = 2.0 * double(batch) * double(m) * double(n) * double(k);
  uint64_t wanted =
      uint64_t(std::clamp(flops / kFlopsOfPart, 1.0, double(kMostParts)));
  uint64_t batches = std::min(batch, wanted);
  uint64_t pieces =
      std::max<uint64_t>(1, wanted / std::max<uint64_t>(1, batches));
  bool along_n = n >= kColumns * pieces && (n > m || mayPack);
  auto columns = cutRange(n, kColumns, along_n ? pieces : 1);
  auto rows = cutRange(m, kRows, along_n ? 1 : pieces);

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
