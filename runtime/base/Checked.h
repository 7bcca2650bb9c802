//===- Checked.h - arithmetic on sizes that come from files ---------------===//
//
// Sizes and offsets in a plan may be anything. These say when a result does
// not fit in 64 bits instead of wrapping around.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_BASE_CHECKED_H
#define ZEROGRAPH_RUNTIME_BASE_CHECKED_H

#include <cstdint>
#include <optional>

namespace zerograph {

/// A u64 that remembers whether anything it was made of overflowed.
class Checked {
public:
  constexpr Checked(uint64_t value) : number(value) {}

  friend constexpr Checked operator+(Checked a, Checked b) {
    Checked result(0);
    result.fits = !__builtin_add_overflow(a.number, b.number, &result.number) &&
                  a.fits && b.fits;
    return result;
  }
  friend constexpr Checked operator*(Checked a, Checked b) {
    Checked result(0);
    result.fits = !__builtin_mul_overflow(a.number, b.number, &result.number) &&
                  a.fits && b.fits;
    return result;
  }

  /// True if no step overflowed and the value is at most `limit`.
  constexpr bool atMost(uint64_t limit) const {
    return fits && number <= limit;
  }
  constexpr bool is(uint64_t value) const { return fits && number == value; }
  /// The value, or the largest there is where a step overflowed.
  constexpr uint64_t saturated() const { return fits ? number : ~uint64_t(0); }
  /// The value, or nothing where a step overflowed.
  constexpr std::optional<uint64_t> value() const {
    return fits ? std::optional<uint64_t>(number) : std::nullopt;
  }

private:
  uint64_t number;
  bool fits = true;
};

/// The product of sizes.
template <typename Sizes>
constexpr Checked product(const Sizes &sizes) {
  Checked count = 1;
  for (uint64_t size : sizes) {
    count = count * size;
  }
  return count;
}

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_BASE_CHECKED_H
