//===- ProductTime.h - how long a product of matrices takes ---------------===//

#ifndef ZEROGRAPH_SIMULATE_PRODUCTTIME_H
#define ZEROGRAPH_SIMULATE_PRODUCTTIME_H

#include "simulate/Machine.h"

#include <cstdint>

namespace zerograph::simulate {

struct ProductShape {
  uint64_t batch = 1, m = 1, n = 1, k = 1;
  bool tensor_cores = true; ///< of a GPU, multiply
};

/// Returns the seconds for which a library's product keeps a device that makes
/// `peak` operations a second busy computing. A GPU computes tiles of the
/// result, as many at a time as it has multiprocessors, and may cut k; it takes
/// the size of tile that is fastest. What the last turn leaves idle counts.
double secondsOfProduct(const ProductShape &shape, double peak,
                        const Machine &machine);

} // namespace zerograph::simulate

#endif // ZEROGRAPH_SIMULATE_PRODUCTTIME_H
