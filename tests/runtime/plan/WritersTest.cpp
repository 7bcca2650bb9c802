//===- WritersTest.cpp - which step wrote the bytes of an arena ----------===//

#include "runtime/plan/Writers.h"

#include "gtest/gtest.h"

#include <tuple>

namespace zerograph {
namespace {

using Part = std::tuple<uint64_t, uint64_t, uint64_t, uint64_t>;

/// begin, end, origin, base.
std::vector<Part> read(const Writers &writers, uint64_t begin, uint64_t end) {
  std::vector<Part> parts;
  writers.read({0, begin, end - begin, 0},
               [&](uint64_t at, const Writers::Piece &piece) {
                 parts.emplace_back(at, piece.end, piece.origin, piece.base);
               });
  return parts;
}

plan::Plan oneArena() {
  plan::Plan plan;
  plan.add_arenas();
  return plan;
}

TEST(Writers, NobodyWroteAnEmptyArena) {
  Writers writers(oneArena(), 0);
  EXPECT_EQ(read(writers, 4, 9), (std::vector<Part>{{4, 9, 0, 4}}));
  EXPECT_TRUE(read(writers, 4, 4).empty());
}

TEST(Writers, LaterWritesCutEarlierOnes) {
  Writers writers(oneArena(), 0);
  writers.write({0, 10, 20, 0}, 1); // [10, 30)
  writers.write({0, 15, 5, 0}, 2);  // [15, 20)
  writers.write({0, 28, 4, 0}, 3);  // [28, 32)
  writers.write({0, 40, 0, 0}, 4);  // nothing
  EXPECT_EQ(read(writers, 0, 50), (std::vector<Part>{{0, 10, 0, 0},
                                                     {10, 15, 1, 10},
                                                     {15, 20, 2, 15},
                                                     {20, 28, 1, 10},
                                                     {28, 32, 3, 28},
                                                     {32, 50, 0, 32}}));
  EXPECT_EQ(read(writers, 17, 22),
            (std::vector<Part>{{17, 20, 2, 15}, {20, 22, 1, 10}}));
  writers.write({0, 0, 50, 0}, 5);
  EXPECT_EQ(read(writers, 17, 22), (std::vector<Part>{{17, 22, 5, 0}}));
}

TEST(Writers, ARankSeesItsOwnPart) {
  Writers writers(oneArena(), 2);
  writers.write({0, 0, 8, 8}, 1); // [16, 24) on rank 2
  EXPECT_EQ(
      read(writers, 0, 32),
      (std::vector<Part>{{0, 16, 0, 0}, {16, 24, 1, 16}, {24, 32, 0, 24}}));
}

} // namespace
} // namespace zerograph
