//===- TraceTest.cpp - the file that says when steps ran ------------------===//

#include "runtime/exec/RankReport.h"

#include <nlohmann/json.hpp>

#include "gtest/gtest.h"

#include <cstdio>
#include <fstream>
#include <map>

using namespace zerograph;

namespace {

/// A step beside another of its stream gets a thread of its own in the file;
/// each keeps its time.
TEST(TraceTest, StepsSideBySideDoNotOverlapInAThread) {
  plan::Plan plan;
  for (const char *name : {"compute", "gather"}) {
    plan.add_streams()->set_name(name);
  }
  plan::Program &program = *plan.add_programs();
  program.set_name("step");
  std::vector<StepTime> times;
  auto step = [&](const char *name, int stream, int64_t begin, int64_t end) {
    plan::Step &added = *program.add_steps();
    added.set_name(name);
    added.set_stream(stream);
    added.mutable_fill();
    times.push_back({begin, end});
  };
  step("alone", 0, 1000, 2000);
  step("first", 0, 2000, 4000);
  step("beside", 0, 2500, 5000);
  step("also beside", 0, 3000, 4500);
  step("other stream", 1, 2000, 6000);
  step("after", 0, 5000, 7000);

  std::string path = ::testing::TempDir() + "lanes.json";
  auto file = TraceFile::open(path).value();
  ASSERT_TRUE(file->write(plan, {{times}}).ok());
  file.reset();
  std::map<std::string, std::string> thread_of; // by step
  std::map<int, std::string> threads;
  std::map<std::string, std::pair<double, double>> spans;
  auto trace = nlohmann::json::parse(std::ifstream(path));
  for (const auto &event : trace["traceEvents"]) {
    if (event["name"] == "thread_name") {
      threads[event["tid"]] = event["args"]["name"];
    }
  }
  for (const auto &event : trace["traceEvents"]) {
    if (event["ph"] == "X") {
      thread_of[event["name"]] = threads[event["tid"]];
      spans[event["name"]] = {event["ts"], event["dur"]};
    }
  }
  EXPECT_EQ(thread_of, (std::map<std::string, std::string>{
                           {"alone", "compute"},
                           {"first", "compute"},
                           {"beside", "compute, beside 1"},
                           {"also beside", "compute, beside 2"},
                           {"other stream", "gather"},
                           {"after", "compute"}}));
  EXPECT_EQ(spans["also beside"], (std::pair<double, double>{2.0, 1.5}));
  std::remove(path.c_str());
}

/// An arrow goes from each step that is waited for, and memory counts from the
/// first use of a slice to the last.
TEST(TraceTest, HasArrowsAndMemory) {
  plan::Plan plan;
  plan.add_streams()->set_name("compute");
  plan.add_streams()->set_name("gather");
  plan.add_arenas()->set_space(plan::DEVICE);
  plan.add_arenas()->set_space(plan::HOST);
  for (uint64_t bytes : {100, 20, 8, 7000}) {
    plan.add_slices()->set_bytes(bytes);
  }
  plan.mutable_slices(1)->set_offset(100);
  plan.mutable_slices(2)->set_offset(115); // 5 of its bytes are of slice 1
  plan.mutable_slices(0)->set_carried(true);
  plan.mutable_slices(3)->set_arena(1);
  plan::Program &program = *plan.add_programs();
  std::vector<StepTime> times;
  auto step = [&](uint32_t stream, std::vector<uint32_t> slices, int64_t begin,
                  int64_t end) -> plan::Step & {
    plan::Step &added = *program.add_steps();
    added.set_stream(stream);
    added.mutable_copy();
    for (uint32_t slice : slices) {
      added.add_accesses()->set_slice(slice);
    }
    times.push_back({begin, end, {}});
    return added;
  };
  step(1, {0, 1}, 1000, 3000);
  step(0, {3, 2}, 2000, 4000);
  step(0, {1}, 4000, 6000).add_waits(0);

  std::string path = ::testing::TempDir() + "arrows.json";
  auto file = TraceFile::open(path).value();
  ASSERT_TRUE(file->write(plan, {{times}}).ok());
  file.reset();
  auto trace = nlohmann::json::parse(std::ifstream(path));
  std::remove(path.c_str());
  std::map<std::string, std::pair<double, int>> ends; // time and thread
  std::vector<std::pair<double, int64_t>> memory;
  for (const auto &event : trace["traceEvents"]) {
    if (event.value("cat", "") == "await") {
      ends[event["ph"]] = {event["ts"], event["tid"]};
    } else if (event["ph"] == "C") {
      memory.emplace_back(event["ts"], event["args"]["bytes"]);
    }
  }
  EXPECT_EQ(ends["s"], (std::pair<double, int>(1.999, 1)));
  EXPECT_EQ(ends["f"], (std::pair<double, int>(3, 0)));
  EXPECT_EQ(memory, (std::vector<std::pair<double, int64_t>>{
                        {0, 120}, {1, 123}, {3, 120}, {5, 100}}));
}

/// Rank 1 is another process of rank 0's machine, and rank 2 one of a machine
/// whose clock began at another time.
TEST(TraceTest, RanksOfAllMachinesHaveOneClock) {
  constexpr int64_t kSecond = 1'000'000'000;
  StepTimes times = {{{100, 900, {200, 800}}, {900, 1000, {}}}};
  std::vector<exec::RankReport> reports(3);
  for (exec::RankReport &report : reports) {
    add(times, report);
  }
  reports[0].set_ready(50);
  reports[1].set_ready(50 + kSecond / 2);
  reports[2].set_ready(50 - 5 * kSecond);
  std::vector<StepTimes> found = timesByOneClock(reports);
  ASSERT_EQ(found.size(), 3u);
  for (size_t rank : {0, 1, 2}) {
    int64_t shift = rank == 2 ? 5 * kSecond : 0;
    const StepTime &waited = found[rank].at(0).at(0);
    EXPECT_EQ(waited.begin, 100 + shift);
    EXPECT_EQ(waited.end, 900 + shift);
    EXPECT_EQ(waited.work.begin, 200 + shift);
    EXPECT_EQ(waited.work.end, 800 + shift);
    const StepTime &unknown = found[rank].at(0).at(1);
    EXPECT_EQ(unknown.end, 1000 + shift);
    EXPECT_EQ(unknown.work.begin, 0);
  }
}

} // namespace
