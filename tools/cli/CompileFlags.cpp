//===- CompileFlags.cpp - the options of compile --------------------------===//

#include "tools/cli/CompileFlags.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "runtime/base/Status.h"
#include "tools/cli/SharedFlags.h"

#include <cmath>
#include <cstdio>
#include <tuple>

namespace zerograph {

absl::StatusOr<std::map<std::string, int64_t>>
parseDims(const std::vector<std::string> &dims) {
  std::map<std::string, int64_t> result;
  for (const std::string &dim : dims) {
    std::pair<std::string, std::string> parts =
        absl::StrSplit(dim, absl::MaxSplits('=', 1));
    int64_t size;
    if (parts.first.empty() || !absl::SimpleAtoi(parts.second, &size) ||
        size < 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--dim ", dim, ": expected NAME=SIZE with a positive SIZE"));
    }
    if (!result.emplace(parts.first, size).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("--dim ", parts.first, " is given twice"));
    }
  }
  return result;
}

absl::StatusOr<std::map<std::string, std::string>>
parseInputs(const std::vector<std::string> &inputs) {
  std::map<std::string, std::string> result;
  for (const std::string &input : inputs) {
    std::pair<std::string, std::string> parts =
        absl::StrSplit(input, absl::MaxSplits('=', 1));
    if (parts.first.empty() || parts.second.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--input ", input, ": expected NAME=VALUE"));
    }
    if (!result.insert(parts).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("--input ", parts.first, " is given twice"));
    }
  }
  return result;
}

CompileFlags::CompileFlags(CLI::App &command) : command(command) {
  group = command.add_option_group("compile", "Compile options");
  auto &app = *group;
  app.add_option("--ranks", options.ranks, "Number of ranks")
      ->check(CLI::Range(1, 1 << 16));
  app.add_option("--zero", options.zero_stage, "ZeRO stage: 0, 1, 2 or 3")
      ->check(CLI::Range(0, 3));
  app.add_option("--dim", dims, "NAME=SIZE of a symbolic dimension")
      ->allow_extra_args(false);
  app.add_option("--input", inputs,
                 "NAME=VALUE of an input of one element, bound while compiling")
      ->allow_extra_args(false);
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
                 "Train only initializers that match PATTERN")
      ->allow_extra_args(false);
  app.add_option("--freeze", options.freeze,
                 "Do not train initializers that match PATTERN")
      ->allow_extra_args(false);
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
  addDropout(app, options.dropout);
  app.add_flag("--allow-exporter-damage", options.allow_exporter_damage,
               "Train a file whose exporter dropped parameters");
  app.add_option("--reduce", reduce, "each (default): fold every micro-batch");
  app.add_option("--clip-norm", clip_norm, "Not built yet");
  app.add_option("--config", config, "Not built yet");
  app.add_option("--memory", memory, "Not built yet");
}

std::string CompileFlags::given() const {
  std::vector<std::string> names;
  for (const CLI::Option *option : group->get_options()) {
    if (option->count() > 0) {
      names.push_back(option->get_name());
    }
  }
  return absl::StrJoin(names, ", ");
}

bool CompileFlags::isGiven(const std::string &option) const {
  return group->get_option(option)->count() > 0;
}

absl::Status CompileFlags::checkBuilt() const {
  const std::pair<const char *, const char *> kNotBuilt[] = {
      {"--clip-norm", "train without clipping"},
      {"--config", "give the options themselves"},
      {"--memory", "look at the arena with 'zerograph inspect'"}};
  std::vector<std::string> problems;
  for (auto [option, instead] : kNotBuilt) {
    if (isGiven(option)) {
      problems.push_back(absl::StrCat(option, " is not built yet; ", instead));
    }
  }
  if (reduce == "last") {
    problems.push_back("--reduce last is not built yet; use --reduce each, "
                       "the default");
  } else if (reduce != "each") {
    problems.push_back(
        absl::StrCat("--reduce ", reduce, ": there is only 'each'"));
  }
  return problems.empty()
             ? absl::OkStatus()
             : absl::UnimplementedError(absl::StrJoin(problems, "\n  "));
}

void CompileFlags::sayWithoutEffect() const {
  for (const char *option : {"--prefetch", "--persistence-threshold"}) {
    if (isGiven(option) && options.zero_stage < 3) {
      std::fprintf(stderr,
                   "warning: %s has no effect with --zero %d; it is for "
                   "--zero 3\n",
                   option, int(options.zero_stage));
    }
  }
}

absl::Status
CompileFlags::resolveOptimizer(plan::OptimizerGroup &optimizer) const {
  optimizer.set_kind(kind);
  bool sgd = kind == "sgd";
  for (const char *option : {"--momentum", "--nesterov"}) {
    if (!sgd && isGiven(option)) {
      return absl::InvalidArgumentError(absl::StrCat(
          option, " is for --optimizer sgd; ", kind, " does not use it"));
    }
  }
  for (const char *option : {"--betas", "--eps"}) {
    if (sgd && isGiven(option)) {
      return absl::InvalidArgumentError(
          absl::StrCat(option, " is for adam and adamw; sgd does not use it"));
    }
  }
  if (nesterov && momentum == 0) {
    return absl::InvalidArgumentError("--nesterov needs --momentum");
  }
  const std::tuple<const char *, double> kNumbers[] = {
      {"--lr", lr},
      {"--momentum", momentum},
      {"--eps", eps},
      {"--weight-decay", weight_decay}};
  for (auto [option, value] : kNumbers) {
    if (isGiven(option) && !(value >= 0 && std::isfinite(value))) {
      return absl::InvalidArgumentError(absl::StrCat(
          option, " ", value, ": expected a number that is not negative"));
    }
  }
  optimizer.set_learning_rate(lr);
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
  optimizer.set_weight_decay(isGiven("--weight-decay") ? weight_decay
                             : kind == "adamw"         ? 0.01
                                                       : 0.0);
  return absl::OkStatus();
}

absl::StatusOr<CompileOptions> CompileFlags::resolve() const {
  ZG_RETURN_IF_ERROR(checkBuilt());
  CompileOptions result = options;
  ZG_ASSIGN_OR_RETURN(result.dims, parseDims(dims));
  ZG_ASSIGN_OR_RETURN(result.inputs, parseInputs(inputs));
  if (int64_t bytes; absl::SimpleAtoi(options.units, &bytes) && bytes < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--units ", options.units, ": expected a PATTERN or positive BYTES"));
  }
  ZG_RETURN_IF_ERROR(resolveOptimizer(result.optimizer));
  sayWithoutEffect();
  return result;
}

absl::Status CompileFlags::setRanks(CompileOptions &options,
                                    unsigned processes) const {
  if (isGiven("--ranks") && options.ranks != int64_t(processes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--ranks ", options.ranks, ", but ", processes,
                     " processes were started, each of which is one rank: "
                     "leave --ranks out, or start ",
                     options.ranks));
  }
  options.ranks = processes;
  return absl::OkStatus();
}

} // namespace zerograph
