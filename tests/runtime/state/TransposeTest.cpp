//===- TransposeTest.cpp - matrices with rows as columns ------------------===//

#include "runtime/state/Transpose.h"
#include "tests/support/Folder.h"

#include "gtest/gtest.h"

#include <cstring>
#include <filesystem>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace zerograph;

namespace {

/// Transposes every size of element, in squares and at their ends.
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

/// Matrices of several reads, and of rows that are longer than one.
TEST(Transpose, AnyPartsOfAFileAreRead) {
  zerograph::testing::Folder folder;
  std::string path = folder.path + "/matrix";
  for (auto [rows, columns] : {std::pair<uint64_t, uint64_t>{700, 600},
                               {3, 300'000},
                               {300'000, 3},
                               {1, 5}}) {
    constexpr uint64_t kBefore = 12;
    std::vector<uint32_t> values(rows * columns), turned(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = uint32_t(i);
    }
    transposeMatrix(reinterpret_cast<std::byte *>(values.data()), rows, columns,
                    4, reinterpret_cast<std::byte *>(turned.data()));
    auto file = File::create(path, kBefore + values.size() * 4).value();
    ASSERT_TRUE(file->write(kBefore, values.size() * 4, values.data()).ok());
    TensorExtent matrix = {file, plan::F32, {rows, columns}, kBefore};
    std::vector<std::vector<uint32_t>> read;
    std::vector<TransposedPart> parts;
    uint64_t all = values.size();
    for (auto [first, count] : {std::pair<uint64_t, uint64_t>{0, all},
                                {0, 1},
                                {all - 1, 1},
                                {all / 3, all / 2},
                                {rows / 2, 0},
                                {all, 0}}) {
      read.emplace_back(count, ~uint32_t(0));
      parts.push_back(
          {first, count, reinterpret_cast<std::byte *>(read.back().data())});
    }
    absl::Status status = readTransposed(matrix, parts);
    ASSERT_TRUE(status.ok()) << status;
    for (size_t i = 0; i < parts.size(); ++i) {
      auto begin = turned.begin() + int64_t(parts[i].first);
      EXPECT_TRUE(std::equal(read[i].begin(), read[i].end(), begin))
          << rows << " x " << columns << ", part " << i;
    }
  }
}

TEST(Transpose, AFileThatIsCutOffIsAnError) {
  zerograph::testing::Folder folder;
  std::string path = folder.path + "/matrix";
  auto file = File::create(path, 20).value();
  float value = 0;
  EXPECT_FALSE(readTransposed({file, plan::F32, {2, 3}, 0},
                              {{0, 1, reinterpret_cast<std::byte *>(&value)}})
                   .ok());
}

} // namespace
