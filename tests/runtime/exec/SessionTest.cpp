//===- SessionTest.cpp - ranks that were not given the same ---------------===//

#include "LinearPlan.h"

#include "runtime/comm/local/LocalGroup.h"
#include "runtime/exec/RankRun.h"
#include "runtime/io/SafetensorsWriter.h"
#include "tests/support/Folder.h"
#include "tests/support/Says.h"
#include "tests/support/Threads.h"

#include "gtest/gtest.h"

#include <filesystem>
#include <thread>

using namespace zerograph;
using namespace zerograph::testing;

namespace {

void writeZeros(const std::string &path, const std::string &name,
                std::vector<uint64_t> shape, size_t elements) {
  auto writer =
      SafetensorsWriter::create(path, {{name, plan::F32, shape}}).value();
  std::vector<float> zeros(elements);
  ASSERT_TRUE(writer->write(name, 0, elements * 4, zeros.data()).ok());
  ASSERT_TRUE(writer->commit().ok());
}

/// Ranks are threads, and what is told need not be made for them.
TEST(Session, OneThreadSpeaksAtATime) {
  constexpr int kThreads = 4, kTexts = 20000;
  Session session;
  int said = 0, warned = 0;
  session.options.say = [&](const std::string &) { ++said; };
  session.options.warn = [&](const std::string &) {
    ++said;
    ++warned;
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int text = 0; text < kTexts; ++text) {
        session.say("a note");
        session.warn("a warning");
      }
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  EXPECT_EQ(said, 2 * kThreads * kTexts);
  EXPECT_EQ(warned, kThreads * kTexts);
}

/// One rank of another plan: all ranks end before the first step, and say
/// which of them differ.
TEST(Session, RanksWithDifferentPlansDoNotStart) {
  Folder owned;
  std::filesystem::path folder = owned.path;
  TrainOptions options;
  options.data = {folder / "data.safetensors"};
  options.load_weights = folder / "w.safetensors";
  options.save_weights = folder / "out.safetensors";
  options.threads = 1;
  options.quiet = true;
  options.handle_interrupt = false;
  writeZeros(options.data[0], "x", {60, 8}, 480);
  writeZeros(options.load_weights, "w", {500}, 500);

  constexpr unsigned kWorld = 3;
  LoadedPlan same = linearPlan({kWorld, 3, 1, false});
  plan::Plan changed = same.plan;
  changed.mutable_groups(0)->set_learning_rate(0.5);
  auto bytes = serializePlan(changed).value();
  auto other = parsePlan(bytes).value();
  ASSERT_NE(other.hash_hex, same.hash_hex);

  LocalGroupOptions group;
  group.world = kWorld;
  group.deadline = std::chrono::seconds(20);
  auto machine = Machine::open(same.plan).value();
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<std::unique_ptr<RankRun>> ranks;
  auto communicators = makeLocalGroup(group);
  for (auto &communicator : communicators) {
    auto session = openSession(sessions.size() == 1 ? other : same, options);
    ASSERT_TRUE(session.ok()) << session.status();
    sessions.push_back(*std::move(session));
    ranks.push_back(std::make_unique<RankRun>(*sessions.back(), machine,
                                              *communicator, *communicator));
  }
  std::vector<absl::Status> statuses(kWorld);
  onThreads(kWorld, [&](unsigned rank) {
    statuses[rank] = ranks[rank]->run().status();
  });
  for (unsigned rank = 0; rank < kWorld; ++rank) {
    std::string message(statuses[rank].message());
    expectSays(message, "different plans", "rank 1 has " + other.hash_hex);
    EXPECT_EQ(message.find("rank 2 has"), std::string::npos) << message;
  }
  ranks.clear();
  sessions.clear();
  EXPECT_FALSE(std::filesystem::exists(options.save_weights));
}

} // namespace
