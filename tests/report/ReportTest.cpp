//===- ReportTest.cpp - one page that shows a plan ------------------------===//

#include "report/Report.h"
#include "report/PlanColumns.h"
#include "runtime/plan/Inspect.h"
#include "runtime/plan/Memory.h"
#include "tests/runtime/plan/PlanBuilder.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace zerograph::report {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;
using ::testing::Not;

PageContent contentOf(plan::Plan plan) {
  PageContent content;
  content.plan.loaded.plan = std::move(plan);
  return content;
}

/// Returns the data in a page.
Json dataOf(const std::string &page) {
  const std::string kBegin = "id=\"data\">";
  size_t begin = page.find(kBegin) + kBegin.size();
  return Json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

TEST(Report, SaysWhatInspectSays) {
  PageContent content = contentOf(zerograph::testing::stageThreePlan());
  auto page = reportPage(content);
  ASSERT_TRUE(page.ok()) << page.status();
  Json data = dataOf(*page), facts = inspectFacts(content.plan.loaded).value();
  for (const char *key : {"memory", "traffic", "costs", "waste", "ranks"}) {
    EXPECT_EQ(data["plan"][key], facts[key]) << key;
  }
  EXPECT_EQ(*page, *reportPage(content));
}

TEST(Report, NamesOfAModelStayTexts) {
  plan::Plan plan = zerograph::testing::stageThreePlan();
  std::string name = "</script><script>alert(1)</script>/* scripts */";
  plan.set_model(name);
  auto page = reportPage(contentOf(plan));
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_THAT(*page, Not(HasSubstr("<script>alert")));
  EXPECT_EQ(dataOf(*page)["plan"]["model"], name);
}

TEST(Report, FetchesNothing) {
  auto page = reportPage(contentOf(zerograph::testing::stageThreePlan()));
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_THAT(*page, HasSubstr("default-src 'none'"));
  for (const char *fetches : {"http:", "https:", "src=", "url(", "@import"}) {
    EXPECT_THAT(*page, Not(HasSubstr(fetches)));
  }
}

TEST(PlanColumns, SlicesHaveAllBytes) {
  plan::Plan plan = zerograph::testing::stageThreePlan();
  Json columns = planColumns(plan, nullptr, nullptr);
  uint64_t bytes = 0, expected = 0;
  for (const Json &size : columns["slices"]["bytes"]) {
    bytes += size.get<uint64_t>();
  }
  for (const plan::Slice &slice : plan.slices()) {
    expected += slice.bytes();
  }
  EXPECT_EQ(bytes, expected);
}

TEST(PlanColumns, NeighborsOfOneNameAreOne) {
  plan::Plan plan;
  plan.add_devices();
  plan.add_arenas();
  auto slice = [&](const char *name, uint64_t offset, bool carried) {
    plan::Slice &added = *plan.add_slices();
    added.set_name(name);
    added.set_offset(offset);
    added.set_bytes(64);
    added.set_slice_class(plan::OPTIMIZER);
    added.set_carried(carried);
  };
  slice("state", 64, true);
  slice("state", 0, true);
  slice("other", 128, true);
  slice("other", 256, true); // not beside it
  slice("passes", 320, false);
  slice("passes", 384, false);
  Json slices = planColumns(plan, nullptr, nullptr)["slices"];
  EXPECT_EQ(slices["offset"], Json({0, 128, 256, 320, 384}));
  EXPECT_EQ(slices["bytes"], Json({128, 64, 64, 64, 64}));
}

TEST(PlanColumns, StepsHaveTheTimesThatAreKnown) {
  plan::Plan plan = zerograph::testing::stageThreePlan();
  size_t steps = size_t(plan.programs(0).steps_size());
  MeasuredRun run(1, std::vector<MeasuredStep>(steps, {2.0, 2.5, 0.25, true}));
  run[0][1] = {1.0, 1.5, 0, true};
  Json program = planColumns(plan, nullptr, &run)["programs"][0];
  EXPECT_FALSE(program.contains("predicted"));
  EXPECT_EQ(program["measured"]["begin"][0], 1000000000);
  EXPECT_EQ(program["measured"]["begin"][1], 0);
  EXPECT_EQ(program["measured"]["lasts"][1], 500000000);
  EXPECT_EQ(program["measured"]["waited"][0], 250000000);
}

} // namespace
} // namespace zerograph::report
