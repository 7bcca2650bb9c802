//===- ConvertTest.cpp - elements of every type ---------------------------===//

#include "runtime/state/Convert.h"

#include "runtime/plan/Describe.h"
#include "runtime/state/NotFinite.h"

#include "gtest/gtest.h"

#include <cmath>
#include <vector>

using namespace zerograph;

namespace {

/// To nearest even, as kernels do; NaN stays NaN, and what is too large becomes
/// infinite.
TEST(ConvertTest, NumbersAreRounded) {
  const std::pair<uint32_t, uint16_t> kCases[] = {
      {0x3f800000, 0x3f80}, {0x3f808000, 0x3f80}, {0x3f818000, 0x3f82},
      {0x3f808001, 0x3f81}, {0xbf818000, 0xbf82}, {0x7f7fffff, 0x7f80},
      {0x7f800000, 0x7f80}, {0x7f800001, 0x7fc0}, {0x00000001, 0x0000},
      {0x80000000, 0x8000}, {0x00018000, 0x0002}};
  for (auto [from, to] : kCases) {
    uint16_t got = 0;
    convertElements(plan::F32, reinterpret_cast<const std::byte *>(&from),
                    plan::BF16, reinterpret_cast<std::byte *>(&got), 1);
    EXPECT_EQ(got, to) << std::hex << from;
  }
  const std::pair<uint16_t, float> kHalves[] = {
      {0x3c00, 1.0f},  {0xc500, -5.0f},     {0x0001, 0x1p-24f},
      {0x7bff, 65504}, {0x8400, -0x1p-14f}, {0xfc00, -INFINITY}};
  for (auto [from, to] : kHalves) {
    float got = 0;
    convertElements(plan::F16, reinterpret_cast<const std::byte *>(&from),
                    plan::F32, reinterpret_cast<std::byte *>(&got), 1);
    EXPECT_EQ(got, to) << std::hex << from;
  }
  EXPECT_FALSE(canConvert(plan::F64, plan::BF16));
  const std::pair<float, uint16_t> kToHalves[] = {
      {1.0f, 0x3c00},           {1 + 0x1p-11f, 0x3c00}, {1 + 0x3p-11f, 0x3c02},
      {1 + 0x1.2p-11f, 0x3c01}, {2 - 0x1p-11f, 0x4000}, {65519.0f, 0x7bff},
      {65520.0f, 0x7c00},       {-1e30f, 0xfc00},       {0x1p-24f, 0x0001},
      {0x1p-25f, 0x0000},       {-0x1.8p-24f, 0x8002},  {0x1.ffep-15f, 0x0400},
      {INFINITY, 0x7c00},       {NAN, 0x7e00},          {-0.0f, 0x8000}};
  for (auto [from, to] : kToHalves) {
    uint16_t got = 0;
    convertElements(plan::F32, reinterpret_cast<const std::byte *>(&from),
                    plan::F16, reinterpret_cast<std::byte *>(&got), 1);
    EXPECT_EQ(got, to) << from;
  }
  EXPECT_TRUE(canConvert(plan::I64, plan::I64));
}

TEST(NotFinite, EveryTypeHasItsOwn) {
  const struct {
    plan::ElementType type;
    std::vector<uint16_t> bits; // of elements
    int64_t index;
  } cases[] = {{plan::F16, {0x7bff, 0xfc00}, 1},
               {plan::F16, {0x7bff, 0x3f80}, -1},
               {plan::BF16, {0x7c00, 0x7f7f, 0xffff}, 2},
               {plan::I16, {0x7c00, 0x7f80}, -1},
               {plan::F32, {0, 0x7f7f, 1, 0x7f80}, 1},
               {plan::F64, {0, 0, 0, 0x7ff0, 0, 0, 0, 0x7fe0}, 0}};
  for (const auto &one : cases) {
    auto found = findNotFinite(
        one.type, reinterpret_cast<const std::byte *>(one.bits.data()),
        one.bits.size() * 2 / elementSize(one.type), false);
    EXPECT_EQ(found ? int64_t(found->index) : -1, one.index);
  }
}

} // namespace
