//===- Harness.cpp - compiles and trains a model inside a test ------------===//

#include "tests/e2e/Harness.h"

#include "runtime/plan/Memory.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/PlanFile.h"
#include "runtime/plan/Traffic.h"
#include "runtime/plan/Validate.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace zerograph::testing {
namespace {

CompileOptions compileOptions(const Training &training,
                              const Reference &reference) {
  ReferenceRun run =
      (training.settings.empty() ? reference : loadReference(training.settings))
          .runs.at(training.run);
  CompileOptions options;
  options.model =
      absl::StrCat(ZEROGRAPH_MODELS, "/", training.model, "/", training.file);
  options.dims["batch"] =
      training.micro_batch
          ? training.micro_batch
          : reference.global_batch / training.ranks / training.accumulate;
  if (reference.has_sequence) {
    options.dims["seq"] = training.sequence;
  }
  options.ranks = training.ranks;
  options.zero_stage = training.zero_stage;
  options.accumulate = training.accumulate;
  options.bucket_bytes = training.bucket_bytes;
  options.prefetch = training.prefetch;
  options.persistence_threshold = training.persistence_threshold;
  options.dump_gradients = training.gradients;
  options.evaluate = training.evaluates;
  options.matmul = training.matmul;
  options.convolution = training.convolution;
  options.reduction = training.reduction;
  options.recompute = training.recompute;
  options.reduce = training.reduce;
  options.loss_mean = training.loss_mean;
  options.target = training.target;
  options.precision = training.precision;
  options.allow_tf32 = training.allow_tf32;
  options.dropout = training.dropout;
  options.optimizer = run.optimizer;
  options.lr = run.lr;
  options.momentum = run.momentum;
  options.nesterov = run.nesterov;
  options.betas = absl::StrFormat("%.17g,%.17g", run.beta1, run.beta2);
  options.eps = run.epsilon;
  options.weight_decay = run.weight_decay;
  options.lora = training.lora;
  options.lamb_min_coeff = run.coefficients.front();
  options.lamb_max_coeff = run.coefficients.back();
  options.clip_norm = training.clip_norm.value_or(run.max_norm);
  options.group = run.groups;
  options.no_decay = run.no_decay;
  if (run.total_steps > 0) {
    options.schedule = "cosine";
    options.total_steps = run.total_steps;
    options.warmup_steps = run.warmup_steps;
    options.min_lr = run.min_lr;
  }
  if (training.also) {
    training.also(options);
  }
  return options;
}

/// Arena bytes allocated, the highest byte touched, and bytes received are
/// those that the plan predicts, on every rank.
void expectAccount(const plan::Plan &plan, const TrainResult &result,
                   const std::string &what) {
  Traffic planned = trafficOf(plan);
  HostTransfers crossing = hostTransfersOf(plan);
  EXPECT_EQ(result.ranks.size(), worldOf(plan)) << what;
  for (const exec::RankReport &rank : result.ranks) {
    uint64_t bytes = 0;
    for (int arena = 0; arena < plan.arenas_size(); ++arena) {
      bytes += plan.arenas(arena).bytes();
      // A library may leave the end of working space on top unused.
      EXPECT_LE(rank.touched(arena), peakOf(plan, int(arena))) << what;
      // Padding of a frozen shard is zeros that nobody writes: a hole in a
      // file.
      bool isFile = plan.arenas(arena).space() == plan::NVME;
      EXPECT_GE(rank.touched(arena) + (isFile ? kFilePage : 0),
                writtenEnd(plan, arena))
          << what;
    }
    EXPECT_EQ(rank.arena_bytes(), bytes) << what;
    EXPECT_EQ(rank.first_step().gather(), planned.gather.saturated()) << what;
    EXPECT_EQ(rank.first_step().reduce(), planned.reduce.saturated()) << what;
    EXPECT_EQ(rank.first_step().scalar(), planned.scalar.saturated()) << what;
    EXPECT_EQ(rank.first_crossing().down(), crossing.down.saturated()) << what;
    EXPECT_EQ(rank.first_crossing().up(), crossing.up.saturated()) << what;
    EXPECT_EQ(rank.first_crossing().read(), crossing.read.saturated()) << what;
    EXPECT_EQ(rank.first_crossing().written(), crossing.written.saturated())
        << what;
  }
}

} // namespace

std::string Training::describe() const {
  return absl::StrCat(
      model, "/", file, " ", run, " ranks ", ranks, " stage ", zero_stage,
      " micro-batch ", micro_batch, " accumulate ", accumulate, " bucket ",
      bucket_bytes, " prefetch ", prefetch, " threshold ",
      persistence_threshold, " threads ", threads, " products ", matmul,
      " convolutions ", convolution.empty() ? "as default" : convolution,
      " in ", precision, " on ", target, " recomputed ", recompute, " reduced ",
      reduce, " mean of ", loss_mean,
      clip_norm ? absl::StrCat(" clipped to ", *clip_norm) : "",
      lora.empty() ? "" : " with adapters");
}

plan::Plan compilePlan(const Training &training) {
  Reference reference = loadReference(training.model);
  auto compiled = compile(compileOptions(training, reference));
  EXPECT_TRUE(compiled.ok())
      << training.describe() << ": " << compiled.status();
  return compiled.ok() ? compiled->plan : plan::Plan();
}

std::optional<LoadedPlan> compileInto(const Training &training,
                                      const std::string &path) {
  auto compiled =
      compile(compileOptions(training, loadReference(training.model)));
  EXPECT_TRUE(compiled.ok())
      << training.describe() << ": " << compiled.status();
  if (!compiled.ok()) {
    return std::nullopt;
  }
  absl::Status written = writeExtraWeights(*compiled, path);
  written.Update(writePlan(compiled->plan, path));
  EXPECT_TRUE(written.ok()) << written;
  auto loaded = readPlan(path);
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  return loaded.ok() ? std::optional(*std::move(loaded)) : std::nullopt;
}

int64_t sumsInPlace(const plan::Plan &plan) {
  int64_t sums = 0;
  for (const plan::Program &program : plan.programs()) {
    for (const plan::Step &step : program.steps()) {
      sums += step.has_matmul() && step.matmul().accumulate();
    }
  }
  return sums;
}

std::string dataOf(const Training &training) {
  return absl::StrCat(ZEROGRAPH_MODELS, "/", training.model,
                      "/batches.safetensors");
}

Outcome trainModel(const Training &training) {
  Outcome outcome;
  Folder scratch;
  std::string path = scratch.path + "/plan";
  std::optional<LoadedPlan> loaded = compileInto(training, path);
  if (!loaded) {
    return outcome;
  }
  TrainOptions options;
  options.steps =
      training.steps ? training.steps : loadReference(training.model).steps;
  options.data = {dataOf(training)};
  options.plan_path = path;
  options.threads = training.threads;
  options.algorithms = training.algorithms;
  options.graphs = training.graphs;
  options.seed = training.seed;
  options.learning_rate = training.learning_rate;
  options.save_weights = scratch.path + "/weights.safetensors";
  options.dump_states = scratch.path + "/states.safetensors";
  if (!training.lora.empty()) {
    options.save_adapters = scratch.path + "/adapters.safetensors";
  }
  if (training.gradients) {
    options.dump_gradients = scratch.path + "/gradients.safetensors";
  }
  options.nvme_path = scratch.path; // for plans that ask for it
  options.quiet = true;
  options.handle_interrupt = false;
  options.deadline_seconds = 120;
  options.say = [](const std::string &) {};
  options.on_step = [&](const StepRecord &record) {
    outcome.steps.push_back(record);
    if (record.gradient_norm) {
      outcome.norms.push_back(*record.gradient_norm);
    }
  };
  auto result = train(*loaded, options);
  EXPECT_TRUE(result.ok()) << training.describe() << ": " << result.status();
  if (!result.ok()) {
    return outcome;
  }
  expectAccount(loaded->plan, *result, training.describe());
  outcome.plan = loaded->plan;
  outcome.result = *result;
  outcome.parameters = loadArrays(options.save_weights);
  outcome.states = loadArrays(options.dump_states);
  if (!training.lora.empty()) {
    outcome.adapters = loadArrays(options.save_adapters);
  }
  if (training.gradients) {
    outcome.gradients = loadArrays(options.dump_gradients);
  }
  return outcome;
}

void expectSameBits(const Arrays &a, const Arrays &b, const std::string &what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (const auto &[name, values] : a) {
    auto it = b.find(name);
    ASSERT_NE(it, b.end()) << what << ": " << name << " is missing";
    ASSERT_EQ(values.size(), it->second.size()) << what << ": " << name;
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(std::memcmp(&values[i], &it->second[i], sizeof(float)), 0)
          << what << ": " << name << "[" << i << "] is " << values[i] << " and "
          << it->second[i];
    }
  }
}

void expectSameOutcome(const Outcome &a, const Outcome &b,
                       const std::string &what) {
  ASSERT_FALSE(a.result.losses.empty()) << what;
  EXPECT_EQ(a.result.losses, b.result.losses) << what;
  expectSameBits(a.parameters, b.parameters, what);
  expectSameBits(a.adapters, b.adapters, what);
  expectSameBits(a.states, b.states, what);
  expectSameBits(a.gradients, b.gradients, what);
}

} // namespace zerograph::testing
