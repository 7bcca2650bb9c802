//===- Advise.cpp - which strategy trains a model fastest on a machine ----===//

#include "tools/advise/Advise.h"

#include "options/Sizes.h"
#include "runtime/base/Status.h"
#include "tools/advise/Estimate.h"
#include "tools/compiler/LargestThatFits.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>

namespace zerograph {
namespace {

/// Trials whose plans are made whole, if they are the fastest.
constexpr size_t kMadeWhole = 3;

/// Tries one strategy at several micro-batches.
class Trying {
public:
  enum class Way { Estimate, Whole };

  Trying(const Question &question, Estimator &estimator,
         const Strategy &strategy, Way way)
      : question(question), estimator(estimator), way(way) {
    best.strategy = strategy;
  }

  /// Tries micro-batches; returns the fastest that fits.
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

  /// Makes the plan of a trial that was estimated; where it does not fit, those
  /// of other micro-batches.
  absl::StatusOr<Trial> makeWhole(const Trial &trial) {
    ZG_ASSIGN_OR_RETURN(Room room, at(trial.micro_batch));
    if (!room.fits) {
      return run();
    }
    best.largest = trial.largest;
    return best;
  }

private:
  /// Asks for an estimate or the whole; keeps the fastest that fits.
  absl::StatusOr<Room> at(uint64_t micro_batch) {
    CompileOptions options = question.options;
    best.strategy.apply(options);
    options.samples = int64_t(micro_batch);
    uint64_t accumulate = 1;
    if (question.global_batch) {
      accumulate =
          question.global_batch / (micro_batch * question.cluster.ranks());
    }
    options.accumulate = int64_t(accumulate);
    ZG_RETURN_IF_ERROR(question.bind(options));
    ZG_ASSIGN_OR_RETURN(Estimate found, way == Way::Whole
                                            ? estimator.whole(options)
                                            : estimator.estimate(options));
    uint64_t usable = std::min(found.usable_bytes, question.limit);
    bool fits = found.device_bytes <= usable;
    if (fits && found.samples_per_second > best.samples_per_second) {
      best.micro_batch = micro_batch;
      best.accumulate = accumulate;
      best.seconds = found.seconds;
      best.samples_per_second = found.samples_per_second;
      best.tokens_per_second = found.tokens_per_second;
      best.device_bytes = found.device_bytes;
      best.bound = simulate::largestOf(found.parts).key;
      best.estimated = !found.whole;
    } else if (best.micro_batch == 0) {
      best.rejected = absl::StrCat(
          "needs ", options::sizeText(found.device_bytes), " of ",
          options::sizeText(usable), " at a micro-batch of ", micro_batch);
    }
    return Room{found.device_bytes, usable, fits};
  }

  const Question &question;
  Estimator &estimator;
  Way way;
  Trial best;
};

bool offloads(const Strategy &strategy) {
  return strategy.offload_optimizer != "none" ||
         strategy.offload_param != "none";
}

/// Returns the trial of a strategy that was refused, with the reason.
Trial refusedTrial(const Strategy &strategy, const absl::Status &refusal) {
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

/// Calls `work` with each of so many numbers, as many at a time as the question
/// says.
void inParallel(const Question &question, size_t count,
                const std::function<void(size_t)> &work) {
  std::atomic<size_t> next = 0;
  auto all = [&]() {
    for (size_t i = next++; i < count; i = next++) {
      work(i);
    }
  };
  std::vector<std::jthread> others;
  for (size_t k = 1; k < std::min<size_t>(question.threads, count); ++k) {
    others.emplace_back(all);
  }
  all();
}

/// Estimates strategies. Returns the trials in their order; if all are refused,
/// the first one's error.
absl::StatusOr<std::vector<Trial>>
tryAll(const Question &question, Estimator &estimator,
       const std::vector<Strategy> &strategies) {
  std::vector<Trial> trials(strategies.size());
  std::vector<absl::Status> refusals(strategies.size());
  std::mutex telling;
  inParallel(question, strategies.size(), [&](size_t i) {
    auto tried =
        Trying(question, estimator, strategies[i], Trying::Way::Estimate).run();
    refusals[i] = tried.status();
    trials[i] =
        tried.ok() ? *tried : refusedTrial(strategies[i], tried.status());
    if (question.tried) {
      std::lock_guard<std::mutex> lock(telling);
      question.tried(trials[i]);
    }
  });
  bool any = std::any_of(refusals.begin(), refusals.end(),
                         [](const absl::Status &one) { return one.ok(); });
  if (!any && !strategies.empty()) {
    return annotate(refusals[0], strategies[0].text());
  }
  return trials;
}

/// Moves trials to where they belong.
void sortTrials(std::vector<Trial> trials, Advice &advice) {
  for (Trial &trial : trials) {
    (trial.micro_batch ? advice.trials : advice.rejected).push_back(trial);
  }
  std::stable_sort(advice.trials.begin(), advice.trials.end(),
                   [](const Trial &a, const Trial &b) {
                     return a.samples_per_second > b.samples_per_second;
                   });
}

/// Makes the plans of the fastest, until these are what was made.
void makeFastestWhole(const Question &question, Estimator &estimator,
                      Advice &advice) {
  while (true) {
    std::vector<Trial *> estimated;
    for (size_t i = 0; i < std::min(kMadeWhole, advice.trials.size()); ++i) {
      if (advice.trials[i].estimated) {
        estimated.push_back(&advice.trials[i]);
      }
    }
    if (estimated.empty()) {
      return;
    }
    inParallel(question, estimated.size(), [&](size_t i) {
      Trial &trial = *estimated[i];
      auto made =
          Trying(question, estimator, trial.strategy, Trying::Way::Whole)
              .makeWhole(trial);
      trial = made.ok() ? *made : refusedTrial(trial.strategy, made.status());
    });
    sortTrials(std::exchange(advice.trials, {}), advice);
  }
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
  Estimator estimator(question.machine, question.cluster);
  ZG_ASSIGN_OR_RETURN(std::vector<Trial> trials,
                      tryAll(question, estimator, first));
  bool fits = std::any_of(trials.begin(), trials.end(), [](const Trial &trial) {
    return trial.micro_batch > 0;
  });
  if (!fits) {
    ZG_ASSIGN_OR_RETURN(std::vector<Trial> more,
                        tryAll(question, estimator, second));
    trials.insert(trials.end(), more.begin(), more.end());
  }
  Advice advice;
  sortTrials(std::move(trials), advice);
  makeFastestWhole(question, estimator, advice);
  return advice;
}

} // namespace zerograph
