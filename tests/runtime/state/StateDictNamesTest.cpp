//===- StateDictNamesTest.cpp - names and layout of PyTorch ---------------===//

#include "runtime/state/StateDictNames.h"

#include "gtest/gtest.h"

using namespace zerograph;

namespace {

TEST(StateDictNames, WithoutAFileNamesAreTheSame) {
  StateDictNames names;
  EXPECT_EQ(names.of("fc1.weight").name, "fc1.weight");
  EXPECT_FALSE(names.of("fc1.weight").transposed);
  EXPECT_EQ(names.others({}), "");
}

TEST(StateDictNames, OnlyMatricesAreTransposed) {
  StateDictName name = {"w", /*transposed=*/true};
  EXPECT_EQ(*name.shapeOf({2, 3}), (std::vector<uint64_t>{3, 2}));
  EXPECT_FALSE(name.shapeOf({2}).ok());
  EXPECT_FALSE(name.shapeOf({2, 3, 4}).ok());
  name.transposed = false;
  EXPECT_EQ(*name.shapeOf({2}), std::vector<uint64_t>{2});
}

} // namespace
