//===- Predict.cpp - how long a step of a plan takes on a machine ---------===//

#include "simulate/Predict.h"

#include "runtime/base/Status.h"
#include "runtime/plan/Cost.h"
#include "runtime/plan/Describe.h"
#include "runtime/plan/Mesh.h"

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace zerograph::simulate {
namespace {

/// Returns 90 of a plan for cuda:sm_90, and 0 of others.
int architectureOf(const plan::Plan &plan) {
  for (absl::string_view feature : plan.devices(0).features()) {
    int number = 0;
    if (absl::ConsumePrefix(&feature, "sm_") &&
        absl::SimpleAtoi(feature, &number)) {
      return number;
    }
  }
  return 0;
}

absl::Status check(const plan::Plan &plan, const Machine &machine,
                   const Cluster &cluster) {
  const std::string &device = plan.devices(0).device();
  if (device != machine.device) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the plan is for ", device, ", and ", machine.name, " is a machine of ",
        machine.device, "; choose another machine, or compile with --target ",
        machine.device == "host" ? "host" : "cuda:sm_90"));
  }
  int planned = architectureOf(plan);
  if (machine.card && planned > machine.card->architecture) {
    return absl::InvalidArgumentError(
        absl::StrCat("the plan is for sm_", planned, ", which ", machine.name,
                     " (sm_", machine.card->architecture,
                     ") cannot run; compile it with --target "
                     "cuda:sm_80"));
  }
  uint32_t world = worldOf(plan);
  if (cluster.ranks() != world) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the ", world, " ranks of the plan are not ", cluster.nodes,
        " nodes of ", cluster.ranks_per_node,
        "; expected --nodes times --ranks-per-node to be ", world));
  }
  if (plan.mesh_size() > 1) {
    return absl::UnimplementedError(
        "its ranks form a mesh of several axes, which is not simulated");
  }
  if (!statesCosts(plan)) {
    return absl::InvalidArgumentError(
        "the plan does not say what its kernels cost: an older compiler made "
        "it; compile it again");
  }
  return absl::OkStatus();
}

/// Goes over the steps of the stream that computes.
class ComputeStream {
public:
  ComputeStream(const plan::Plan &plan, const SimulatedProgram &program,
                Prediction &prediction)
      : plan(plan), steps(plan.programs(program.program)), program(program),
        prediction(prediction) {}

  void account() {
    double last = 0;
    for (int i = 0; i < steps.steps_size(); ++i) {
      const plan::Step &step = steps.steps(i);
      const Span &span = program.timeline.steps[size_t(i)];
      prediction.streams[step.stream()] +=
          double(program.runs) * (span.end - span.begin);
      const plan::Stream &stream = plan.streams(int(step.stream()));
      if (stream.kind() == plan::COMPUTE && stream.device() == 0) {
        wait(i, span.begin - last);
        work(i, span);
        last = span.end;
      }
    }
    double rest = program.timeline.seconds - last;
    prediction.parts.waits += double(program.runs) * std::max(0.0, rest);
    if (rest > 0) {
      expose(lastToEnd(), "the end of the program", rest);
    }
  }

private:
  void wait(int step, double seconds) {
    int cause = program.timeline.after[size_t(step)];
    if (seconds > 0) {
      prediction.parts.waits += double(program.runs) * seconds;
      expose(cause, steps.steps(step).name(), seconds);
    }
  }

  void work(int i, const Span &span) {
    const Work &work = program.works[size_t(i)];
    double runs = double(program.runs);
    double busiest = work.of(work.bound());
    Parts &parts = prediction.parts;
    double &part =
        steps.steps(i).has_matmul() || steps.steps(i).has_convolution()
            ? parts.products
        : work.bound() == Resource::Compute ? parts.arithmetic
                                            : parts.memory;
    part += runs * busiest;
    parts.launches += runs * (work.seconds - busiest);
    double longer = span.end - span.begin - work.seconds;
    parts.contention += longer > 1e-9 * work.seconds ? runs * longer : 0;
  }

  void expose(int cause, const std::string &before, double seconds) {
    Exposed exposed;
    if (cause >= 0) {
      const plan::Step &step = steps.steps(cause);
      exposed.op = std::string(opName(step));
      exposed.name = step.name();
      exposed.reason = step.reason();
    }
    exposed.before = before;
    exposed.seconds = double(program.runs) * seconds;
    prediction.exposed.push_back(std::move(exposed));
  }

  int lastToEnd() const {
    const auto &spans = program.timeline.steps;
    auto last = std::max_element(
        spans.begin(), spans.end(),
        [](const Span &a, const Span &b) { return a.end < b.end; });
    return int(last - spans.begin());
  }

  const plan::Plan &plan;
  const plan::Program &steps;
  const SimulatedProgram &program;
  Prediction &prediction;
};

/// Sums up what is the same but for `before`, and sorts: longest first.
void gatherExposed(std::vector<Exposed> &exposed) {
  std::map<std::tuple<std::string, std::string, std::string>, Exposed> sums;
  for (const Exposed &one : exposed) {
    auto [place, added] = sums.try_emplace({one.op, one.name, one.reason}, one);
    place->second.seconds += added ? 0 : one.seconds;
  }
  exposed.clear();
  for (auto &[key, sum] : sums) {
    exposed.push_back(std::move(sum));
  }
  std::stable_sort(
      exposed.begin(), exposed.end(),
      [](const Exposed &a, const Exposed &b) { return a.seconds > b.seconds; });
}

} // namespace

const Part &largestOf(const Parts &parts) {
  return *std::max_element(std::begin(kParts), std::end(kParts),
                           [&](const Part &one, const Part &other) {
                             return parts.*one.seconds < parts.*other.seconds;
                           });
}

absl::StatusOr<Prediction> predict(const plan::Plan &plan,
                                   const Machine &machine,
                                   const Cluster &cluster) {
  ZG_RETURN_IF_ERROR(check(plan, machine, cluster));
  Prediction prediction;
  prediction.streams.resize(size_t(plan.streams_size()));
  for (int p = 0; p < plan.programs_size(); ++p) {
    const plan::Program &program = plan.programs(p);
    SimulatedProgram simulated{p, runsPerStep(plan, program), {}, {}};
    if (simulated.runs == 0) {
      continue; // an evaluation
    }
    for (const plan::Step &step : program.steps()) {
      simulated.works.push_back(workOf(plan, step, machine, cluster));
    }
    simulated.timeline = simulate(plan, program, simulated.works);
    prediction.seconds += double(simulated.runs) * simulated.timeline.seconds;
    ComputeStream(plan, simulated, prediction).account();
    prediction.programs.push_back(std::move(simulated));
  }
  gatherExposed(prediction.exposed);
  prediction.summary = summarize(plan, machine, cluster, prediction.seconds);
  return prediction;
}

} // namespace zerograph::simulate
