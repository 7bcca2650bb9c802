//===- LossDimsTest.cpp - which dims a loss takes for what ----------------===//

#include "frontend/base/Error.h"
#include "frontend/walk/ScoreDims.h"
#include "tests/frontend/Fixture.h"

#include "gmock/gmock.h"

namespace zerograph::frontend::testing {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Scores scores(const Shape &shape, const std::vector<std::string> &names = {},
              std::optional<int64_t> tracked = std::nullopt) {
  return {"y", shape, names, "n", tracked};
}

AddedLoss lossOf(const std::string &kind) {
  AddedLoss loss;
  loss.kind = options::findRow(options::kLosses, kind);
  return loss;
}

std::vector<int64_t> orderOf(const Scores &of, const std::string &given = "",
                             const std::string &kind = "cross_entropy") {
  return decideScoreDims(of, lossOf(kind), given).order(of.shape.size());
}

std::string refusalOf(const Scores &of, const std::string &given = "") {
  try {
    orderOf(of, given);
  } catch (const ImportError &error) {
    return error.what();
  }
  return "";
}

TEST(LossDims, ByDefaultSamplesLead) {
  EXPECT_THAT(orderOf(scores({2, 5})), ElementsAre(0, 1));
  EXPECT_THAT(orderOf(scores({2, 4, 5})), ElementsAre(0, 1, 2));
  EXPECT_THAT(orderOf(scores({2, 5, 3, 3})), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(orderOf(scores({}), "", "mse"), ElementsAre());
}

TEST(LossDims, TheFileOrTheProgramSaysWhereSamplesAre) {
  EXPECT_THAT(orderOf(scores({8, 8, 4}, {"", "n", ""})), ElementsAre(1, 0, 2));
  EXPECT_THAT(orderOf(scores({8, 8, 4}, {}, 1)), ElementsAre(1, 0, 2));
  EXPECT_THAT(orderOf(scores({8, 8, 4}, {"", "n", ""}, 1), "", "mse"),
              ElementsAre(1, 0, 2));
  EXPECT_THAT(orderOf(scores({4, 8}, {"", "n"})), ElementsAre(1, 0));
}

TEST(LossDims, TheFileSaysWhereClassesAre) {
  EXPECT_THAT(orderOf(scores({2, 3, 3, 3}, {"n", "", "", "classes"})),
              ElementsAre(0, 3, 1, 2));
  EXPECT_THAT(orderOf(scores({2, 5, 5}, {"", "classes", ""})),
              ElementsAre(0, 2, 1));
  EXPECT_THAT(
      orderOf(scores({2, 5, 5}, {"", "classes", ""}), "batch,length,classes"),
      ElementsAre(0, 1, 2));
}

TEST(LossDims, TheOptionNamesThem) {
  EXPECT_THAT(orderOf(scores({4, 2, 5}), "time,batch,classes"),
              ElementsAre(1, 0, 2));
  EXPECT_THAT(orderOf(scores({2, 5, 4}), "batch,classes,length"),
              ElementsAre(0, 2, 1));
  EXPECT_THAT(orderOf(scores({2, 3, 3, 5}), "batch,h,w,classes"),
              ElementsAre(0, 3, 1, 2));
  EXPECT_THAT(orderOf(scores({4, 2, 5}), "time,batch,features", "mse"),
              ElementsAre(1, 0, 2));
}

TEST(LossDims, WhatIsNotCertainIsRefused) {
  EXPECT_THAT(refusalOf(scores({2, 5, 5})),
              HasSubstr("which dim of 'y' 2x5x5 is the classes? Dims 1 and 2 "
                        "have one size: give --loss-dims"));
  EXPECT_THAT(refusalOf(scores({2, 5, 4}, {"n", "", "t"})),
              HasSubstr("'y' 2x5x4 (n, 5, t) is the classes? The file leaves "
                        "the size of dim 2 open"));
  EXPECT_THAT(refusalOf(scores({6, 2, 3, 5}, {"", "n", "", ""})),
              HasSubstr("Dim 1 is the samples, and there are 3 others: give "
                        "--loss-dims, as time,batch,classes"));
  EXPECT_EQ(refusalOf(scores({2, 5, 5}, {"n", "t", ""})), "");
  EXPECT_EQ(refusalOf(scores({2, 5, 5}), "batch,length,classes"), "");
}

TEST(LossDims, ContradictionsAreRefused) {
  EXPECT_THAT(refusalOf(scores({8, 8, 4}, {"n", "", ""}, 1)),
              HasSubstr("the file's names say that dim 0 of 'y' 8x8x4 (n, 8, "
                        "4) holds the samples, but they are in dim 1 as "
                        "followed from the inputs"));
  EXPECT_THAT(refusalOf(scores({8, 8, 4}, {"", "n", ""}), "batch,time,classes"),
              HasSubstr("--loss-dims batch,time,classes says that dim 0"));
  for (const char *given : {"batch,classes", "batch,classes,batch",
                            "time,batch,features", "batch,time,classes,more"}) {
    EXPECT_THAT(refusalOf(scores({8, 6, 4}), given),
                HasSubstr(std::string("--loss-dims ") + given));
  }
}

// The program follows the samples where the file has no names.
TEST(LossDims, SamplesAreFollowed) {
  ImportOptions options;
  options.added_loss = "cross_entropy";
  options.dims["n"] = 8;
  Imported imported = import(R"(
g (float[n, 8, 3] x) => (float[8, 8, 4] logits) <float[3, 4] w = {1,2,3,4,5,6,7,8,9,10,11,12}>
{
  t = Transpose<perm = [1, 0, 2]>(x)
  logits = MatMul(t, w)
})",
                             options);
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_THAT(imported.report.notes,
              ::testing::Contains(HasSubstr(
                  "whose dim 1 is samples and dim 2 is classes, with input "
                  "'labels' 8x8")));
  // Labels have samples in front.
  EXPECT_TRUE(imported.has("[1, 0, 2] : tensor<8x8x4xf32>")) << imported.text();
}

} // namespace

} // namespace zerograph::frontend::testing
