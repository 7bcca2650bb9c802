//===- Advise.cpp - which strategy trains a model fastest on a machine ----===//

#include "tools/advise/Advise.h"

#include "options/Sizes.h"
#include "runtime/base/Status.h"
#include "tools/compiler/LargestThatFits.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

namespace zerograph {
namespace {

/// Tries one strategy at several micro-batches.
class Trying {
public:
  Trying(const Question &question, const Strategy &strategy)
      : question(question) {
    best.strategy = strategy;
  }

  absl::StatusOr<Trial> run() {
    uint64_t part = question.global_batch / question.cluster.ranks();
    ZG_ASSIGN_OR_RETURN(LargestFit found, largestThatFits(microBatchSizes(part),
                                                          [&](uint64_t size) {
                                                            return at(size);
                                                          }));
    if (!found.fits && !found.refused) {
      best.rejected =
          absl::StrCat("no micro-batch up to 2^16 divides a rank's ", part,
                       " samples of a step");
    }
    best.largest = found.fits ? found.fits->size : 0;
    return best; // rejected, where nothing fits
  }

private:
  /// Compiles and simulates; keeps the fastest that fits.
  absl::StatusOr<Room> at(uint64_t micro_batch) {
    CompileOptions options = question.options;
    best.strategy.apply(options);
    options.samples = int64_t(micro_batch);
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
    uint64_t needed = summary.device_bytes;
    uint64_t usable = std::min(summary.usable_bytes, question.limit);
    bool fits = needed <= usable;
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
    return Room{needed, usable, fits};
  }

  const Question &question;
  Trial best;
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
