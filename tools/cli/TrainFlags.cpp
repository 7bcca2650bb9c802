//===- TrainFlags.cpp - the options of train ------------------------------===//

#include "tools/cli/TrainFlags.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "runtime/backend/Backend.h"
#include "runtime/base/Status.h"
#include "runtime/base/Text.h"
#include "runtime/plan/Describe.h"
#include "runtime/plan/Memory.h"
#include "runtime/plan/Traffic.h"
#include "runtime/state/InitializedWeights.h"
#include "tools/cli/GivenOptions.h"
#include "tools/cli/Notes.h"
#include "tools/cli/OptionRules.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>

namespace zerograph {
namespace {

/// The seconds that ranks wait for each other only to be refused together.
constexpr double kForNothing = 5;

void row(const char *what, uint64_t predicted, uint64_t measured) {
  absl::PrintF("%-28s%18s%18s\n", what, grouped(predicted), grouped(measured));
}

/// Returns the loss as text. A NaN has no sign that means anything.
std::string lossText(double loss) {
  return std::isnan(loss) ? "nan" : absl::StrFormat("%.6f", loss);
}

/// Reports rank 0's GPU; what another process takes or gives back meanwhile is
/// in the last line.
void reportGpu(const GpuMemory &gpu) {
  absl::PrintF("\nmemory of rank 0's GPU, bytes\n");
  auto line = [](const char *what, uint64_t bytes) {
    absl::PrintF("%-46s%18s\n", what, grouped(bytes));
  };
  uint64_t known = gpu.before + gpu.code + gpu.nccl + gpu.arenas;
  line("  context, and other processes", gpu.before);
  line("  kernels, cuBLASLt and cuDNN", gpu.code);
  line("  NCCL's communicator", gpu.nccl);
  line("  arenas of its ranks, as planned", gpu.arenas);
  line("  graphs, what is registered, and rounding",
       gpu.all > known ? gpu.all - known : 0);
}

/// Returns the most that any rank reports, by `of`.
template <typename Of>
uint64_t most(const TrainResult &result, const Of &of) {
  uint64_t highest = 0;
  for (const exec::RankReport &rank : result.ranks) {
    highest = std::max(highest, of(rank));
  }
  return highest;
}

void reportTraffic(const plan::Plan &plan, const TrainResult &result) {
  using Rank = exec::RankReport;
  auto line = [&](const char *what, Checked predicted, auto of) {
    row(what, predicted.saturated(), most(result, of));
  };
  Traffic planned = trafficOf(plan);
  line("  received a step: gathers", planned.gather,
       [](const Rank &rank) { return rank.first_step().gather(); });
  line("    reductions", planned.reduce,
       [](const Rank &rank) { return rank.first_step().reduce(); });
  line("    scalars", planned.scalar,
       [](const Rank &rank) { return rank.first_step().scalar(); });
  if (HostTransfers crossing = hostTransfersOf(plan);
      !(crossing.down + crossing.up).is(0)) {
    line("  a step to the host", crossing.down,
         [](const Rank &rank) { return rank.first_crossing().down(); });
    line("    and to the device", crossing.up,
         [](const Rank &rank) { return rank.first_crossing().up(); });
    if (!(crossing.read + crossing.written).is(0)) {
      line("    read from its file", crossing.read,
           [](const Rank &rank) { return rank.first_crossing().read(); });
      line("    and written", crossing.written,
           [](const Rank &rank) { return rank.first_crossing().written(); });
    }
  }
  if (!result.eval_losses.empty()) {
    Traffic once = evaluationTraffic(plan);
    line("  an evaluation: gathers", once.gather * result.eval_rounds,
         [](const Rank &rank) { return rank.evaluation().gather(); });
    line("    scalars", once.scalar * result.eval_rounds,
         [](const Rank &rank) { return rank.evaluation().scalar(); });
  }
}

double median(std::vector<double> values) {
  auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void reportCheckpoints(const TrainResult &result) {
  const CheckpointTimes &times = result.checkpoints;
  if (times.wrote_ms.empty()) {
    return;
  }
  using Rank = exec::RankReport;
  row("  read for checkpoints",
      most(result, [](const Rank &rank) { return rank.checkpoint_bytes(); }),
      most(result, [](const Rank &rank) { return rank.checkpoint_copied(); }));
  size_t count = times.wrote_ms.size();
  absl::PrintF(
      "\n%d checkpoint%s, the last is %s; medians: for one no step ran "
      "for %.1f ms, and it was published %.1f ms later\n",
      count, count == 1 ? "" : "s", times.last, median(times.stood_ms),
      median(times.wrote_ms));
}

/// Prints the report that a user compares with `inspect`: what the plan said
/// and what the run saw, for the rank that has most of each.
void report(const plan::Plan &plan, const TrainResult &result) {
  if (result.losses.empty()) {
    return; // no step, nothing measured
  }
  absl::PrintF("loss %s at step %u, %s at step %u\n",
               lossText(result.losses.front()), result.first_step + 1,
               lossText(result.losses.back()),
               result.first_step + result.losses.size());
  if (!result.eval_losses.empty()) {
    auto last = std::prev(result.eval_losses.end());
    absl::PrintF("eval_loss %s after step %u\n", lossText(last->second),
                 last->first + 1);
  }
  absl::PrintF("\n");
  absl::PrintF("%-28s%18s%18s\n", "bytes of a rank", "predicted", "measured");
  using Rank = exec::RankReport;
  uint64_t bytes = 0;
  bool file = false;
  for (const plan::Arena &arena : plan.arenas()) {
    bytes += arena.bytes();
    file |= arena.space() == plan::NVME;
  }
  row(file ? "  memory and file allocated" : "  memory allocated", bytes,
      most(result, [](const Rank &rank) { return rank.arena_bytes(); }));
  for (int arena = 0; arena < plan.arenas_size(); ++arena) {
    uint64_t peak = peakOf(plan, arena);
    uint64_t touched =
        most(result, [&](const Rank &rank) { return rank.touched(arena); });
    row(absl::StrCat("    touched, ", nameOf(plan.arenas(arena).space()))
            .c_str(),
        peak, touched);
    if (touched < peak && touched >= writtenEnd(plan, arena)) {
      absl::PrintF("    (the last %d bytes are working space that a library "
                   "left unused)\n",
                   peak - touched);
    }
  }
  reportTraffic(plan, result);
  reportCheckpoints(result);
  if (result.gpu) {
    reportGpu(*result.gpu);
  }
  absl::PrintF("\nmedian step %.1f ms; the process had at most %.1f MiB "
               "resident\n",
               median(result.step_ms),
               static_cast<double>(result.peak_rss_bytes) / (1 << 20));
}

/// Says what a signal interrupted, and what was kept.
void sayStopped(const TrainResult &result, const TrainOptions &options) {
  std::string by = result.stop_signal == SIGINT    ? " by SIGINT"
                   : result.stop_signal == SIGTERM ? " by SIGTERM"
                   : result.stop_signal == SIGUSR1 ? " by SIGUSR1"
                                                   : "";
  const std::string &saved = options.save_weights.empty()
                                 ? options.save_adapters
                                 : options.save_weights;
  const std::string &checkpoint = result.checkpoints.last;
  say(Matter::Run,
      absl::StrCat("stopped", by, " after ",
                   result.first_step + result.losses.size(), " of ",
                   result.steps, " steps; ",
                   saved.empty() ? "no weights were to be saved"
                   : result.elsewhere.count(saved) == 0
                       ? absl::StrCat("the weights are in ", saved)
                       : "the weights are where the error says",
                   checkpoint.empty()
                       ? ""
                       : absl::StrCat("; --resume ", checkpoint, " goes on")));
}

} // namespace

TrainFlags::TrainFlags(CLI::App &command, OptionCommands as)
    : command(command) {
  addOptions(*command.add_option_group("train", "Training options"), as, given);
}

absl::Status TrainFlags::parse() {
  options::copy<options::kRun>(given, options);
  ZG_RETURN_IF_ERROR(checkRules(command, given).status());
  if (given.resume == "latest" && given.checkpoint.empty()) {
    return absl::InvalidArgumentError(
        "--resume latest needs --checkpoint, which is not given");
  }
  for (const auto &[name, file] :
       {std::pair("--save-weights", given.save_weights),
        std::pair("--save-adapters", given.save_adapters)}) {
    if (absl::EndsWith(file, ".pt") || absl::EndsWith(file, ".pth") ||
        absl::EndsWith(file, ".onnx")) {
      return absl::InvalidArgumentError(absl::StrCat(
          name, " ", file,
          ": it writes .safetensors; 'zerograph export' makes an .onnx of it, "
          "and zerograph.convert.checkpoint_to_torch of Zerograph's Python "
          "package a .pt of a checkpoint"));
    }
  }
  options.seed_given = command.get_option("--seed")->count() > 0;
  if (!given.init_missing.empty()) {
    ZG_ASSIGN_OR_RETURN(options.init_missing,
                        parseInitMissing(given.init_missing));
  }
  options.graphs = given.graph == "off"   ? Graphs::Off
                   : given.graph == "all" ? Graphs::All
                                          : Graphs::Compute;
  options.graphs_given = command.get_option("--graph")->count() > 0;
  // Not a number fails both.
  if (!(options.deadline_seconds > 0 && options.deadline_seconds <= 1e6)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--deadline ", options.deadline_seconds,
                     ": expected seconds above 0 and at most 1000000"));
  }
  return absl::OkStatus();
}

absl::Status TrainFlags::prepare(const CompiledPlan &made) {
  // Settings are given as rank 0's command gave them, and every rank's must.
  for (const auto &[option, value] : made.settings) {
    if (options.live && optionNamed(command, option) == nullptr) {
      continue; // its caller decides it
    }
    std::string refused = giveOption(command, option, value);
    if (!refused.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the configuration file's --", option, ": ", refused));
    }
  }
  options::copy<options::kRun>(given, options);
  options.plan_path = made.path;
  options.model_path = made.model;
  options.say = [quiet = given.quiet](const std::string &text) {
    if (!quiet) {
      say(Matter::Run, text);
    }
  };
  options.warn = [](const std::string &text) { warn(text); };
  options.on_begin = [this](const RunBegin &run) { sayBeginning(run); };
  return absl::OkStatus();
}

bool TrainFlags::keepsWeights() const {
  return !given.save_weights.empty() || !given.save_adapters.empty() ||
         !given.checkpoint.empty();
}

/// Says the last words before the first step.
void TrainFlags::sayBeginning(const RunBegin &run) const {
  if (!given.steps && !given.epochs) {
    say(Matter::Run,
        absl::StrCat("neither --steps nor --epochs is given: one epoch, ",
                     run.steps, " steps of ", run.samples, " samples"));
  }
  if (!keepsWeights()) {
    warn("the trained weights will not be kept: give --save-weights FILE or "
         "--checkpoint DIR");
  }
  if (given.quiet) {
    releaseNotes(SIZE_MAX, Matter::Warning);
  } else {
    releaseNotes(given.notes ? SIZE_MAX : kMostNotes);
  }
}

/// Reports, and returns the exit status.
absl::StatusOr<int> TrainFlags::tell(const plan::Plan &plan,
                                     const TrainResult &result) const {
  if (!given.quiet) {
    report(plan, result);
    if (!keepsWeights()) {
      std::fflush(stdout); // the report comes first
      say(Matter::Run, "the trained weights were not kept: neither "
                       "--save-weights nor --checkpoint was given");
    }
  }
  if (!result.nonfinite_weight.empty()) {
    std::fflush(stdout);
    warn(absl::StrCat("the weights that were kept are not all finite: ",
                      result.nonfinite_weight,
                      ". Do not use them: --debug-nonfinite names the first "
                      "step and node that made a value so",
                      options.checkpoint.empty()
                          ? ""
                          : ", and an earlier checkpoint may still be good"));
  }
  if (result.stopped) {
    sayStopped(result, options);
  }
  if (!result.elsewhere.empty()) {
    std::fflush(stdout);
    return absl::UnavailableError(absl::StrJoin(
        result.elsewhere, "\n  ", [](std::string *out, const auto &file) {
          absl::StrAppend(out, file.second);
        }));
  }
  return result.stopped ? 128 + result.stop_signal : 0;
}

absl::StatusOr<TrainOptions> TrainFlags::ofLiveRun(const CompiledPlan &made) {
  options.live = true;
  ZG_RETURN_IF_ERROR(parse());
  ZG_RETURN_IF_ERROR(prepare(made));
  options.on_begin = nullptr; // the run outlives these flags
  return options;
}

absl::StatusOr<int> TrainFlags::runHere(const CompiledPlan &made) {
  ZG_RETURN_IF_ERROR(prepare(made));
  ZG_ASSIGN_OR_RETURN(TrainResult result, train(made.plan, options));
  return tell(made.plan.plan, result);
}

absl::StatusOr<int> TrainFlags::runAsRank(Processes &processes,
                                          const PlanSource &source) {
  ControlPlane &control = processes.control();
  ZG_RETURN_IF_ERROR(compareSettings(control, givenOptions(command)));
  ZG_ASSIGN_OR_RETURN(CompiledPlan made, processes.share(source));
  ZG_RETURN_IF_ERROR(
      agree(control, "taking the options of the run", prepare(made)));
  options.processes_here = processes.peers().sharing();
  if (options.threads == 0) {
    options.threads = processes.threads();
  }
  ZG_ASSIGN_OR_RETURN(
      TrainResult result,
      trainAsRank(made.plan, options, processes.collectives(), control));
  if (control.rank() != 0) {
    return 0;
  }
  return tell(made.plan.plan, result);
}

absl::StatusOr<int> TrainFlags::run(CommandLine &line,
                                    const PlanSource &source) {
  // Whoever reads the progress may go, as `head` does: no reason to lose what
  // has been learned. In the end it is said that not all could be written.
  std::signal(SIGPIPE, SIG_IGN);
  ZG_RETURN_IF_ERROR(parse());
  ZG_ASSIGN_OR_RETURN(std::optional<Launch> launch, detectLaunch());
  if (!launch) {
    ZG_ASSIGN_OR_RETURN(CompiledPlan made, source.make(std::nullopt));
    return runHere(made);
  }
  // A plan that cannot be run is refused where ranks meet: by rank 0, once.
  const Backend *backend = findBackend(source.device());
  absl::Status useless = backend != nullptr && !backend->accelerates()
                             ? needMpi(*launch)
                             : absl::OkStatus();
  absl::StatusOr<std::shared_ptr<Processes>> joined = Processes::join(
      *launch, useless.ok() ? options.deadline_seconds
                            : std::min(options.deadline_seconds, kForNothing));
  if (!joined.ok()) {
    return useless.ok() ? joined.status() : useless;
  }
  std::shared_ptr<Processes> processes = *std::move(joined);
  line.atEnd([processes] { processes->end(); });
  absl::StatusOr<int> code = runAsRank(*processes, source);
  return code.ok() ? code : processes->explain(code.status());
}

} // namespace zerograph
