//===- Philox.h - counter-based random numbers ----------------------------===//

#ifndef ZEROGRAPH_RUNTIME_STATE_PHILOX_H
#define ZEROGRAPH_RUNTIME_STATE_PHILOX_H

#include "absl/strings/string_view.h"

#include <array>
#include <cstdint>

namespace zerograph {

/// Philox4x32 with 10 rounds (Salmon et al., SC'11): 128 bits that follow from
/// a counter and a key alone.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter,
                               std::array<uint32_t, 2> key);

/// Random numbers of one array: element i depends on (seed, name, i) alone, so
/// any part of the array can be made anywhere.
class RandomArray {
public:
  RandomArray(uint64_t seed, absl::string_view name);
  /// Elements [first, first + count): standard normals times `deviation`.
  template <typename Element>
  void normal(uint64_t first, uint64_t count, double deviation,
              Element *to) const;
  /// The same, uniform in (-bound, bound).
  template <typename Element>
  void uniform(uint64_t first, uint64_t count, double bound, Element *to) const;

private:
  /// Elements 2 * pair and 2 * pair + 1, in (0, 1); of which normals are made.
  std::array<double, 2> uniformPair(uint64_t pair) const;
  std::array<double, 2> normalPair(uint64_t pair) const;

  std::array<uint32_t, 2> key;
  uint64_t stream; // of the name
};

extern template void RandomArray::normal(uint64_t, uint64_t, double,
                                         float *) const;
extern template void RandomArray::normal(uint64_t, uint64_t, double,
                                         double *) const;
extern template void RandomArray::uniform(uint64_t, uint64_t, double,
                                          float *) const;
extern template void RandomArray::uniform(uint64_t, uint64_t, double,
                                          double *) const;

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_STATE_PHILOX_H
