//===- TransposeTest.cpp - matrices with rows as columns ------------------===//

#include "runtime/state/Transpose.h"

#include "gtest/gtest.h"

#include <cstring>
#include <utility>
#include <vector>

using namespace zerograph;

namespace {

/// Of every size of element, in squares and at their ends.
TEST(Transpose, EveryElementIsTransposed) {
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
