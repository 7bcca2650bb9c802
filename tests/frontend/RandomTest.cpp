//===- RandomTest.cpp - dropout, and what the user says of it -------------===//

#include "tests/frontend/Evaluate.h"
#include "tests/frontend/Fixture.h"

#include "absl/strings/str_cat.h"

namespace zerograph::frontend::testing {

namespace {

/// Two dropouts, the second of the first's result, at an operator set.
Imported importTwo(int opset, const std::string &inputs,
                   const std::string &attribute, ImportOptions options = {}) {
  return import(absl::StrCat("<ir_version: 8, opset_import: [\"\" : ", opset,
                             "]>\n", R"(
g (float[2, 3] x) => (float[2, 3] y, float[2, 3] z) {
  r = Constant <value = float {0.25}> ()
  t = Constant <value = bool {1}> ()
  [one] y, m = Dropout )",
                             attribute, " (x", inputs, R"()
  [two] a = Dropout )",
                             attribute, " (y", inputs, R"()
  f = Cast <to = 1> (m)
  z = Mul(a, f)
})"),
                options);
}

bool warns(const Imported &imported, const std::string &part) {
  for (const std::string &warning : imported.report.warnings) {
    if (warning.find(part) != std::string::npos) {
      return true;
    }
  }
  return false;
}

TEST(Dropout, HasRatioAndNumber) {
  for (int opset : {12, 13, 22}) {
    Imported imported = importTwo(opset, ", r, t", "");
    ASSERT_TRUE(imported.status.ok()) << imported.error();
    EXPECT_EQ(imported.count("nn.dropout"), 2);
    EXPECT_TRUE(imported.has("ratio 2.500000e-01 number 0")) << imported.text();
    EXPECT_TRUE(imported.has("ratio 2.500000e-01 number 1")) << imported.text();
    EXPECT_EQ(imported.report.notes,
              std::vector<std::string>{"2 dropouts with ratio 0.25"});
    EXPECT_TRUE(imported.report.warnings.empty());
  }
}

// training_mode alone: the ratio is 0.5.
TEST(Dropout, HasARatioByDefault) {
  Imported imported = importTwo(18, ", , t", "");
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_TRUE(imported.has("ratio 5.000000e-01 number 0"));
}

TEST(Dropout, IsOffWithoutTrainingMode) {
  Imported imported = importTwo(18, ", r", "");
  EXPECT_EQ(imported.count("nn.dropout"), 0);
  EXPECT_EQ(runAll(imported, {{1, 2, 3, 4, 5, 6}})[1],
            (Numbers{1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(imported.report.notes.empty());
}

TEST(Dropout, TakesTheUsersRatio) {
  ImportOptions options;
  options.dropout = 0.5;
  // The file has 0.25, has it off, cannot say that it is on.
  for (const Imported &imported :
       {importTwo(18, ", r, t", "", options), importTwo(18, ", r", "", options),
        importTwo(11, "", "<ratio = 0.25>", options),
        importTwo(7, "", "<ratio = 0.25>", options)}) {
    ASSERT_TRUE(imported.status.ok()) << imported.error();
    EXPECT_EQ(imported.count("nn.dropout"), 2);
    EXPECT_TRUE(imported.has("ratio 5.000000e-01 number 1"));
    EXPECT_TRUE(imported.report.warnings.empty());
  }
  options.dropout = 0;
  Imported off = importTwo(18, ", r, t", "", options);
  EXPECT_EQ(off.count("nn.dropout"), 0);
  EXPECT_EQ(off.report.notes, std::vector<std::string>{
                                  "2 dropouts are turned off by --dropout 0"});
}

TEST(Dropout, WithoutADropoutTheUsersRatioIsSaidToBeIdle) {
  ImportOptions options;
  options.dropout = 0.5;
  Imported imported =
      import("g (float[2] x) => (float[2] y) { y = Neg(x) }", options);
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_TRUE(warns(imported, "--dropout has no effect"));
}

TEST(Dropout, SaysThatItsSeedIsNotUsed) {
  Imported imported = importTwo(18, ", r, t", "<seed = 3>");
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  ASSERT_EQ(imported.report.notes.size(), 2u);
  EXPECT_NE(imported.report.notes[0].find("'seed' of Dropout is not used"),
            std::string::npos);
}

} // namespace

} // namespace zerograph::frontend::testing
