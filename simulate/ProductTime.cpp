//===- ProductTime.cpp - how long a product of matrices takes -------------===//

#include "simulate/ProductTime.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace zerograph::simulate {
namespace {

/// A tile of the result, and the part of a multiprocessor's peak that products
/// of many such tiles reach, next to what the best ones do. These and the
/// numbers below were fitted to NVIDIA's model of products
/// (nvidia-matmul-heuristics 0.1.0.27) by 200 shapes on A100, H100 and B200:
/// docs/simulate.md says how near they are.
struct Tile {
  double rows, columns, share;
};

constexpr Tile kTiles[] = {{256, 128, 1},   {128, 256, 1},   {128, 128, 0.98},
                           {128, 64, 0.83}, {64, 128, 0.65}, {64, 64, 0.79}};

/// Parts of k that multiprocessors compute side by side.
constexpr double kParts[] = {1, 2, 4, 8};
/// Seconds before the sums of parts are added, and how often each sum is moved
/// for that.
constexpr double kPartsBegin = 9e-6, kPartsMoved = 1.75;

/// Numbers of k that a tile's pipeline takes to fill and to drain.
constexpr double kFill = 310;

/// The part of a GPU's peak that products of f32 reach without tensor cores,
/// next to those with them: of GPT-2 small on an H100, exact f32.
constexpr double kWithoutTensorCores = 0.87;

} // namespace

double secondsOfProduct(const ProductShape &shape, double peak,
                        const Machine &machine) {
  double m = double(shape.m), n = double(shape.n), k = double(shape.k);
  double batch = double(shape.batch), reached = peak * machine.product_share;
  if (machine.device == "host" || !shape.tensor_cores) {
    double share = machine.device == "host" ? 1 : kWithoutTensorCores;
    return 2 * batch * m * n * k / (reached * share);
  }
  double best = std::numeric_limits<double>::infinity();
  for (const Tile &tile : kTiles) {
    double tiles =
        batch * std::ceil(m / tile.rows) * std::ceil(n / tile.columns);
    for (double parts : kParts) {
      double turns = std::ceil(tiles * parts / machine.processors);
      double depth = std::ceil(k / parts) + kFill;
      double operations = 2 * tile.rows * tile.columns * depth;
      double seconds =
          turns * operations * machine.processors / (reached * tile.share);
      if (parts > 1) {
        double moved = batch * m * n * 4 * (parts + 1) * kPartsMoved;
        seconds += kPartsBegin + moved / (machine.memory_bandwidth * 1e9);
      }
      best = std::min(best, seconds);
    }
  }
  return best;
}

} // namespace zerograph::simulate
