//===- SameShape.h - our declarations beside a library's header -----------===//

#ifndef ZEROGRAPH_TESTS_RUNTIME_DEVICE_SAMESHAPE_H
#define ZEROGRAPH_TESTS_RUNTIME_DEVICE_SAMESHAPE_H

#include <gtest/gtest.h>

#include <cstdint>
#include <type_traits>

namespace zerograph::testing {

template <typename One, typename Other>
constexpr bool same() {
  return sizeof(One) == sizeof(Other) &&
         std::is_pointer_v<One> == std::is_pointer_v<Other> &&
         std::is_class_v<One> == std::is_class_v<Other>;
}

/// Functions whose results and parameters are passed alike, whatever their
/// names.
template <typename R, typename... A, typename S, typename... B>
constexpr bool sameShape(R (*)(A...), S (*)(B...)) {
  if constexpr (sizeof...(A) == sizeof...(B)) {
    return same<R, S>() && (same<A, B>() && ...);
  }
  return false;
}

} // namespace zerograph::testing

/// A constant of ours has the header's value.
#define ZEROGRAPH_EQUAL(name)                                                  \
  EXPECT_EQ(int64_t(zerograph::name), int64_t(::name))

#endif // ZEROGRAPH_TESTS_RUNTIME_DEVICE_SAMESHAPE_H
