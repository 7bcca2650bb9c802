//===- CompileFlags.cpp - the options of compile --------------------------===//

#include "tools/cli/CompileFlags.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "runtime/base/Status.h"

namespace zerograph {
namespace {

absl::Status notYet(const char *option, const char *instead) {
  return absl::UnimplementedError(
      absl::StrCat(option, " is not built yet; ", instead));
}

} // namespace

CompileFlags::CompileFlags(CLI::App &command) : command(command) {
  group = command.add_option_group("compile", "Compile options");
  auto &app = *group;
  app.add_option("--ranks", options.ranks, "Number of ranks")
      ->check(CLI::Range(1, 1 << 16));
  app.add_option("--zero", options.zero_stage, "ZeRO stage: 0, 1, 2 or 3")
      ->check(CLI::Range(0, 3));
  app.add_option("--dim", dims, "NAME=SIZE of a symbolic dimension");
  app.add_option("--micro-batch", micro_batch,
                 "Samples of one rank's micro-batch")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 40));
  app.add_option("--accumulate", options.accumulate,
                 "Micro-batches a rank and step")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--optimizer", kind, "sgd, adam or adamw (default)")
      ->check(CLI::IsMember({"sgd", "adam", "adamw"}));
  app.add_option("--lr", lr, "Learning rate, default 1e-3");
  app.add_option("--momentum", momentum, "SGD's momentum");
  app.add_flag("--nesterov", nesterov, "SGD with Nesterov's momentum");
  app.add_option("--betas", betas, "Adam's betas, default 0.9,0.999");
  app.add_option("--eps", eps, "Adam's epsilon, default 1e-8");
  app.add_option("--weight-decay", weight_decay,
                 "Default 0.01 for adamw, as in PyTorch, else 0");
  app.add_option("--train", options.train,
                 "Train only initializers that match PATTERN");
  app.add_option("--freeze", options.freeze,
                 "Do not train initializers that match PATTERN");
  app.add_option("--loss-output", options.loss_output,
                 "Graph output to minimize");
  app.add_option("--target", options.target,
                 "host:native (default), host:x86-64-v3 or host:x86-64-v4");
  app.add_option("--dump-ir", options.dump_ir,
                 "Folder for the IR after each phase");
  app.add_option("--prefetch", options.prefetch,
                 "Stage 3: how many gathers ahead, default 1")
      ->check(CLI::Range(0, 1 << 20));
  app.add_option("--bucket-bytes", options.bucket_bytes,
                 "Most bytes of a segment, a collective's grain; default "
                 "33554432")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 40));
  app.add_option("--persistence-threshold", options.persistence_threshold,
                 "Stage 3: units of at most so many elements stay whole")
      ->check(CLI::Range(int64_t(0), int64_t(1) << 40));
  app.add_option("--units", options.units,
                 "How parameters form units: a PATTERN or BYTES");
  app.add_flag("--allow-exporter-damage", options.allow_exporter_damage,
               "Train a file whose exporter dropped parameters");
  app.add_option("--reduce", reduce, "each (default): fold every micro-batch");
  app.add_option("--clip-norm", clip_norm, "Not built yet");
  app.add_option("--config", config, "Not built yet");
  app.add_option("--memory", memory, "Not built yet");
}

bool CompileFlags::given() const {
  for (const CLI::Option *option : group->get_options()) {
    if (option->count() > 0) {
      return true;
    }
  }
  return false;
}

absl::StatusOr<CompileOptions> CompileFlags::resolve() const {
  if (!clip_norm.empty()) {
    return notYet("--clip-norm", "train without clipping");
  }
  if (!config.empty()) {
    return notYet("--config", "give the options themselves");
  }
  if (!memory.empty()) {
    return notYet("--memory", "look at the arena with 'zerograph inspect'");
  }
  if (reduce == "last") {
    return notYet("--reduce last", "use --reduce each, the default");
  }
  if (reduce != "each") {
    return absl::InvalidArgumentError(
        absl::StrCat("--reduce ", reduce, ": there is only 'each'"));
  }
  CompileOptions result = options;
  for (const std::string &dim : dims) {
    std::pair<std::string, std::string> parts =
        absl::StrSplit(dim, absl::MaxSplits('=', 1));
    int64_t size;
    if (parts.first.empty() || !absl::SimpleAtoi(parts.second, &size) ||
        size < 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--dim ", dim, ": expected NAME=SIZE with a positive SIZE"));
    }
    if (!result.dims.emplace(parts.first, size).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("--dim ", parts.first, " is given twice"));
    }
  }
  auto &optimizer = result.optimizer;
  optimizer.set_kind(kind);
  optimizer.set_learning_rate(lr);
  bool sgd = kind == "sgd";
  if (!sgd && (momentum != 0 || nesterov)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--momentum and --nesterov are for --optimizer sgd; ",
                     kind, " does not use them"));
  }
  if (sgd && (group->get_option("--betas")->count() > 0 ||
              group->get_option("--eps")->count() > 0)) {
    return absl::InvalidArgumentError(
        "--betas and --eps are for adam and adamw; sgd does not use them");
  }
  if (nesterov && momentum == 0) {
    return absl::InvalidArgumentError("--nesterov needs --momentum");
  }
  if (!(lr >= 0) || !(momentum >= 0) || !(eps >= 0)) {
    return absl::InvalidArgumentError(
        "--lr, --momentum and --eps must not be negative");
  }
  optimizer.set_momentum(momentum);
  optimizer.set_nesterov(nesterov);
  if (!sgd) {
    std::pair<std::string, std::string> parts =
        absl::StrSplit(betas, absl::MaxSplits(',', 1));
    double beta1, beta2;
    if (!absl::SimpleAtod(parts.first, &beta1) ||
        !absl::SimpleAtod(parts.second, &beta2) || !(beta1 >= 0) ||
        !(beta1 < 1) || !(beta2 >= 0) || !(beta2 < 1)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--betas ", betas, ": expected two numbers in [0, 1), as 0.9,0.999"));
    }
    optimizer.set_beta1(beta1);
    optimizer.set_beta2(beta2);
    optimizer.set_epsilon(eps);
  }
  optimizer.set_weight_decay(weight_decay >= 0 ? weight_decay
                             : kind == "adamw" ? 0.01
                                               : 0.0);
  return result;
}

} // namespace zerograph
