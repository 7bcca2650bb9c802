//===- EqualBlocksTest.cpp - models of fewer layers -----------------------===//

#include "tools/compiler/EqualBlocks.h"

#include "mlir/IR/Verifier.h"
#include "tests/support/Program.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

#include <gtest/gtest.h>

namespace zerograph {
namespace {

using mlir::zg::nn::ProgramOp;
using mlir::zg::testing::Program;

/// Returns the text of a model of so many blocks. Each is `block`, where `#` is
/// its number, `<` that of the block before it, and `!` the one before that;
/// %x# is what the block makes, %x0 the input. Then comes `end`.
std::string modelOf(int blocks, const std::string &block,
                    const std::string &end) {
  std::string text = "nn.program @forward(%x0: tensor<4xf32>, "
                     "%all: tensor<4xf32>";
  for (int i = 1; i <= blocks; ++i) {
    absl::StrAppend(&text, ", %w", i, ": tensor<4xf32>");
  }
  absl::StrAppend(&text, ") -> (tensor<4xf32> {nn.output = \"y\"}, "
                         "tensor<4xf32> {nn.output = \"seen\"}) {\n");
  absl::StrAppend(&text, "  %shared = nn.unary tanh %all : tensor<4xf32> "
                         "-> tensor<4xf32>\n");
  for (int i = 1; i <= blocks; ++i) {
    absl::StrAppend(
        &text,
        absl::StrReplaceAll(block, {{"#", absl::StrCat(i)},
                                    {"<", absl::StrCat(i - 1)},
                                    {"!", absl::StrCat(std::max(0, i - 2))}}));
  }
  absl::StrAppend(&text,
                  absl::StrReplaceAll(end, {{"#", absl::StrCat(blocks)},
                                            {"<", absl::StrCat(blocks - 1)}}));
  return text + "}\n";
}

const char *const kBlock = R"(
  %a# = nn.binary mul %x<, %w# : tensor_4xf32_
  %b# = nn.binary add %a#, %shared : tensor_4xf32_
  %x# = nn.binary add %b#, %x< : tensor_4xf32_
)";
const char *const kEnd = R"(
  %y = nn.unary exp %x# : tensor_4xf32_ -> tensor_4xf32_
  nn.return %y, %x# : tensor_4xf32_, tensor_4xf32_
)";

/// A model that is parsed: its text has `_` for the `<` and `>` of types.
struct Model {
  explicit Model(const std::string &text)
      : parsed(absl::StrReplaceAll(text, {{"tensor_4xf32_", "tensor<4xf32>"},
                                          {"tensor_4xi1_", "tensor<4xi1>"}})) {
    EXPECT_TRUE(parsed.ok()) << parsed.diagnostics();
  }
  Model(int blocks, const std::string &block, const std::string &end = kEnd)
      : Model(modelOf(blocks, block, end)) {}

  ProgramOp program() { return parsed.function("forward"); }
  EqualBlocks run() { return findEqualBlocks(program()); }
  size_t keep(size_t kept) {
    size_t blocks = keepBlocks(program(), kept);
    EXPECT_TRUE(mlir::succeeded(mlir::verify(parsed.getModule())))
        << parsed.text();
    return blocks;
  }

  Program parsed;
};

TEST(EqualBlocks, AreFoundAmongOtherOperations) {
  EqualBlocks run = Model(5, kBlock).run();
  EXPECT_EQ(run.begin, 1u);
  EXPECT_EQ(run.length, 3u);
  EXPECT_EQ(run.count, 5u);
}

TEST(EqualBlocks, TwoAreNone) { EXPECT_EQ(Model(2, kBlock).run().count, 0u); }

TEST(EqualBlocks, OfWhichSomeAreKeptMakeTheModelOfThatLength) {
  Model model(7, kBlock), shorter(3, kBlock);
  EXPECT_EQ(model.keep(3), 7u);
  EXPECT_EQ(model.parsed.text(), shorter.parsed.text());
}

TEST(EqualBlocks, AreLeftAloneWhereThereAreNoMore) {
  Model model(4, kBlock), same(4, kBlock);
  EXPECT_EQ(model.keep(4), 4u);
  EXPECT_EQ(model.parsed.text(), same.parsed.text());
}

TEST(EqualBlocks, MayDrawOtherRandomNumbers) {
  std::string block =
      absl::StrCat(kBlock, "  %d#, %m# = nn.dropout %x# ratio 0.1 number # : "
                           "tensor_4xf32_ -> tensor_4xi1_\n");
  EXPECT_EQ(Model(4, block).keep(3), 4u);
}

TEST(EqualBlocks, DifferWhereAnAttributeDoes) {
  std::string block =
      absl::StrCat(kBlock, "  %d#, %m# = nn.dropout %x# ratio 0.# number 1 : "
                           "tensor_4xf32_ -> tensor_4xi1_\n");
  EXPECT_EQ(Model(4, block).run().count, 0u);
}

/// A result that a removed block has made goes with it.
TEST(EqualBlocks, MayMakeResults) {
  Model model(5, kBlock, R"(
  %y = nn.unary exp %x# : tensor_4xf32_ -> tensor_4xf32_
  nn.return %y, %a< : tensor_4xf32_, tensor_4xf32_
)");
  EXPECT_EQ(model.keep(3), 5u);
  EXPECT_EQ(model.program().getNumResults(), 1u);
}

TEST(EqualBlocks, StayWhereTheirMiddleIsReadLater) {
  Model model(5, kBlock, R"(
  %y = nn.binary add %x#, %b< : tensor_4xf32_
  nn.return %y, %x# : tensor_4xf32_, tensor_4xf32_
)");
  std::string before = model.parsed.text();
  EXPECT_EQ(model.keep(3), 0u);
  EXPECT_EQ(model.parsed.text(), before);
}

/// A layer that reads the last but one is half a block.
TEST(EqualBlocks, ReadNoFurtherBackThanTheBlockBefore) {
  Model model(6, R"(
  %a# = nn.binary mul %x<, %w# : tensor_4xf32_
  %x# = nn.binary add %a#, %x! : tensor_4xf32_
)");
  EqualBlocks run = model.run();
  EXPECT_EQ(run.length, 4u);
  EXPECT_EQ(run.count, 3u);
}

TEST(EqualBlocks, BeginWhereTheyReadAlike) {
  // The third block reads its own product in place of what all share.
  Model model(absl::StrReplaceAll(modelOf(6, kBlock, kEnd),
                                  {{"%a3, %shared", "%a3, %a3"}}));
  EqualBlocks run = model.run();
  EXPECT_EQ(run.begin, 1u + 3 * 3);
  EXPECT_EQ(run.count, 3u);
}

TEST(EqualBlocks, HaveAParameterEachOrAllTheSame) {
  std::string own = modelOf(6, kBlock, kEnd);
  for (bool pairs : {false, true}) { // the first two share one, or each two do
    std::string text = own;
    for (int i = 2; i <= (pairs ? 6 : 2); i += 2) {
      text = absl::StrReplaceAll(
          text, {{absl::StrCat("%x", i - 1, ", %w", i, " "),
                  absl::StrCat("%x", i - 1, ", %w", i - 1, " ")}});
    }
    EqualBlocks run = Model(text).run();
    EXPECT_EQ(run.length, pairs ? 6u : 3u); // two layers are a block
    EXPECT_EQ(run.count, pairs ? 3u : 4u);
  }
}

TEST(EqualBlocks, AreTrainedAllOrNone) {
  std::string text = modelOf(8, kBlock, kEnd);
  for (int i = 1; i <= 8; ++i) {
    std::string name = absl::StrCat("%w", i, ": tensor<4xf32>");
    text = absl::StrReplaceAll(
        text,
        {{name, absl::StrCat(name, " {nn.parameter = #nn.parameter<\"w", i,
                             "\", module = \"m\", trainable = ",
                             i > 3 ? "true" : "false", ", init = normal>}")}});
  }
  EqualBlocks run = Model(text).run();
  EXPECT_EQ(run.begin, 1u + 3 * 3);
  EXPECT_EQ(run.count, 5u);
}

/// Each block makes a result: the last one's is that of the last that stays.
TEST(EqualBlocks, KeepTheResultsOfThoseThatStay) {
  Model model(absl::StrReplaceAll(
      modelOf(5, kBlock, R"(
  nn.return %x#, %a3, %a#, %a< : tensor_4xf32_, tensor_4xf32_, tensor_4xf32_,
      tensor_4xf32_
)"),
      {{"-> (tensor<4xf32> {nn.output = \"y\"}, tensor<4xf32> "
        "{nn.output = \"seen\"})",
        "-> (tensor<4xf32> {nn.output = \"y\"}, tensor<4xf32>, tensor<4xf32>, "
        "tensor<4xf32>)"}}));
  EXPECT_EQ(model.keep(3), 5u);
  // %x3 and %a3.
  EXPECT_EQ(model.program().getNumResults(), 2u);
}

} // namespace
} // namespace zerograph
