//===- Advise.cpp - which strategy trains a model fastest on a machine ----===//

#include "tools/advise/Advise.h"

#include "options/Sizes.h"
#include "runtime/base/Status.h"
#include "tools/advise/Parallel.h"
#include "tools/compiler/LargestThatFits.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

namespace zerograph {
namespace {

/// A plan that is estimated to need up to so much of what there is may fit.
constexpr double kNearlyFits = 1.1;

/// Tries one strategy at several micro-batches.
class Trying {
public:
  Trying(const Question &question, Estimator &estimator,
         const Strategy &strategy)
      : question(question), estimator(estimator),
        usable(std::min(question.limit,
                        simulate::usableBytes(question.machine,
                                              question.cluster.ranks()))) {
    best.strategy = strategy;
  }

  /// Estimates micro-batches; returns the fastest that fits, or else says why
  /// the trial is rejected. Parameters and states are estimated to take `least`
  /// bytes or more of the device: with clearly more than there are, no plan is
  /// made.
  absl::StatusOr<Trial> estimate(uint64_t least) {
    if (!nearlyFits(least)) {
      best.estimated = true;
      best.state_bytes = least;
      best.rejected = absl::StrCat("needs at least ", options::sizeText(least),
                                   " of ", options::sizeText(usable),
                                   " for parameters and states alone");
      return best;
    }
    return search([&](uint64_t size) { return estimated(size); });
  }

  /// Makes the plans of a trial that was estimated; where one does not fit,
  /// looks for micro-batches again.
  absl::StatusOr<Trial> makeWhole(const Trial &trial) {
    for (uint64_t size : std::set{trial.micro_batch, trial.largest}) {
      ZG_ASSIGN_OR_RETURN(Room room, whole(size));
      if (!room.fits) {
        return search([&](uint64_t size) { return whole(size); });
      }
    }
    best.largest = trial.largest;
    return best;
  }

private:
  template <typename Ask>
  absl::StatusOr<Trial> search(const Ask &ask) {
    uint64_t part = question.global_batch / question.cluster.ranks();
    ZG_ASSIGN_OR_RETURN(LargestFit found,
                        largestThatFits(microBatchSizes(part), ask));
    if (!found.fits && !found.refused) {
      best.rejected =
          absl::StrCat("no micro-batch up to 2^16 divides a rank's ", part,
                       " samples of a step");
    }
    best.largest = found.fits ? found.fits->size : 0;
    return best;
  }

  absl::StatusOr<Room> estimated(uint64_t micro_batch) {
    ZG_ASSIGN_OR_RETURN(CompileOptions options, optionsFor(micro_batch));
    ZG_ASSIGN_OR_RETURN(Estimate found,
                        estimator.estimate(options, question.cluster));
    best.state_bytes = found.state_bytes;
    bool nearly = found.device_bytes > usable && nearlyFits(found.device_bytes);
    // A strategy is not rejected by an estimate that is about the limit.
    bool last = best.micro_batch == 0 && nearly && !found.whole;
    return last ? whole(micro_batch) : take(micro_batch, options, found);
  }

  absl::StatusOr<Room> whole(uint64_t micro_batch) {
    ZG_ASSIGN_OR_RETURN(CompileOptions options, optionsFor(micro_batch));
    ZG_ASSIGN_OR_RETURN(Estimate found,
                        estimator.whole(options, question.cluster));
    return take(micro_batch, options, found);
  }

  absl::StatusOr<CompileOptions> optionsFor(uint64_t micro_batch) const {
    CompileOptions options = question.options;
    best.strategy.apply(options);
    options.samples = int64_t(micro_batch);
    options.accumulate = 1;
    if (question.global_batch) {
      options.accumulate = int64_t(question.global_batch /
                                   (micro_batch * question.cluster.ranks()));
    }
    ZG_RETURN_IF_ERROR(question.bind(options));
    return options;
  }

  bool nearlyFits(uint64_t bytes) const {
    return double(bytes) <= kNearlyFits * double(usable);
  }

  /// Keeps what was found, if it fits and is the fastest that does.
  Room take(uint64_t micro_batch, const CompileOptions &options,
            const Estimate &found) {
    Room room{found.device_bytes, usable, found.device_bytes <= usable};
    if (room.fits && found.samples_per_second > best.samples_per_second) {
      best.micro_batch = micro_batch;
      best.accumulate = uint64_t(options.accumulate);
      best.seconds = found.seconds;
      best.samples_per_second = found.samples_per_second;
      best.tokens_per_second = found.tokens_per_second;
      best.device_bytes = found.device_bytes;
      best.bound = simulate::largestOf(found.parts).key;
      best.estimated = !found.whole;
      best.rejected.clear();
    } else if (best.micro_batch == 0) {
      best.estimated = !found.whole;
      best.rejected = absl::StrCat("needs ", found.whole ? "" : "about ",
                                   options::sizeText(room.bytes), " of ",
                                   options::sizeText(room.usable),
                                   " at a micro-batch of ", micro_batch);
    }
    return room;
  }

  const Question &question;
  Estimator &estimator;
  const uint64_t usable; ///< bytes of the device
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

/// Returns the least bytes of the device that parameters and states of a
/// strategy take, by trials of its own stage or a higher one that offload the
/// same: they take as much with other micro-batches and whatever is computed
/// again, and no less at a lower stage. Returns 0 if no trial tells.
uint64_t leastStates(const Strategy &strategy,
                     const std::vector<Trial> &trials) {
  uint64_t least = 0;
  for (const Trial &trial : trials) {
    if (trial.strategy.zero_stage >= strategy.zero_stage &&
        trial.strategy.offload_optimizer == strategy.offload_optimizer &&
        trial.strategy.offload_param == strategy.offload_param) {
      least = std::max(least, trial.state_bytes);
    }
  }
  return least;
}

/// Parts strategies, by their numbers, into two rounds: by the trials of the
/// first, those of the second may be rejected. The strategies of a round are
/// tried at the same time.
std::array<std::vector<size_t>, 2>
roundsOf(const std::vector<Strategy> &strategies) {
  std::array<std::vector<size_t>, 2> rounds;
  for (size_t i = 0; i < strategies.size(); ++i) {
    bool later = strategies[i].recompute != strategies[0].recompute;
    rounds[later].push_back(i);
  }
  return rounds;
}

/// Estimates strategies. Returns the trials in their order; if all are refused,
/// the first one's error.
absl::StatusOr<std::vector<Trial>>
tryAll(const Question &question, Estimator &estimator,
       const std::vector<Strategy> &strategies) {
  std::vector<Trial> trials(strategies.size());
  std::vector<absl::Status> refusals(strategies.size());
  for (const std::vector<size_t> &round : roundsOf(strategies)) {
    std::vector<uint64_t> least;
    for (size_t i : round) {
      least.push_back(leastStates(strategies[i], trials));
    }
    inParallel(question.threads, round.size(), [&](size_t k) {
      size_t i = round[k];
      auto tried =
          Trying(question, estimator, strategies[i]).estimate(least[k]);
      refusals[i] = tried.status();
      trials[i] =
          tried.ok() ? *tried : refusedTrial(strategies[i], tried.status());
      question.tried(trials[i]);
    });
  }
  bool any = std::any_of(refusals.begin(), refusals.end(),
                         [](const absl::Status &one) { return one.ok(); });
  if (!any && !strategies.empty()) {
    return annotate(refusals[0], strategies[0].text());
  }
  return trials;
}

/// Adds trials to those that fit, fastest first, or to the rejected.
void addTrials(std::vector<Trial> trials, Advice &advice) {
  for (Trial &trial : trials) {
    (trial.micro_batch ? advice.trials : advice.rejected)
        .push_back(std::move(trial));
  }
  std::stable_sort(advice.trials.begin(), advice.trials.end(),
                   [](const Trial &a, const Trial &b) {
                     return a.samples_per_second > b.samples_per_second;
                   });
}

/// Makes the plans of the fastest, until these are what was made. Returns the
/// first error if nothing is left.
absl::Status makeFastestWhole(const Question &question, Estimator &estimator,
                              Advice &advice) {
  std::mutex failing;
  absl::Status failed;
  while (true) {
    std::vector<Trial *> estimated;
    size_t count = std::min(question.made_whole, advice.trials.size());
    for (size_t i = 0; i < count; ++i) {
      if (advice.trials[i].estimated) {
        estimated.push_back(&advice.trials[i]);
      }
    }
    if (estimated.empty()) {
      return advice.trials.empty() ? failed : absl::OkStatus();
    }
    inParallel(question.threads, estimated.size(), [&](size_t i) {
      Trial &trial = *estimated[i];
      auto made = Trying(question, estimator, trial.strategy).makeWhole(trial);
      trial = made.ok() ? *made : refusedTrial(trial.strategy, made.status());
      std::lock_guard<std::mutex> lock(failing);
      failed.Update(made.status());
    });
    addTrials(std::exchange(advice.trials, {}), advice);
  }
}

/// Estimates strategies, and makes the plans of the fastest.
absl::Status adviseOf(const Question &question, Estimator &estimator,
                      const std::vector<Strategy> &strategies, Advice &advice) {
  ZG_ASSIGN_OR_RETURN(std::vector<Trial> trials,
                      tryAll(question, estimator, strategies));
  addTrials(std::move(trials), advice);
  return makeFastestWhole(question, estimator, advice);
}

/// Returns the strategy whose plans are those of one of stage 2: what becomes
/// of gradients before the last micro-batch of a step is all that tells them
/// apart.
std::optional<Strategy> samePlansAs(const Question &question,
                                    const Strategy &strategy) {
  Strategy other = strategy;
  other.zero_stage = 1;
  bool isAsked =
      std::find(question.strategies.begin(), question.strategies.end(),
                other) != question.strategies.end();
  return strategy.zero_stage == 2 && !question.global_batch && isAsked
             ? std::optional(other)
             : std::nullopt;
}

/// Adds the trials of strategies that have others' plans, after these.
void addEquivalents(const Question &question, Advice &advice) {
  for (const Strategy &strategy : question.strategies) {
    std::optional<Strategy> same = samePlansAs(question, strategy);
    for (std::vector<Trial> *trials : {&advice.trials, &advice.rejected}) {
      auto found =
          std::find_if(trials->begin(), trials->end(), [&](const Trial &trial) {
            return trial.strategy == same;
          });
      if (found != trials->end()) {
        Trial trial = *found;
        trial.strategy = strategy;
        trials->insert(found + 1, trial);
        question.tried(trial);
        break;
      }
    }
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

absl::StatusOr<Advice> advise(const Question &question, Estimator &estimator) {
  std::vector<Strategy> first, second;
  for (const Strategy &strategy : question.strategies) {
    bool later = offloads(strategy) && !question.all;
    if (!samePlansAs(question, strategy)) {
      (later ? second : first).push_back(strategy);
    }
  }
  Advice advice;
  ZG_RETURN_IF_ERROR(adviseOf(question, estimator, first, advice));
  if (advice.trials.empty()) {
    ZG_RETURN_IF_ERROR(adviseOf(question, estimator, second, advice));
  }
  addEquivalents(question, advice);
  return advice;
}

} // namespace zerograph
