//===- AdviceText.cpp - advice for people and programs --------------------===//

#include "tools/cli/AdviceText.h"

#include "options/Sizes.h"
#include "runtime/base/Text.h"
#include "runtime/plan/InspectTable.h"

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include <algorithm>

namespace zerograph {
namespace {

using Json = nlohmann::ordered_json;
using Lines = std::vector<std::vector<std::string>>;

/// Trials, and refusals, that the text shows.
constexpr size_t kTrials = 8, kRejected = 3;

double daysOf(const Trial &trial, const AdviceWishes &wishes) {
  return trial.tokens_per_second > 0
             ? wishes.tokens / trial.tokens_per_second / 86400
             : 0;
}

double costOf(const Trial &trial, uint32_t ranks, const AdviceWishes &wishes) {
  return daysOf(trial, wishes) * 24 * ranks * wishes.price;
}

/// Adds the titles of what follows from the tokens, where they are known.
void addTitles(const AdviceWishes &wishes, std::vector<std::string> &line) {
  if (wishes.tokens > 0) {
    line.push_back("days");
  }
  if (wishes.price > 0) {
    line.push_back("price");
  }
}

/// Adds what these titles are of; samples without tokens have none.
void addDays(const Trial &trial, uint32_t ranks, const AdviceWishes &wishes,
             std::vector<std::string> &line) {
  double days = daysOf(trial, wishes);
  auto text = [&](double value) {
    return days > 0 ? simulate::rateText(value) : std::string("-");
  };
  if (wishes.tokens > 0) {
    line.push_back(text(days));
  }
  if (wishes.price > 0) {
    line.push_back(text(costOf(trial, ranks, wishes)));
  }
}

/// Aligns a table whose options and bounds are texts, and all else numbers.
std::string table(const Lines &lines) {
  std::vector<bool> right;
  for (const std::string &title : lines[0]) {
    right.push_back(title != "options" && title != "bound by" &&
                    title != "fits up to");
  }
  return alignedText(lines, right);
}

std::string rejectedText(const Trial &trial, const Advice &advice) {
  if (trial.refused) {
    return absl::StrCat(trial.strategy.text(), ": ", trial.rejected, "\n");
  }
  std::string text =
      absl::StrCat(trial.strategy.text(), " does not fit: ", trial.rejected);
  if (const Trial *nearest = nearestThatFits(trial, advice)) {
    absl::StrAppend(
        &text, "; it does with ",
        absl::StrJoin(changesBetween(trial.strategy, nearest->strategy), " "),
        ", ", simulate::rateText(nearest->samples_per_second),
        " samples a second");
  }
  return text + "\n";
}

Json trialJson(const Trial &trial, uint32_t ranks, const std::string &target,
               const AdviceWishes &wishes) {
  Json options = {{"target", target}};
  for (const auto &[option, value] : trial.strategy.settings()) {
    options[option] = value;
  }
  options["micro-batch"] = trial.micro_batch;
  options["accumulate"] = trial.accumulate;
  Json json = {{"strategy", trial.strategy.text()},
               {"options", options},
               {"micro_batch", trial.micro_batch},
               {"largest_micro_batch", trial.largest},
               {"accumulate", trial.accumulate},
               {"device_bytes", trial.device_bytes},
               {"step_seconds", trial.seconds},
               {"samples_per_second", trial.samples_per_second},
               {"tokens_per_second", trial.tokens_per_second},
               {"bound", trial.bound},
               {"estimated", trial.estimated}};
  if (double days = daysOf(trial, wishes); days > 0) {
    json["days"] = days;
    if (wishes.price > 0) {
      json["price"] = costOf(trial, ranks, wishes);
    }
  }
  return json;
}

/// Returns a trial that did not fit, and what would make it fit.
Json rejectedJson(const Trial &trial, const Advice &advice) {
  Json json = {{"strategy", trial.strategy.text()},
               {"rejected", trial.rejected},
               {"estimated", trial.estimated}};
  const Trial *nearest = nearestThatFits(trial, advice);
  if (nearest && !trial.refused) {
    json["fits_with"] =
        absl::StrJoin(changesBetween(trial.strategy, nearest->strategy), " ");
    json["samples_per_second"] = nearest->samples_per_second;
  }
  return json;
}

} // namespace

std::string optionsText(const Trial &trial) {
  std::string text =
      absl::StrCat(trial.strategy.text(), " --micro-batch ", trial.micro_batch);
  if (trial.accumulate > 1) {
    absl::StrAppend(&text, " --accumulate ", trial.accumulate);
  }
  return text;
}

std::string adviceText(const RanksAdvice &ranks, const AdviceWishes &wishes) {
  const Advice &advice = ranks.advice;
  std::string text;
  if (!advice.trials.empty()) {
    Lines lines = {{"options", "memory", "step", "samples a second", "bound by",
                    "fits up to"}};
    addTitles(wishes, lines[0]);
    bool estimated = false;
    for (const Trial &trial : advice.trials) {
      if (wishes.all || lines.size() <= kTrials) {
        const char *about = trial.estimated ? "~" : "";
        lines.push_back(
            {optionsText(trial),
             absl::StrCat(about, options::sizeText(trial.device_bytes)),
             absl::StrFormat("%s%.3g s", about, trial.seconds),
             about + simulate::rateText(trial.samples_per_second), trial.bound,
             absl::StrCat("micro-batch ", trial.largest)});
        estimated = estimated || trial.estimated;
        addDays(trial, ranks.cluster.ranks(), wishes, lines.back());
      }
    }
    text = table(lines);
    if (estimated) {
      absl::StrAppend(&text, "~: estimated by plans of fewer layers\n");
    }
  }
  size_t shown = wishes.all || advice.trials.empty()
                     ? advice.rejected.size()
                     : std::min(kRejected, advice.rejected.size());
  absl::StrAppend(&text, shown > 0 && !text.empty() ? "\n" : "");
  for (size_t i = 0; i < shown; ++i) {
    absl::StrAppend(&text, rejectedText(advice.rejected[i], advice));
  }
  if (shown < advice.rejected.size()) {
    absl::StrAppend(&text, "and ", advice.rejected.size() - shown,
                    " more are rejected (--all)\n");
  }
  return text;
}

std::string ranksText(const std::vector<RanksAdvice> &all,
                      const AdviceWishes &wishes) {
  Lines lines = {
      {"ranks", "options", "memory", "step", "samples a second", "a rank"}};
  addTitles(wishes, lines[0]);
  std::string none;
  for (const RanksAdvice &one : all) {
    uint32_t ranks = one.cluster.ranks();
    if (one.advice.trials.empty()) {
      absl::StrAppend(&none, "nothing fits on ", counted(ranks, "rank"), "\n");
      continue;
    }
    const Trial &best = one.advice.trials.front();
    lines.push_back({absl::StrCat(ranks), optionsText(best),
                     options::sizeText(best.device_bytes),
                     absl::StrFormat("%.3g s", best.seconds),
                     simulate::rateText(best.samples_per_second),
                     simulate::rateText(best.samples_per_second / ranks)});
    addDays(best, ranks, wishes, lines.back());
  }
  return (lines.size() > 1 ? table(lines) : "") + none;
}

Json adviceJson(const RanksAdvice &ranks, const std::string &target,
                const AdviceWishes &wishes) {
  Json json = {{"ranks", ranks.cluster.ranks()},
               {"ranks_per_node", ranks.cluster.ranks_per_node},
               {"trials", Json::array()},
               {"rejected", Json::array()}};
  for (const Trial &trial : ranks.advice.trials) {
    json["trials"].push_back(
        trialJson(trial, ranks.cluster.ranks(), target, wishes));
  }
  for (const Trial &trial : ranks.advice.rejected) {
    json["rejected"].push_back(rejectedJson(trial, ranks.advice));
  }
  return json;
}

} // namespace zerograph
