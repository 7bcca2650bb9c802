//===- PlanColumns.cpp - steps and slices of a plan, for a page -----------===//

#include "report/PlanColumns.h"

#include "runtime/plan/Cost.h"
#include "runtime/plan/Describe.h"
#include "runtime/plan/ForEachStep.h"
#include "runtime/plan/Memory.h"
#include "runtime/plan/Traffic.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

namespace zerograph::report {
namespace {

using Json = nlohmann::ordered_json;

/// Numbers texts in the order in which they are met.
class Strings {
public:
  size_t number(absl::string_view text) {
    auto [place, added] =
        numbers.try_emplace(std::string(text), numbers.size());
    if (added) {
      texts.push_back(place->first);
    }
    return place->second;
  }
  Json take() { return std::move(texts); }

private:
  std::unordered_map<std::string, size_t> numbers;
  Json texts = Json::array();
};

/// Slices as the page has them: neighbors that are carried, and have one name,
/// are one.
class Slices {
public:
  explicit Slices(const plan::Plan &plan) : plan(plan) {
    std::vector<int> order;
    for (int i = 0; i < plan.slices_size(); ++i) {
      order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return placeOf(a) < placeOf(b); });
    for (int i : order) {
      if (!joins(i)) {
        kept.push_back(plan.slices(i));
        place_in_kept[uint32_t(i)] = kept.size() - 1;
      } else {
        kept.back().set_bytes(kept.back().bytes() + plan.slices(i).bytes());
      }
    }
  }

  Json json(Strings &strings) const {
    Json name = Json::array(), arena = name, offset = name, bytes = name,
         of_class = name, carried = name;
    for (const plan::Slice &slice : kept) {
      name.push_back(strings.number(slice.name()));
      arena.push_back(slice.arena());
      offset.push_back(slice.offset());
      bytes.push_back(slice.bytes());
      of_class.push_back(strings.number(nameOf(slice.slice_class())));
      carried.push_back(int(slice.carried()));
    }
    return {{"name", name},   {"arena", arena},    {"offset", offset},
            {"bytes", bytes}, {"class", of_class}, {"carried", carried}};
  }

  /// Returns when a program uses slices that are not carried.
  Json livesJson(int program) const {
    Json slice = Json::array(), first = slice, last = slice;
    std::vector<std::optional<Life>> lives = livesOf(plan, program);
    for (size_t i = 0; i < lives.size(); ++i) {
      if (lives[i]) {
        slice.push_back(place_in_kept.at(uint32_t(i)));
        first.push_back(lives[i]->first);
        last.push_back(lives[i]->last);
      }
    }
    return {{"slice", slice}, {"first", first}, {"last", last}};
  }

private:
  std::tuple<bool, uint32_t, uint64_t> placeOf(int i) const {
    const plan::Slice &slice = plan.slices(i);
    return {!slice.carried(), slice.arena(), slice.offset()};
  }

  /// Returns whether the slice goes on where the one before it ends.
  bool joins(int i) const {
    const plan::Slice &slice = plan.slices(i);
    return !kept.empty() && slice.carried() && kept.back().carried() &&
           kept.back().arena() == slice.arena() &&
           kept.back().offset() + kept.back().bytes() == slice.offset() &&
           kept.back().name() == slice.name() &&
           kept.back().slice_class() == slice.slice_class();
  }

  const plan::Plan &plan;
  std::vector<plan::Slice> kept;
  /// Maps a slice of the plan to its place; none that joined another.
  std::map<uint32_t, size_t> place_in_kept;
};

/// Whole nanoseconds: a page needs no more.
int64_t nanoseconds(double seconds) {
  return int64_t(std::llround(std::min(seconds * 1e9, 9e18)));
}

Json stepsJson(const plan::Plan &plan, const plan::Program &program,
               Strings &strings) {
  Json stream = Json::array(), op = stream, name = stream, read = stream,
       written = stream, operations = stream;
  for (const plan::Step &step : program.steps()) {
    Cost cost = costOf(plan, step);
    MovedBytes moved = cost.moved();
    stream.push_back(step.stream());
    op.push_back(strings.number(opName(step)));
    name.push_back(strings.number(step.name()));
    read.push_back(moved.read.saturated());
    written.push_back(moved.written.saturated());
    operations.push_back(cost.computed().all().saturated());
  }
  return {{"stream", stream}, {"op", op},           {"name", name},
          {"read", read},     {"written", written}, {"operations", operations}};
}

Json predictedJson(const simulate::SimulatedProgram &program) {
  Json begin = Json::array(), lasts = begin, after = begin;
  for (const simulate::Span &span : program.timeline.steps) {
    begin.push_back(nanoseconds(span.begin));
    lasts.push_back(nanoseconds(span.end - span.begin));
  }
  return {
      {"begin", begin}, {"lasts", lasts}, {"after", program.timeline.after}};
}

Json measuredJson(const std::vector<MeasuredStep> &steps) {
  double first = steps[0].begin;
  for (const MeasuredStep &step : steps) {
    first = std::min(first, step.begin);
  }
  Json begin = Json::array(), lasts = begin, waited = begin;
  for (const MeasuredStep &step : steps) {
    begin.push_back(nanoseconds(step.begin - first));
    lasts.push_back(nanoseconds(step.end - step.begin));
    waited.push_back(nanoseconds(step.waited));
  }
  return {{"begin", begin}, {"lasts", lasts}, {"waited", waited}};
}

const char *textOf(TransferKind kind) {
  switch (kind) {
  case TransferKind::DeviceToHost:
    return "to the host";
  case TransferKind::HostToDevice:
    return "to the device";
  case TransferKind::FileToHost:
    return "from the file";
  case TransferKind::HostToFile:
    return "to the file";
  }
  return "";
}

/// Lists what ranks exchange and what a rank copies between its memories: steps
/// of one operation, way, name and reason together, with the bytes of a
/// training step.
Json exchangesJson(const plan::Plan &plan) {
  struct Sum {
    uint64_t steps = 0;
    Checked bytes = 0;
  };
  using Key = std::tuple<absl::string_view, absl::string_view, std::string,
                         std::string>;
  std::map<Key, Sum> sums;
  std::vector<Key> order; // as first met
  forEachStep(plan, [&](int p, int, const plan::Step &step) {
    uint64_t runs = runsPerStep(plan, plan.programs(p));
    std::optional<TransferKind> kind = transferKindOf(plan, step);
    if (runs == 0 || (!isCollective(step) && !kind)) {
      return;
    }
    absl::string_view op = opName(step);
    Key key{op, kind ? textOf(*kind) : op, step.name(), step.reason()};
    auto [sum, added] = sums.try_emplace(key);
    if (added) {
      order.push_back(key);
    }
    uint64_t bytes = kind ? step.accesses(0).bytes()
                          : kindOf(step).traffic(plan, step).all().saturated();
    sum->second.steps += runs;
    sum->second.bytes = sum->second.bytes + Checked(bytes) * runs;
  });
  Json list = Json::array();
  for (const Key &key : order) {
    const Sum &sum = sums.at(key);
    list.push_back({{"op", std::get<0>(key)},
                    {"way", std::get<1>(key)},
                    {"name", std::get<2>(key)},
                    {"reason", std::get<3>(key)},
                    {"steps", sum.steps},
                    {"bytes", sum.bytes.saturated()}});
  }
  return list;
}

} // namespace

Json planColumns(const plan::Plan &plan, const simulate::Prediction *prediction,
                 const MeasuredRun *measured) {
  Strings strings;
  Slices slices(plan);
  Json json = {{"arenas", Json::array()}, {"streams", Json::array()}};
  for (const plan::Arena &arena : plan.arenas()) {
    json["arenas"].push_back(
        {{"space", nameOf(arena.space())}, {"bytes", arena.bytes()}});
  }
  for (const plan::Stream &stream : plan.streams()) {
    json["streams"].push_back(stream.name());
  }
  json["slices"] = slices.json(strings);
  Json &programs = json["programs"] = Json::array();
  for (int p = 0; p < plan.programs_size(); ++p) {
    const plan::Program &program = plan.programs(p);
    programs.push_back({{"name", program.name()},
                        {"runs", runsPerStep(plan, program)},
                        {"steps", stepsJson(plan, program, strings)},
                        {"lives", slices.livesJson(p)}});
    if (measured && !(*measured)[size_t(p)].empty()) {
      programs.back()["measured"] = measuredJson((*measured)[size_t(p)]);
    }
  }
  if (prediction) {
    for (const simulate::SimulatedProgram &one : prediction->programs) {
      programs[size_t(one.program)]["predicted"] = predictedJson(one);
    }
  }
  json["exchanges"] = exchangesJson(plan);
  json["strings"] = strings.take();
  return json;
}

} // namespace zerograph::report
