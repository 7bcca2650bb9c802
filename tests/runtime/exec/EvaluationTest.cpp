//===- EvaluationTest.cpp - how samples to evaluate become micro-batches --===//

#include "runtime/exec/Evaluation.h"
#include "runtime/exec/TrainLog.h"
#include "tests/support/Says.h"

#include "gtest/gtest.h"

using namespace zerograph;

namespace {

std::vector<EvaluatedBlock> all(const EvaluatedBlocks &blocks) {
  std::vector<EvaluatedBlock> list;
  for (uint64_t i = 0; i < blocks.size(); ++i) {
    list.push_back(blocks[i]);
  }
  return list;
}

TEST(EvaluatedBlocks, WholeOnesThenPartsThatDivideThem) {
  using List = std::vector<EvaluatedBlock>;
  EXPECT_EQ(all({16, 8}), (List{{0, 8}, {8, 8}}));
  EXPECT_EQ(all({22, 8}), (List{{0, 8}, {8, 8}, {16, 4}, {20, 2}}));
  EXPECT_EQ(all({3, 8}), (List{{0, 2}, {2, 1}}));
  EXPECT_EQ(all({11, 6}), (List{{0, 6}, {6, 3}, {9, 2}}));
  EXPECT_EQ(all({3, 1}), (List{{0, 1}, {1, 1}, {2, 1}}));
}

TEST(EvaluatedBlocks, EverySampleCountsTheSame) {
  for (uint64_t micro_batch = 1; micro_batch <= 12; ++micro_batch) {
    for (uint64_t samples = 1; samples <= 40; ++samples) {
      EvaluatedBlocks blocks(samples, micro_batch);
      uint64_t next = 0;
      for (uint64_t i = 0; i < blocks.size(); ++i) {
        EXPECT_EQ(blocks[i].first, next);
        next += blocks[i].samples;
        // Copies fill the micro-batch.
        EXPECT_EQ(micro_batch % blocks[i].samples, 0u);
        EXPECT_EQ(blocks.weight(i),
                  double(blocks[i].samples) / double(micro_batch));
      }
      EXPECT_EQ(next, samples);
    }
  }
}

TEST(EvalRecord, IsPartOfTheStepThatItFollows) {
  StepRecord record;
  EXPECT_EQ(toJson(record).find("eval"), std::string::npos);
  EXPECT_EQ(numbersOf(record).size(), 3u);
  record.eval = EvalRecord{0.25, 22, 1.5};
  expectSays(toJson(record), "\"eval_loss\": 0.25, \"eval_samples\": 22, "
                             "\"eval_ms\": 1.5}");
  EXPECT_EQ(numbersOf(record).back().name, "eval_loss");
  EXPECT_EQ(numbersOf(record).back().value, 0.25);
}

} // namespace
