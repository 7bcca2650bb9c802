//===- MemoryFitCandidates.cpp - what would need less memory --------------===//

#include "tools/compiler/MemoryFitCandidates.h"

#include "options/Memory.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>

using namespace zerograph;

namespace {

constexpr absl::string_view kNone = "none";

/// The places where states and parameters may lie, each with less memory than
/// the one before.
constexpr const char *kPlaces[] = {"none", "cpu", "nvme"};

bool isFurther(absl::string_view place, absl::string_view than) {
  auto at = [](absl::string_view name) {
    return std::find(std::begin(kPlaces), std::end(kPlaces), name);
  };
  return at(place) > at(than);
}

/// The kinds of recomputation, each with less memory than the one before.
constexpr const char *kRecomputed[] = {"none", "selective", "units"};

/// Changes options, and says how.
class Change {
public:
  explicit Change(const CompileOptions &options) : options(options) {}

  Change &stage(int64_t to) {
    if (options.zero_stage != to) {
      options.zero_stage = to;
      said.push_back(absl::StrCat("--zero ", to));
    }
    return *this;
  }
  /// A buffer of gathered parameters less, of stage 3.
  Change &gatherLate(bool wanted) {
    if (wanted && options.zero_stage == 3 && options.prefetch > 0) {
      options.prefetch = 0;
      said.push_back("--prefetch 0");
    }
    return *this;
  }
  Change &recompute(const char *wanted) {
    return set(true, options.recompute, "--recompute", wanted, true);
  }
  /// To places; nothing comes back.
  Change &offload(const char *optimizer, const char *param, const char *sums) {
    // Nobody has to say what `auto` finds.
    bool say = options.offload != "auto";
    return set(isFurther(optimizer, options.offload_optimizer),
               options.offload_optimizer, "--offload-optimizer", optimizer, say)
        .set(isFurther(param, options.offload_param), options.offload_param,
             "--offload-param", param, say)
        .set(isFurther(sums, options.offload_gradients),
             options.offload_gradients, "--offload-gradients", sums, say);
  }

  /// Unless nothing is changed, or --reduce does not allow it.
  void addTo(std::vector<ChangedOptions> &all) const {
    bool possible = options.reduce != "last" || options.zero_stage < 2;
    if (possible && !said.empty()) {
      all.push_back({options, absl::StrJoin(said, " ")});
    }
  }

private:
  Change &set(bool wanted, std::string &value, const char *option,
              const char *to, bool say) {
    if (wanted && value != to) {
      value = to;
      if (say) {
        said.push_back(absl::StrCat(option, " ", to));
      }
    }
    return *this;
  }

  CompileOptions options;
  std::vector<std::string> said;
};

/// Returns where the optimizer's states may lie, in the order of what it costs.
/// Only the host has less of what lies in files.
std::vector<const char *> placesOfStates(const CompileOptions &options) {
  bool limits_host =
      options::parseMemory(options.memory, options.ranks).host > 0;
  return {std::begin(kPlaces), std::end(kPlaces) - (limits_host ? 0 : 1)};
}

/// Returns where parameters may lie whose states lie there.
std::vector<const char *> placesOfParameters(const char *optimizer) {
  std::vector<const char *> places;
  for (const char *place : kPlaces) {
    if (place != kNone && !isFurther(place, optimizer)) {
      places.push_back(place);
    }
  }
  return places;
}

/// Returns where sums of gradients may lie with them.
std::vector<const char *> placesOfSums(const CompileOptions &options,
                                       const char *optimizer) {
  std::vector<const char *> places = {"none"};
  if (options.accumulate > 1 && options.reduce != "last" &&
      optimizer != kNone) {
    places.push_back(optimizer);
  }
  return places;
}

/// Lists those that cost least first: a rank's share before time, time before
/// what crosses to the host, and that before what goes to a disk.
std::vector<ChangedOptions> memoryFitCandidates(const CompileOptions &options) {
  std::vector<ChangedOptions> all;
  int64_t highest = options.reduce == "last" ? 1 : 3;
  int64_t last = options.ranks > 1 ? highest : options.zero_stage;
  for (const char *optimizer : placesOfStates(options)) {
    auto *recompute = std::find(std::begin(kRecomputed), std::end(kRecomputed),
                                options.recompute);
    for (; recompute != std::end(kRecomputed); ++recompute) {
      auto add = [&](int64_t stage, bool late, const char *param,
                     const char *sums) {
        Change(options)
            .stage(stage)
            .gatherLate(late)
            .recompute(*recompute)
            .offload(optimizer, param, sums)
            .addTo(all);
      };
      for (int64_t stage = options.zero_stage; stage <= last; ++stage) {
        add(stage, false, "none", "none");
      }
      if (last == 3) {
        add(last, true, "none", "none");
      }
      std::vector<const char *> sums = placesOfSums(options, optimizer);
      if (sums.size() > 1) {
        add(last, false, "none", sums.back());
      }
      for (const char *place : sums) {
        for (const char *param : placesOfParameters(optimizer)) {
          add(3, false, param, place);
          add(3, true, param, place);
        }
      }
    }
  }
  return all;
}

/// Returns whether nothing but the optimizer is offloaded, so that a share of
/// it can be.
bool offloadsTheOptimizerAlone(const CompileOptions &options) {
  return options.offload_optimizer != kNone && options.offload_param == kNone &&
         options.offload_gradients == kNone;
}

/// Returns what is changed or, with `shares`, where a share of the optimizer's
/// states is enough, the change with the least of its quarters; nothing where
/// none fits.
std::optional<ChangedOptions> leastThatFits(const ChangedOptions &whole,
                                            bool shares, Fits fits) {
  bool enough = fits(whole.options);
  // A share needs more of the device, and less of the host.
  bool host =
      options::parseMemory(whole.options.memory, whole.options.ranks).host > 0;
  if (shares && offloadsTheOptimizerAlone(whole.options) && (enough || host)) {
    for (double share : {0.25, 0.5, 0.75}) {
      ChangedOptions less = whole;
      less.options.offload_ratio = share;
      absl::StrAppend(&less.change, " --offload-ratio ", share);
      if (fits(less.options)) {
        return less;
      }
    }
  }
  return enough ? std::optional(whole) : std::nullopt;
}

} // namespace

std::optional<ChangedOptions>
zerograph::offloadToFit(const CompileOptions &options, Fits fits) {
  CompileOptions by_hand = options;
  by_hand.offload = "none";
  std::vector<ChangedOptions> all;
  for (const char *optimizer : placesOfStates(options)) {
    for (const char *sums : placesOfSums(options, optimizer)) {
      Change(by_hand).offload(optimizer, "none", sums).addTo(all);
      if (options.zero_stage == 3) {
        for (const char *param : placesOfParameters(optimizer)) {
          Change(by_hand).offload(optimizer, param, sums).addTo(all);
        }
      }
    }
  }
  for (const ChangedOptions &changed : all) {
    if (auto least = leastThatFits(changed, /*shares=*/true, fits)) {
      return least;
    }
  }
  return std::nullopt;
}

std::string zerograph::adviseToFit(const CompileOptions &options, Fits fits) {
  std::vector<ChangedOptions> all = memoryFitCandidates(options);
  // None needs less of the device than those that offload all. Where these do
  // not fit, the others need not be tried; but they may need less of the host.
  auto mostOffloaded = [](const ChangedOptions &changed) {
    return changed.options.offload_param != kNone;
  };
  options::MemoryLimits limits =
      options::parseMemory(options.memory, options.ranks);
  bool hopeless =
      limits.host == 0 && std::any_of(all.begin(), all.end(), mostOffloaded) &&
      std::none_of(all.begin(), all.end(), [&](const ChangedOptions &changed) {
        return mostOffloaded(changed) && fits(changed.options);
      });
  // A share of what the user or `auto` moves is theirs to choose.
  bool shares = options.offload_optimizer == kNone && options.offload != "auto";
  for (const ChangedOptions &changed : all) {
    if (hopeless) {
      break;
    }
    if (auto least = leastThatFits(changed, shares, fits)) {
      return absl::StrCat("--memory ", options.memory, " is enough with ",
                          least->change);
    }
  }
  for (ChangedOptions &changed : all) {
    changed.options.memory = absl::StrCat("device=", limits.device);
    if (limits.host > 0 && limits.device > 0 && fits(changed.options)) {
      return absl::StrCat("the limit of the host is in the way: the device's "
                          "alone is enough with ",
                          changed.change);
    }
  }
  return absl::StrCat(
      "no higher --zero, no --prefetch 0, no --recompute units and no offload "
      "needs so little; a smaller --micro-batch or more --ranks may",
      options.reduce == "last" ? ", or --reduce each" : "",
      options.offload_optimizer != kNone ? ", or offload less" : "");
}
