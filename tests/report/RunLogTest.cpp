//===- RunLogTest.cpp - what a run logged ---------------------------------===//

#include "report/RunLog.h"
#include "tests/support/Says.h"

#include "gtest/gtest.h"

namespace zerograph::report {
namespace {

TEST(RunLog, ColumnsAreAsLongAsTheLog) {
  auto columns = parseLog("{\"step\": 0, \"loss\": 4.5}\n"
                          "{\"step\": 1, \"loss\": null, \"eval_loss\": 3}\n"
                          "{\"step\": 2, \"lr\": 0.1, \"skipped\": true}\n");
  ASSERT_TRUE(columns.ok()) << columns.status();
  EXPECT_EQ(columns->dump(),
            R"({"step":[0,1,2],"loss":[4.5,null,null],)"
            R"("eval_loss":[null,3,null],"lr":[null,null,0.1],)"
            R"("grad_norm":[null,null,null],"loss_scale":[null,null,null],)"
            R"("step_ms":[null,null,null]})");
}

TEST(RunLog, MetricsHaveColumns) {
  auto columns =
      parseLog("{\"step\": 0, \"metrics\": 3}\n"
               "{\"step\": 1, \"metrics\": {\"a\": 0.5, \"b\": null}}\n"
               "{\"step\": 2, \"eval_metrics\": {\"a\": 2}}\n");
  ASSERT_TRUE(columns.ok()) << columns.status();
  EXPECT_EQ((*columns)["metrics/a"].dump(), "[null,0.5,null]");
  EXPECT_EQ((*columns)["metrics/b"].dump(), "[null,null,null]");
  EXPECT_EQ((*columns)["eval_metrics/a"].dump(), "[null,null,2]");
}

TEST(RunLog, ErrorsNameTheLine) {
  for (const char *second : {"{", "[]", "{\"loss\": 1}", "{\"step\": \"a\"}"}) {
    expectSays(parseLog(std::string("{\"step\": 0}\n") + second).status(),
               "line 2: expected one that train --log wrote");
  }
  expectSays(parseLog("\n").status(), "the log has no step");
}

} // namespace
} // namespace zerograph::report
