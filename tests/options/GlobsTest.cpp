//===- GlobsTest.cpp - patterns of names ----------------------------------===//

#include "options/Globs.h"

#include "gtest/gtest.h"

namespace zerograph::options {
namespace {

TEST(Globs, WholeNames) {
  EXPECT_TRUE(matches("*.bias", "h.0.bias"));
  EXPECT_FALSE(matches("*.bias", "h.0.bias.scale"));
  EXPECT_TRUE(matches("h.?.w[ab]", "h.1.wb"));
  EXPECT_FALSE(matches("h.?", "h.10"));
  EXPECT_TRUE(matches("a\\[1\\]", "a[1]"));
}

TEST(Globs, EitherOfSeveral) {
  EXPECT_TRUE(matches("@(*.bias|head.*)", "h.0.bias"));
  EXPECT_TRUE(matches("@(*.bias|head.*)", "head.weight"));
  EXPECT_FALSE(matches("@(*.bias|head.*)", "h.0.weight"));
}

} // namespace
} // namespace zerograph::options
