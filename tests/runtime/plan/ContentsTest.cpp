//===- ContentsTest.cpp - which step wrote the bytes of an arena ----------===//

#include "runtime/plan/Contents.h"

#include "gtest/gtest.h"

#include <tuple>

namespace zerograph {
namespace {

using Part = std::tuple<uint64_t, uint64_t, uint64_t, uint64_t>;

/// begin, end, origin, base.
std::vector<Part> read(const Contents &contents, uint64_t begin, uint64_t end) {
  std::vector<Part> parts;
  contents.read({0, begin, end - begin, 0},
                [&](uint64_t at, const Contents::Piece &piece) {
                  parts.emplace_back(at, piece.end, piece.origin, piece.base);
                });
  return parts;
}

plan::Plan oneArena() {
  plan::Plan plan;
  plan.add_arenas();
  return plan;
}

TEST(Contents, NobodyWroteAnEmptyArena) {
  Contents contents(oneArena(), 0);
  EXPECT_EQ(read(contents, 4, 9), (std::vector<Part>{{4, 9, 0, 4}}));
  EXPECT_TRUE(read(contents, 4, 4).empty());
}

TEST(Contents, LaterWritesCutEarlierOnes) {
  Contents contents(oneArena(), 0);
  contents.write({0, 10, 20, 0}, 1); // [10, 30)
  contents.write({0, 15, 5, 0}, 2);  // [15, 20)
  contents.write({0, 28, 4, 0}, 3);  // [28, 32)
  contents.write({0, 40, 0, 0}, 4);  // nothing
  EXPECT_EQ(read(contents, 0, 50), (std::vector<Part>{{0, 10, 0, 0},
                                                      {10, 15, 1, 10},
                                                      {15, 20, 2, 15},
                                                      {20, 28, 1, 10},
                                                      {28, 32, 3, 28},
                                                      {32, 50, 0, 32}}));
  EXPECT_EQ(read(contents, 17, 22),
            (std::vector<Part>{{17, 20, 2, 15}, {20, 22, 1, 10}}));
  contents.write({0, 0, 50, 0}, 5);
  EXPECT_EQ(read(contents, 17, 22), (std::vector<Part>{{17, 22, 5, 0}}));
}

TEST(Contents, ARankSeesItsOwnPart) {
  Contents contents(oneArena(), 2);
  contents.write({0, 0, 8, 8}, 1); // [16, 24) on rank 2
  EXPECT_EQ(
      read(contents, 0, 32),
      (std::vector<Part>{{0, 16, 0, 0}, {16, 24, 1, 16}, {24, 32, 0, 24}}));
}

} // namespace
} // namespace zerograph
