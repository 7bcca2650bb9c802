//===- PredictionText.cpp - a prediction for people and programs ----------===//

#include "runtime/base/Text.h"
#include "runtime/plan/InspectTable.h"
#include "simulate/Predict.h"

#include "absl/strings/str_format.h"

#include <cmath>

namespace zerograph::simulate {
namespace {

using Json = nlohmann::ordered_json;

/// "21.9 ms": three digits.
std::string timeText(double seconds) {
  double size = std::abs(seconds);
  return size < 1e-9    ? "0 s"
         : size >= 1    ? absl::StrFormat("%.3g s", seconds)
         : size >= 1e-3 ? absl::StrFormat("%.3g ms", seconds * 1e3)
                        : absl::StrFormat("%.3g us", seconds * 1e6);
}

std::string shareText(double seconds, const Prediction &prediction) {
  return prediction.seconds > 0
             ? absl::StrFormat("%.0f %%", 100 * seconds / prediction.seconds)
             : "";
}

} // namespace

std::string rateText(double rate) {
  return rate >= 1000 ? grouped(uint64_t(rate + 0.5))
                      : absl::StrFormat("%.3g", rate);
}

Json predictionJson(const plan::Plan &plan, const Prediction &prediction) {
  const Summary &summary = prediction.summary;
  Json json = {{"machine", summary.machine},
               {"nodes", summary.cluster.nodes},
               {"ranks_per_node", summary.cluster.ranks_per_node},
               {"step_seconds", prediction.seconds},
               {"samples_per_second", summary.samples_per_second},
               {"tokens_per_second", summary.tokens_per_second},
               {"peak_type", summary.peak_type},
               {"peak_share", summary.peak_share},
               {"ranks_per_device", summary.ranks_per_device},
               {"device_bytes", summary.device_bytes},
               {"usable_bytes", summary.usable_bytes},
               {"fits", summary.fits()}};
  for (const Part &part : kParts) {
    json["parts"][part.key] = prediction.parts.*part.seconds;
  }
  Json &streams = json["streams"] = Json::array();
  for (int i = 0; i < plan.streams_size(); ++i) {
    double works = prediction.streams[size_t(i)];
    streams.push_back(
        {{"stream", plan.streams(i).name()},
         {"seconds", works},
         {"share", prediction.seconds > 0 ? works / prediction.seconds : 0}});
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

std::string verdictText(const Prediction &prediction) {
  const Summary &summary = prediction.summary;
  const Cluster &cluster = summary.cluster;
  std::string text = absl::StrCat(
      "a step takes about ", timeText(prediction.seconds), " on ",
      counted(cluster.ranks(), "rank"), ", ", cluster.ranks_per_node,
      " a node, of ", summary.machine, "\n",
      rateText(summary.samples_per_second), " samples a second");
  if (summary.tokens_per_second > 0) {
    absl::StrAppend(&text, ", ", rateText(summary.tokens_per_second),
                    " tokens a second");
  }
  absl::StrAppend(
      &text,
      absl::StrFormat("\n%.2g %% of the peak of products of %s",
                      100 * summary.peak_share, summary.peak_type),
      summary.computes_again ? ", where what is computed again counts\n" : "\n",
      summary.fits() ? "it fits: " : "it does not fit: ",
      sizeIn(summary.device_bytes, false), " of ",
      sizeIn(summary.usable_bytes, false));
  uint64_t together = summary.ranks_per_device;
  absl::StrAppend(&text, together == 1 ? std::string()
                                       : absl::StrCat(", for ", together,
                                                      " ranks together"));
  const Part &largest = largestOf(prediction.parts);
  absl::StrAppend(&text, "\nmost of its time: ", largest.text, ", ",
                  shareText(prediction.parts.*largest.seconds, prediction));
  return text + "\n";
}

std::string predictionText(const plan::Plan &plan,
                           const Prediction &prediction) {
  std::string text = verdictText(prediction) + "\n";
  auto line = [&](const std::string &name, double part) {
    return std::vector<std::string>{name, timeText(part),
                                    shareText(part, prediction)};
  };
  std::vector<std::vector<std::string>> lines;
  for (const Part &part : kParts) {
    lines.push_back(line(part.text, prediction.parts.*part.seconds));
  }
  absl::StrAppend(&text, "the stream that computes:\n",
                  alignedText(lines, {false, true, true}));
  lines.clear();
  for (int i = 0; i < plan.streams_size(); ++i) {
    if (double seconds = prediction.streams[size_t(i)]; seconds > 0) {
      lines.push_back(line(plan.streams(i).name(), seconds));
    }
  }
  absl::StrAppend(&text, "\nstreams work for:\n",
                  alignedText(lines, {false, true, true}));
  lines.clear();
  for (const Exposed &one : prediction.exposed) {
    if (lines.size() < 10 && one.seconds > 0) {
      lines.push_back({timeText(one.seconds), one.op, one.name,
                       absl::StrCat("before ", one.before)});
    }
  }
  if (!lines.empty()) {
    absl::StrAppend(&text, "\nit waits longest for:\n",
                    alignedText(lines, {true, false, false, false}));
  }
  return text;
}

} // namespace zerograph::simulate
