//===- Advise.cpp - which strategy trains a model fastest on a machine ----===//

#include "tools/advise/Advise.h"

#include "options/Sizes.h"
#include "runtime/base/Status.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

namespace zerograph {
namespace {

/// At most so many micro-batches of a strategy are tried, of at most so many
/// samples.
constexpr int kMostTries = 10;
constexpr uint64_t kMostSamples = 1 << 16;

/// Tries one strategy at several micro-batches.
class Trying {
public:
  Trying(const Question &question, const Strategy &strategy)
      : question(question) {
    best.strategy = strategy;
  }

  absl::StatusOr<Trial> run() {
    ZG_ASSIGN_OR_RETURN(bool fits, at(1));
    if (!fits) {
      return best; // rejected
    }
    uint64_t bytes = needed;
    ZG_RETURN_IF_ERROR(question.global_batch ? divide(bytes) : search(bytes));
    return best;
  }

private:
  /// Finds the largest micro-batch that fits, where one of 1 needs `bytes`.
  /// Memory grows about evenly with it: each guess is where it should end.
  absl::Status search(uint64_t bytes) {
    uint64_t fitting = 1, bytesFitting = bytes;
    uint64_t refused = 0; // the smallest, once one is known
    double slope = 0;
    for (int tries = 0; tries < kMostTries; ++tries) {
      if (refused == fitting + 1 || fitting == kMostSamples) {
        break;
      }
      uint64_t more = 1;
      if (slope > 0) {
        more = uint64_t(std::min(double(kMostSamples),
                                 double(usable - bytesFitting) / slope));
      }
      uint64_t end = refused ? refused - 1 : kMostSamples;
      uint64_t next = std::clamp(fitting + more, fitting + 1, end);
      ZG_ASSIGN_OR_RETURN(bool fits, at(next));
      (fits ? fitting : refused) = next;
      bytesFitting = fits ? needed : bytesFitting;
      slope = (double(needed) - double(bytes)) / double(next - 1);
    }
    return absl::OkStatus();
  }

  /// Tries the powers of two that divide a rank's samples of a step, the
  /// largest that should fit first.
  absl::Status divide(uint64_t bytes) {
    uint64_t part = question.global_batch / question.cluster.ranks();
    uint64_t most = part & (~part + 1);
    if (most < 2) {
      return absl::OkStatus();
    }
    ZG_ASSIGN_OR_RETURN(bool fits, at(2));
    double slope = std::max(1.0, double(needed) - double(bytes));
    double room = double(usable - bytes) / slope + 1;
    uint64_t size = 2;
    while (fits && double(2 * size) <= room && 2 * size <= most) {
      size *= 2;
    }
    for (fits = false; size > 2 && !fits; size /= 2) {
      ZG_ASSIGN_OR_RETURN(fits, at(size));
    }
    return absl::OkStatus();
  }

  /// Compiles and simulates; keeps the fastest that fits. Returns whether this
  /// one does.
  absl::StatusOr<bool> at(uint64_t micro_batch) {
    CompileOptions options = question.options;
    best.strategy.apply(options);
    options.micro_batch = int64_t(micro_batch);
    options.until = CompileOptions::Until::Costed;
    options.dump_ir.clear();
    uint64_t accumulate = 1;
    if (question.global_batch) {
      accumulate =
          question.global_batch / (micro_batch * question.cluster.ranks());
    }
    options.accumulate = int64_t(accumulate);
    ZG_RETURN_IF_ERROR(question.bind(options));
    ZG_ASSIGN_OR_RETURN(CompileResult result, compile(options));
    ZG_ASSIGN_OR_RETURN(
        simulate::Prediction prediction,
        simulate::predict(result.plan, question.machine, question.cluster));
    const simulate::Summary &summary = prediction.summary;
    needed = summary.device_bytes;
    usable = std::min(summary.usable_bytes, question.limit);
    bool fits = needed <= usable;
    if (fits) {
      best.largest = std::max(best.largest, micro_batch);
    }
    if (fits && summary.samples_per_second > best.samples_per_second) {
      best.micro_batch = micro_batch;
      best.accumulate = accumulate;
      best.seconds = prediction.seconds;
      best.samples_per_second = summary.samples_per_second;
      best.tokens_per_second = summary.tokens_per_second;
      best.device_bytes = needed;
      best.bound = simulate::largestOf(prediction.parts).key;
    } else if (best.micro_batch == 0) {
      best.rejected = absl::StrCat("needs ", options::sizeText(needed), " of ",
                                   options::sizeText(usable),
                                   " at a micro-batch of ", micro_batch);
    }
    return fits;
  }

  const Question &question;
  Trial best;
  uint64_t needed = 0, usable = 0; // by the last that was compiled
};

bool offloads(const Strategy &strategy) {
  return strategy.offload_optimizer != "none" ||
         strategy.offload_param != "none";
}

/// Tries a strategy; one that is refused is rejected with the reason.
Trial tryOne(const Question &question, const Strategy &strategy,
             absl::Status &refusal) {
  auto tried = Trying(question, strategy).run();
  if (tried.ok()) {
    return *tried;
  }
  refusal = tried.status();
  Trial trial;
  trial.strategy = strategy;
  // "while running phase 'zero':", its first error, and then IR.
  std::vector<std::string> lines = absl::StrSplit(refusal.message(), '\n');
  trial.rejected = lines[0];
  if (lines.size() > 1) {
    absl::string_view error = absl::StripAsciiWhitespace(lines[1]);
    absl::StrAppend(&trial.rejected, " ",
                    error.substr(0, error.find(" (see current operation")));
  }
  trial.refused = true;
  return trial;
}

/// Tries strategies, as many at a time as the question says. Returns the trials
/// in their order; if all are refused, the first one's error.
absl::StatusOr<std::vector<Trial>>
tryAll(const Question &question, const std::vector<Strategy> &strategies) {
  std::vector<Trial> trials(strategies.size());
  std::vector<absl::Status> refusals(strategies.size());
  std::atomic<size_t> next = 0;
  std::mutex telling;
  auto work = [&]() {
    for (size_t i = next++; i < strategies.size(); i = next++) {
      trials[i] = tryOne(question, strategies[i], refusals[i]);
      if (question.tried) {
        std::lock_guard<std::mutex> lock(telling);
        question.tried(trials[i]);
      }
    }
  };
  {
    std::vector<std::jthread> others;
    for (unsigned k = 1; k < question.threads; ++k) {
      others.emplace_back(work);
    }
    work();
  }
  bool any = std::any_of(refusals.begin(), refusals.end(),
                         [](const absl::Status &one) { return one.ok(); });
  if (!any && !strategies.empty()) {
    return annotate(refusals[0], strategies[0].text());
  }
  return trials;
}

} // namespace

const Trial *nearestThatFits(const Trial &rejected, const Advice &advice) {
  auto changes = [&](const Trial &trial) {
    return changesBetween(rejected.strategy, trial.strategy).size();
  };
  auto nearest = std::min_element( // the first of equals is the fastest
      advice.trials.begin(), advice.trials.end(),
      [&](const Trial &a, const Trial &b) { return changes(a) < changes(b); });
  return nearest == advice.trials.end() ? nullptr : &*nearest;
}

absl::StatusOr<Advice> advise(const Question &question) {
  std::vector<Strategy> first, second;
  for (const Strategy &strategy : question.strategies) {
    bool later = offloads(strategy) && !question.all;
    (later ? second : first).push_back(strategy);
  }
  ZG_ASSIGN_OR_RETURN(std::vector<Trial> trials, tryAll(question, first));
  bool fits = std::any_of(trials.begin(), trials.end(), [](const Trial &trial) {
    return trial.micro_batch > 0;
  });
  if (!fits) {
    ZG_ASSIGN_OR_RETURN(std::vector<Trial> more, tryAll(question, second));
    trials.insert(trials.end(), more.begin(), more.end());
  }
  Advice advice;
  for (Trial &trial : trials) {
    (trial.micro_batch ? advice.trials : advice.rejected).push_back(trial);
  }
  std::stable_sort(advice.trials.begin(), advice.trials.end(),
                   [](const Trial &a, const Trial &b) {
                     return a.samples_per_second > b.samples_per_second;
                   });
  return advice;
}

} // namespace zerograph
