//===- StateDictNamesTest.cpp - names and layout of PyTorch ---------------===//

#include "runtime/checkpoint/StateDictNames.h"

#include "gtest/gtest.h"

#include <cstring>

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

/// Of every size of element, in squares and at their ends.
TEST(StateDictNames, EveryElementIsTransposed) {
  for (uint64_t element : {1, 2, 4, 8}) {
    for (auto [rows, columns] : {std::pair<uint64_t, uint64_t>{1, 70},
                                 {70, 1},
                                 {32, 64},
                                 {33, 65},
                                 {3, 0}}) {
      std::vector<std::byte> source(rows * columns * element);
      std::vector<std::byte> turned(source.size());
      for (size_t i = 0; i < source.size(); ++i) {
        source[i] = std::byte(i * 7 + i / 256);
      }
      transposeMatrix(source.data(), rows, columns, element, turned.data());
      for (uint64_t i = 0; i < rows; ++i) {
        for (uint64_t j = 0; j < columns; ++j) {
          ASSERT_EQ(std::memcmp(&source[(i * columns + j) * element],
                                &turned[(j * rows + i) * element], element),
                    0);
        }
      }
    }
  }
}

} // namespace
