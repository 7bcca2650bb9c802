//===- Permutation.h - an order that is computed place by place -----------===//

#ifndef ZEROGRAPH_RUNTIME_STATE_PERMUTATION_H
#define ZEROGRAPH_RUNTIME_STATE_PERMUTATION_H

#include <array>
#include <cstdint>

namespace zerograph {

/// Orders of the numbers below `count`, one an epoch. What stands at a place
/// follows from seed, epoch and place alone, so nothing is kept of what came
/// before. The order is part of what a run means: it must never change.
///
/// A Feistel network on pairs of numbers, repeated where it leaves the range
/// ("generalized Feistel" and "cycle walking" of J. Black and P. Rogaway,
/// Ciphers with Arbitrary Finite Domains, CT-RSA 2002), with Philox as the
/// function of a round.
class Permutation {
public:
  /// `count`: 1 to 2^62.
  Permutation(uint64_t seed, uint64_t count);

  /// The number at `place`, which is below `count` too.
  uint64_t at(uint64_t epoch, uint64_t place) const;

private:
  /// A bijection on the numbers below sizes[0] * sizes[1].
  uint64_t mix(uint64_t epoch, uint64_t number) const;

  std::array<uint32_t, 2> key;
  uint64_t count;
  std::array<uint64_t, 2> sizes; // of the halves of a number
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_STATE_PERMUTATION_H
