//===- SameStates.cpp - plans that one trainer runs in turn ---------------===//

#include "runtime/plan/SameStates.h"

#include "runtime/plan/Describe.h"
#include "runtime/plan/Mesh.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/util/message_differencer.h"

#include <algorithm>
#include <tuple>

namespace zerograph {
namespace {

using google::protobuf::util::MessageDifferencer;

template <typename... Args>
absl::Status differ(const Args &...args) {
  return absl::InvalidArgumentError(absl::StrCat(
      args...,
      "; plans of one trainer are of one model, compiled with the same options "
      "but for the batch"));
}

template <typename Messages>
bool areEqual(const Messages &a, const Messages &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    MessageDifferencer::Equals);
}

std::string shapeOf(const plan::Parameter &parameter) {
  return absl::StrCat("[", absl::StrJoin(parameter.shape(), ", "), "]");
}

/// Compares what a checkpoint would have of it, and what the update reads.
absl::Status needSameParameter(const plan::Parameter &a,
                               const plan::Parameter &b) {
  if (a.name() != b.name()) {
    return differ("one plan has the parameter '", a.name(),
                  "' where another has '", b.name(), "'");
  }
  if (shapeOf(a) != shapeOf(b)) {
    return differ("'", a.name(), "' has the shape ", shapeOf(a),
                  " in one plan and ", shapeOf(b), " in another");
  }
  if (a.trainable() != b.trainable()) {
    return differ("'", a.name(), "' is trained by one plan and not by another");
  }
  if (a.offset() != b.offset() || a.group() != b.group() ||
      a.type() != b.type() ||
      !MessageDifferencer::Equals(a.adapter(), b.adapter())) {
    return differ(
        "'", a.name(),
        "' has another group, adapter, type or place in another plan");
  }
  return absl::OkStatus();
}

/// Compares the optimizers of groups, and what all of them have.
absl::Status needSameOptimizers(const plan::Plan &first,
                                const plan::Plan &other) {
  for (int i = 0; i < std::min(first.groups_size(), other.groups_size()); ++i) {
    const plan::OptimizerGroup &a = first.groups(i), &b = other.groups(i);
    if (a.kind() != b.kind() || a.learning_rate() != b.learning_rate()) {
      return differ("group '", a.name(), "' has ", a.kind(), " with a rate of ",
                    a.learning_rate(), " in one plan and ", b.kind(), " with ",
                    b.learning_rate(), " in another");
    }
  }
  if (!areEqual(first.groups(), other.groups())) {
    return differ("groups of parameters have other options in another plan");
  }
  if (!MessageDifferencer::Equals(first.schedule(), other.schedule())) {
    return differ("plans have other schedules of the rate");
  }
  return MessageDifferencer::Equals(first.loss_scale(), other.loss_scale())
             ? absl::OkStatus()
             : differ("plans have other loss scales");
}

/// Returns whether a state lasts from step to step, whatever the plan:
/// `sched-pack` places these first.
bool lasts(const plan::Plan &plan, const plan::State &state) {
  const plan::Slice &slice = plan.slices(int(state.slice()));
  return slice.carried() && slice.slice_class() != plan::GRAD &&
         slice.slice_class() != plan::GRAD_SHARD;
}

std::vector<const plan::State *> lastingOf(const plan::Plan &plan,
                                           const plan::Unit &unit) {
  std::vector<const plan::State *> states;
  for (const plan::State &state : unit.states()) {
    if (lasts(plan, state)) {
      states.push_back(&state);
    }
  }
  std::sort(states.begin(), states.end(),
            [](const plan::State *a, const plan::State *b) {
              return std::tuple(a->role(), a->segment()) <
                     std::tuple(b->role(), b->segment());
            });
  return states;
}

absl::Status needSameUnit(const plan::Plan &first, const plan::Unit &a,
                          const plan::Plan &other, const plan::Unit &b) {
  if (a.type() != b.type()) {
    return differ("unit '", a.name(), "' is computed with ", nameOf(a.type()),
                  " in one plan and with ", nameOf(b.type()), " in another");
  }
  for (int i = 0; i < std::min(a.parameters_size(), b.parameters_size()); ++i) {
    ZG_RETURN_IF_ERROR(needSameParameter(a.parameters(i), b.parameters(i)));
  }
  auto states = lastingOf(first, a), others = lastingOf(other, b);
  bool same = a.parameters_size() == b.parameters_size() &&
              a.elements() == b.elements() && a.local() == b.local() &&
              areEqual(a.segments(), b.segments()) &&
              states.size() == others.size();
  for (size_t i = 0; same && i < states.size(); ++i) {
    const plan::Slice &mine = first.slices(int(states[i]->slice()));
    const plan::Slice &its = other.slices(int(others[i]->slice()));
    same = states[i]->role() == others[i]->role() &&
           states[i]->segment() == others[i]->segment() &&
           states[i]->type() == others[i]->type() &&
           std::equal(states[i]->axes().begin(), states[i]->axes().end(),
                      others[i]->axes().begin(), others[i]->axes().end()) &&
           mine.arena() == its.arena() && mine.offset() == its.offset() &&
           mine.bytes() == its.bytes();
  }
  return same ? absl::OkStatus()
              : differ("unit '", a.name(),
                       "' is kept in another way by another plan");
}

/// Compares what else an update does, and what is told of a step.
absl::Status needSameSteps(const plan::Plan &first, const plan::Plan &other) {
  if (first.clip_norm() != other.clip_norm() ||
      first.clip_value() != other.clip_value() ||
      first.skip_nonfinite() != other.skip_nonfinite() ||
      first.has_gradient_norm() != other.has_gradient_norm()) {
    return differ("plans clip gradients differently, or skip other steps");
  }
  if (first.has_loss_count() != other.has_loss_count()) {
    return differ("one plan has the mean of tokens for its loss, another not");
  }
  if (first.dump_gradients() != other.dump_gradients() ||
      first.has_evaluation() != other.has_evaluation()) {
    return differ("one plan evaluates, or keeps gradients to look at, and "
                  "another does not");
  }
  bool same = first.metrics_size() == other.metrics_size();
  for (int i = 0; same && i < first.metrics_size(); ++i) {
    same = first.metrics(i).name() == other.metrics(i).name();
  }
  return same ? absl::OkStatus() : differ("plans have other metrics");
}

} // namespace

absl::Status needSameStates(const plan::Plan &first, const plan::Plan &other) {
  if (worldOf(first) != worldOf(other)) {
    return differ("one plan is for ", worldOf(first), " ranks, another for ",
                  worldOf(other));
  }
  if (first.devices(0).device() != other.devices(0).device()) {
    return differ("plans are for other devices");
  }
  if (first.arenas_size() != other.arenas_size()) {
    return differ("one plan keeps states in other memory, as with --offload");
  }
  for (int i = 0; i < first.arenas_size(); ++i) {
    const plan::Arena &a = first.arenas(i), &b = other.arenas(i);
    if (a.space() != b.space() || a.device() != b.device() ||
        a.alignment() != b.alignment()) {
      return differ("one plan keeps states in other memory, as with --offload");
    }
  }
  ZG_RETURN_IF_ERROR(needSameOptimizers(first, other));
  ZG_RETURN_IF_ERROR(needSameSteps(first, other));
  for (int i = 0; i < std::min(first.units_size(), other.units_size()); ++i) {
    ZG_RETURN_IF_ERROR(
        needSameUnit(first, first.units(i), other, other.units(i)));
  }
  if (first.units_size() != other.units_size()) {
    return differ("one plan has ", first.units_size(), " units, another ",
                  other.units_size());
  }
  // After the types: on some machines they decide what a library is asked for.
  return areEqual(first.devices(), other.devices())
             ? absl::OkStatus()
             : differ("plans are for devices of other features");
}

std::vector<uint64_t> roomOf(const std::vector<const plan::Plan *> &plans) {
  std::vector<uint64_t> bytes;
  for (const plan::Plan *plan : plans) {
    bytes.resize(size_t(plan->arenas_size()));
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = std::max(bytes[i], plan->arenas(int(i)).bytes());
    }
  }
  return bytes;
}

} // namespace zerograph
