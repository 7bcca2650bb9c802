//===- Report.cpp - a prediction for people and programs ------------------===//

#include "runtime/base/Text.h"
#include "runtime/plan/Cost.h"
#include "runtime/plan/Describe.h"
#include "runtime/plan/InspectTable.h"
#include "runtime/plan/Mesh.h"
#include "simulate/Predict.h"

#include "absl/strings/str_format.h"

#include <algorithm>
#include <cmath>

namespace zerograph::simulate {
namespace {

using Json = nlohmann::ordered_json;

/// Samples of one training step, of all ranks.
double samplesOf(const plan::Plan &plan) {
  return double(plan.micro_batch()) * std::max(1u, plan.accumulate()) *
         worldOf(plan);
}

/// Returns the tokens of a sample: the second dimension of the first input of
/// integers that has two; 0 if there is none.
double tokensOf(const plan::Plan &plan) {
  for (const plan::Input &input : plan.inputs()) {
    if (input.per_sample() && input.shape_size() == 2 &&
        (input.type() == plan::I64 || input.type() == plan::I32)) {
      return double(input.shape(1));
    }
  }
  return 0;
}

/// Returns the type of what the plan multiplies most.
plan::ElementType mostMultiplied(const Cost &cost) {
  plan::ElementType most = plan::F32;
  uint64_t adds = 0;
  for (const auto &[type, counts] : cost.operations) {
    if (counts.multiplyAdds.saturated() > adds) {
      adds = counts.multiplyAdds.saturated();
      most = type;
    }
  }
  return most;
}

/// Returns the bytes of the machine's device that the ranks can have.
double usableBytes(const Machine &machine, uint32_t ranks) {
  double kept = 0; // by what else a process needs
  if (machine.card) {
    kept = double(machine.card->total_mib << 20) -
           double(options::usableBytes(*machine.card, ranks));
  }
  return std::max(0.0, machine.memory * 1e9 - kept);
}

uint64_t deviceBytes(const plan::Plan &plan) {
  uint64_t bytes = 0;
  for (const plan::Arena &arena : plan.arenas()) {
    bytes += arena.space() == plan::DEVICE ? arena.bytes() : 0;
  }
  return bytes;
}

/// "21.9 ms": three digits.
std::string timeText(double seconds) {
  double size = std::abs(seconds);
  return size >= 1      ? absl::StrFormat("%.3g s", seconds)
         : size >= 1e-3 ? absl::StrFormat("%.3g ms", seconds * 1e3)
                        : absl::StrFormat("%.3g us", seconds * 1e6);
}

} // namespace

std::string rateText(double rate) {
  return rate >= 1000 ? grouped(uint64_t(rate + 0.5))
                      : absl::StrFormat("%.3g", rate);
}

Json predictionJson(const plan::Plan &plan, const Machine &machine,
                    const Cluster &cluster, const Prediction &prediction) {
  double seconds = prediction.seconds;
  Cost cost = costOf(plan);
  plan::ElementType type = mostMultiplied(cost);
  double peak = productPeak(type, plan, machine);
  double operations = 2 * double(cost.computed().multiplyAdds.saturated());
  uint32_t shared = machine.device == "host" ? cluster.ranks_per_node : 1;
  double bytes = double(deviceBytes(plan)) * shared;
  double usable = usableBytes(machine, cluster.ranks());
  bool tf32 = type == plan::F32 && plan.devices(0).allow_tf32();
  Json json = {
      {"machine", machine.name},
      {"nodes", cluster.nodes},
      {"ranks_per_node", cluster.ranks_per_node},
      {"step_seconds", seconds},
      {"samples_per_second", samplesOf(plan) / seconds},
      {"tokens_per_second", samplesOf(plan) * tokensOf(plan) / seconds},
      {"peak_type", tf32 ? "tf32" : nameOf(type)},
      {"peak_share", operations * shared / (peak * seconds)},
      {"ranks_per_device", shared},
      {"device_bytes", uint64_t(bytes)},
      {"usable_bytes", uint64_t(usable)},
      {"fits", bytes <= usable}};
  const Parts &parts = prediction.parts;
  json["parts"] = {
      {"products", parts.products},     {"memory", parts.memory},
      {"arithmetic", parts.arithmetic}, {"launches", parts.launches},
      {"contention", parts.contention}, {"waits", parts.waits}};
  Json &streams = json["streams"] = Json::array();
  for (int i = 0; i < plan.streams_size(); ++i) {
    double works = prediction.streams[size_t(i)];
    streams.push_back({{"stream", plan.streams(i).name()},
                       {"seconds", works},
                       {"share", works / seconds}});
  }
  Json &exposed = json["exposed"] = Json::array();
  for (const Exposed &one : prediction.exposed) {
    exposed.push_back({{"op", one.op},
                       {"name", one.name},
                       {"reason", one.reason},
                       {"before", one.before},
                       {"seconds", one.seconds}});
  }
  return json;
}

namespace {

/// Says how fast it is, and whether it fits.
std::string verdictText(const Json &json) {
  auto number = [&](const char *key) { return json[key].get<double>(); };
  auto count = [&](const char *key) { return json[key].get<uint64_t>(); };
  std::string text =
      absl::StrCat("a step takes about ", timeText(number("step_seconds")),
                   " on ", count("nodes") * count("ranks_per_node"), " ranks, ",
                   count("ranks_per_node"), " a node, of ",
                   json["machine"].get<std::string>(), "\n",
                   rateText(number("samples_per_second")), " samples a second");
  if (number("tokens_per_second") > 0) {
    absl::StrAppend(&text, ", ", rateText(number("tokens_per_second")),
                    " tokens a second");
  }
  absl::StrAppend(
      &text,
      absl::StrFormat("\n%.0f %% of the peak of products of %s, where what is "
                      "computed again counts\n",
                      100 * number("peak_share"),
                      json["peak_type"].get<std::string>()),
      json["fits"].get<bool>() ? "it fits: " : "it does not fit: ",
      sizeIn(count("device_bytes"), false), " of ",
      sizeIn(count("usable_bytes"), false));
  uint64_t together = count("ranks_per_device");
  absl::StrAppend(&text, together == 1 ? std::string()
                                       : absl::StrCat(", for ", together,
                                                      " ranks together"));
  return text + "\n";
}

} // namespace

std::string predictionText(const Json &json) {
  double seconds = json["step_seconds"].get<double>();
  std::string text = verdictText(json) + "\n";
  auto line = [&](const std::string &name, double part) {
    return std::vector<std::string>{
        name, timeText(part), absl::StrFormat("%.0f %%", 100 * part / seconds)};
  };
  const std::pair<const char *, const char *> kParts[] = {
      {"products", "products by a library"},
      {"memory", "kernels bound by memory"},
      {"arithmetic", "kernels bound by arithmetic"},
      {"launches", "launches"},
      {"contention", "slower beside other streams"},
      {"waits", "waiting for other streams"}};
  std::vector<std::vector<std::string>> lines;
  for (auto [key, name] : kParts) {
    lines.push_back(line(name, json["parts"][key].get<double>()));
  }
  absl::StrAppend(&text, "the stream that computes:\n",
                  alignedText(lines, {false, true, true}));
  lines.clear();
  for (const Json &stream : json["streams"]) {
    if (stream["seconds"].get<double>() > 0) {
      lines.push_back(line(stream["stream"].get<std::string>(),
                           stream["seconds"].get<double>()));
    }
  }
  absl::StrAppend(&text, "\nstreams work for:\n",
                  alignedText(lines, {false, true, true}));
  lines.clear();
  for (const Json &one : json["exposed"]) {
    if (lines.size() < 10 && one["seconds"].get<double>() > 0) {
      lines.push_back(
          {timeText(one["seconds"].get<double>()), one["op"].get<std::string>(),
           one["name"].get<std::string>(),
           absl::StrCat("before ", one["before"].get<std::string>())});
    }
  }
  if (!lines.empty()) {
    absl::StrAppend(&text, "\nit waits longest for:\n",
                    alignedText(lines, {true, false, false, false}));
  }
  return text;
}

} // namespace zerograph::simulate
