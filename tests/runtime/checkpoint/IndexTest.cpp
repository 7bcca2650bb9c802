//===- IndexTest.cpp - the index of a checkpoint --------------------------===//

#include "runtime/checkpoint/Index.h"
#include "runtime/checkpoint/Folder.h"
#include "tests/support/Says.h"

#include "gtest/gtest.h"

using namespace zerograph;

namespace {

/// Two ranks; "w" in two pieces, its state in one, "mean" of each rank.
CheckpointIndex sample() {
  CheckpointIndex index;
  index.run.steps = 7;
  index.run.updates = 6;
  index.run.seed = ~uint64_t(0);
  index.run.shuffle = 3;
  index.run.samples = 100;
  index.run.samples_per_step = 4;
  index.run.micro_batch = 2;
  index.run.optimizer = "adamw";
  index.run.settings = R"({"groups":[{"learning_rate":0.001}]})";
  index.run.adapters = {{"r", "8"}};
  index.run.loss_scale = SavedLossScale{65536, 7, 2, 1};
  index.run.ranks = 2;
  index.run.time = "2026-01-01T00:00:00Z";
  index.files = {{shardName(0), 100 + 40 + 64, 100, 11},
                 {shardName(1), 90 + 24 + 64 + 64, 90, 12}};
  index.tensors = {
      {"mean", "param", plan::F32, plan::F32, {16}, 0u, {{0, 140, 0, 16, {1}}}},
      {"mean", "param", plan::F32, plan::F32, {16}, 1u, {{1, 114, 0, 16, {2}}}},
      {"w",
       "master",
       plan::F32,
       plan::BF16,
       {4, 4},
       std::nullopt,
       {{0, 100, 0, 10, {~uint64_t(0)}}, {1, 90, 10, 6, {4}}}},
      {"w",
       "exp_avg",
       plan::F32,
       plan::BF16,
       {4, 4},
       std::nullopt,
       {{1, 178, 0, 16, {0}}}},
  };
  return index;
}

absl::Status parsed(const CheckpointIndex &index) {
  return parseIndex("f", textOf(index)).status();
}

TEST(IndexTest, IsReadAsItWasWritten) {
  CheckpointIndex index = sample();
  auto again = parseIndex("f", textOf(index));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, index);
  index.run.shuffle.reset();
  index.run.loss_scale.reset();
  index.run.adapters.clear();
  again = parseIndex("f", textOf(index));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, index);
}

TEST(IndexTest, AnyByteThatChangesIsFound) {
  std::string text = textOf(sample());
  for (size_t i = 0; i < text.size(); ++i) {
    for (char bit : {1, 32}) {
      std::string changed = text;
      changed[i] = char(changed[i] ^ bit);
      EXPECT_FALSE(parseIndex("f", changed).ok()) << i;
    }
    EXPECT_FALSE(parseIndex("f", text.substr(0, i)).ok()) << i;
  }
  EXPECT_FALSE(parseIndex("f", text + " ").ok());
}

/// A text with the right checksum that says what cannot be.
TEST(IndexTest, WhatCannotBeIsRefused) {
  struct {
    void (*change)(CheckpointIndex &);
    const char *message;
  } cases[] = {
      {[](CheckpointIndex &i) { i.run.updates = 8; }, "'updates' up to 7"},
      {[](CheckpointIndex &i) { i.run.ranks = 0; }, "no ranks"},
      {[](CheckpointIndex &i) { i.run.ranks = 1; }, "none of 1 ranks writes"},
      {[](CheckpointIndex &i) { i.run.ranks = 3; }, "2 files of 3 ranks"},
      {[](CheckpointIndex &i) { i.run.loss_scale->scale = -1; },
       "none that a run can have"},
      {[](CheckpointIndex &i) { i.files[0].name = "../secret"; },
       "a file is named '../secret'"},
      {[](CheckpointIndex &i) { i.files[0].header_bytes = 1000; },
       "'header_bytes' up to 204"},
      {[](CheckpointIndex &i) { i.files[0].bytes += 4; },
       "its pieces end at byte 204 of 208"},
      {[](CheckpointIndex &i) { i.tensors[2].pieces[1].file = 2; },
       "is in file 2 of 2"},
      {[](CheckpointIndex &i) { i.tensors[2].pieces[1].first = 9; },
       "begins at element 9, expected 10"},
      {[](CheckpointIndex &i) { i.tensors[2].pieces.pop_back(); },
       "'w' (master): its pieces end at element 10 of 16"},
      {[](CheckpointIndex &i) { i.tensors[2].pieces[1].elements = 7; },
       "'elements' up to 6"},
      {[](CheckpointIndex &i) { i.tensors[2].pieces[1].elements = 0; },
       "0 elements at byte"},
      {[](CheckpointIndex &i) { i.tensors[3].pieces[0].offset = ~0ull >> 2; },
       "elements at byte"},
      {[](CheckpointIndex &i) { i.tensors[3].pieces[0].offset = 174; },
       "a piece begins at byte 174, expected 178"},
      {[](CheckpointIndex &i) {
         i.tensors[3].pieces[0].checksums = {1, 2};
       },
       "has 2 checksums, expected 1"},
      {[](CheckpointIndex &i) {
         i.tensors[3].shape = {1ull << 40, 1ull << 40};
       },
       "cannot be"},
      {[](CheckpointIndex &i) { i.tensors[3].name = ""; }, "cannot be"},
      {[](CheckpointIndex &i) { i.tensors[1].rank = 2; }, "'rank' up to 1"},
      {[](CheckpointIndex &i) { std::swap(i.tensors[0], i.tensors[3]); },
       "not in order"},
      {[](CheckpointIndex &i) { i.tensors.push_back(i.tensors.back()); },
       "there twice"},
  };
  for (const auto &one : cases) {
    CheckpointIndex index = sample();
    one.change(index);
    absl::Status status = parsed(index);
    EXPECT_NE(status.message().find(one.message), std::string::npos)
        << one.message << ": " << status;
    EXPECT_EQ(status.message().substr(0, 2), "f:");
  }
}

TEST(IndexTest, PartsBecomeAWhole) {
  CheckpointIndex whole = sample();
  std::vector<CheckpointIndex> parts(2);
  for (uint32_t rank = 0; rank < 2; ++rank) {
    CheckpointIndex &part = parts[rank];
    part.run = whole.run;
    part.files = {whole.files[rank]};
    for (CheckpointTensor tensor : whole.tensors) {
      std::vector<CheckpointPiece> own;
      for (CheckpointPiece piece : tensor.pieces) {
        if (piece.file == rank) {
          piece.file = 0;
          own.push_back(piece);
        }
      }
      tensor.pieces = own;
      if (!own.empty()) {
        part.tensors.push_back(tensor);
      }
    }
    auto again = parseIndexPart("f", textOf(part)).value();
    EXPECT_EQ(again, part);
    EXPECT_FALSE(parseIndex("f", textOf(part)).ok());
  }
  auto merged = mergeIndex("f", parts).value();
  EXPECT_EQ(merged, whole);
  EXPECT_FALSE(mergeIndex("f", {parts[0]}).ok());
  parts[1].run.steps = 8;
  expectSays(mergeIndex("f", parts).status(), "different runs");
}

} // namespace
