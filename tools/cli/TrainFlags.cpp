//===- TrainFlags.cpp - the options of train ------------------------------===//

#include "tools/cli/TrainFlags.h"

#include "absl/strings/str_format.h"
#include "runtime/base/Status.h"
#include "runtime/state/Initialize.h"

#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>

#include <algorithm>
#include <cstdio>

namespace zerograph {
namespace {

/// The report a user compares with `inspect`: what the plan said and what the
/// run saw, for the rank that has most of each.
void report(const plan::Plan &plan, const TrainResult &result) {
  const plan::Prediction &prediction = plan.prediction();
  for (int arena = 0; arena < plan.arenas_size(); ++arena) {
    uint64_t touched = 0;
    for (const RankResult &rank : result.ranks) {
      touched = std::max(touched, rank.touched[arena]);
    }
    absl::PrintF("memory of a rank: %u bytes predicted, %u touched at most\n",
                 plan.arenas(arena).peak(), touched);
  }
  TrafficCount count = result.ranks.front().first_step;
  absl::PrintF("traffic of a rank and step, bytes received: predicted "
               "gather %u, reduce %u, scalars %u; counted %u, %u, %u\n",
               prediction.gather_bytes(), prediction.reduce_bytes(),
               prediction.scalar_bytes(), count.gather, count.reduce,
               count.scalar);
  if (!result.step_ms.empty()) {
    std::vector<double> sorted = result.step_ms;
    std::nth_element(sorted.begin(), sorted.begin() + sorted.size() / 2,
                     sorted.end());
    absl::PrintF("median step: %.1f ms; peak resident memory of the process: "
                 "%.1f MiB\n",
                 sorted[sorted.size() / 2],
                 static_cast<double>(result.peak_rss_bytes) / (1 << 20));
  }
}

} // namespace

TrainFlags::TrainFlags(CLI::App &command) : command(command) {
  auto &app = *command.add_option_group("train", "Training options");
  app.add_option("--data", options.data,
                 "FILE.safetensors or a folder of .npy files: one array an "
                 "input, its first dimension samples")
      ->required();
  app.add_option("--steps", options.steps, "Steps to train, default 1")
      ->check(CLI::Range(uint64_t(0), uint64_t(1) << 60));
  app.add_option("--log", options.log, "FILE.jsonl: one object a step");
  app.add_option("--threads", options.threads,
                 "Threads of a rank; default: the processors, divided");
  app.add_option("--load-weights", options.load_weights,
                 "FILE.safetensors with initial weights by name");
  app.add_option("--save-weights", options.save_weights,
                 "FILE.safetensors for the final weights");
  app.add_option("--init-missing", init_missing,
                 "normal:STD for parameters that no file holds");
  app.add_option("--seed", options.seed, "Seed of made up parameters");
  app.add_option("--dump-gradients", options.dump_gradients,
                 "FILE.safetensors for the first step's mean gradients");
  app.add_option(
      "--trace", options.trace,
      "FILE.json: when the last step's operations ran, for Perfetto");
  app.add_option("--deadline", options.deadline_seconds,
                 "Seconds a rank waits for another, default 300")
      ->check(CLI::PositiveNumber);
}

absl::Status TrainFlags::parse() {
  if (!init_missing.empty()) {
    ZG_ASSIGN_OR_RETURN(options.init_missing, parseInitMissing(init_missing));
  }
  return absl::OkStatus();
}

absl::Status TrainFlags::run(const LoadedPlan &plan,
                             const std::string &plan_path) {
  ZG_RETURN_IF_ERROR(parse());
  options.plan_path = plan_path;
  ZG_ASSIGN_OR_RETURN(TrainResult result, train(plan, options));
  for (size_t step = 0; step < result.losses.size(); ++step) {
    absl::PrintF("step %d loss %.6f\n", step, result.losses[step]);
  }
  report(plan.plan, result);
  return absl::OkStatus();
}

} // namespace zerograph
