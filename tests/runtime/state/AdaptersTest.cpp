//===- AdaptersTest.cpp - what adapters add to weights --------------------===//

#include "runtime/state/Adapters.h"

#include "AdaptedPlan.h"

#include "gtest/gtest.h"

#include <cstring>

using namespace zerograph;
using zerograph::testing::adaptedPlan;

namespace {

template <typename Element>
void expectSums(bool transposed) {
  plan::ElementType type = sizeof(Element) == 8 ? plan::F64 : plan::F32;
  plan::Plan plan = adaptedPlan(3, 2, type, transposed);
  AdapterValues values(plan);
  const Element a[] = {1, 2, 3, 4}, b[] = {1, 0, 0, 1, 10, 100};
  // In two parts, as two ranks give them.
  ASSERT_TRUE(values.write("a", 0, sizeof(Element), a).ok());
  ASSERT_TRUE(
      values.write("a", sizeof(Element), 3 * sizeof(Element), a + 1).ok());
  ASSERT_TRUE(values.write("b", 0, sizeof(b), b).ok());
  EXPECT_FALSE(values.write("b", 1, sizeof(b), b).ok());
  EXPECT_FALSE(values.write("c", 0, 1, b).ok());
  // B A is 1 2, 3 4, 310 420; a half more of it is added to 1, 2, ...
  std::vector<Element> expected = {1 + 1.5, 2 + 3,   3 + 4.5,
                                   4 + 6,   5 + 465, 6 + 630};
  if (transposed) {
    expected = {1 + 1.5, 2 + 4.5, 3 + 465, 4 + 3, 5 + 6, 6 + 630};
  }
  for (uint64_t cut = 0; cut <= 6; ++cut) {
    std::vector<Element> weight = {1, 2, 3, 4, 5, 6};
    auto *bytes = reinterpret_cast<std::byte *>(weight.data());
    const plan::Parameter &w = plan.units(0).parameters(0);
    values.add(w, type, 0, cut, bytes);
    values.add(w, type, cut, 6 - cut, bytes + cut * sizeof(Element));
    EXPECT_EQ(weight, expected);
  }
}

TEST(AdaptersTest, TheProductIsAdded) {
  expectSums<float>(/*transposed=*/false);
  expectSums<float>(/*transposed=*/true);
  expectSums<double>(/*transposed=*/false);
  expectSums<double>(/*transposed=*/true);
}

TEST(AdaptersTest, AFileSaysHowItsAdaptersAreAdded) {
  plan::Plan plan = adaptedPlan(3, 2);
  Metadata metadata = metadataOfAdapters(plan);
  EXPECT_EQ(metadata,
            (Metadata{{"lora_alpha", "3"}, {"peft_type", "LORA"}, {"r", "2"}}));
  EXPECT_TRUE(checkAdapters("file", metadata, plan).ok());
  EXPECT_TRUE(checkAdapters("file", {}, plan).ok());
  metadata["lora_alpha"] = "16";
  EXPECT_EQ(checkAdapters("file", metadata, plan).message(),
            "file has adapters of alpha 16, and the plan's have 3: compile "
            "with --lora-alpha 16");
  EXPECT_TRUE(checkAdapters("file", {}, plan::Plan()).ok());
  EXPECT_FALSE(checkAdapters("file", metadata, plan::Plan()).ok());
  EXPECT_TRUE(metadataOfAdapters(plan::Plan()).empty());
}

} // namespace
