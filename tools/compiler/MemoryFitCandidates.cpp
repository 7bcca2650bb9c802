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

/// Holds values of --recompute and --offload-activations.
struct Recomputation {
  std::string kind, activations;
};

/// Returns the recomputation of `options`, and those that need less memory,
/// each less than the one before.
std::vector<Recomputation> recomputationsFrom(const CompileOptions &options) {
  std::vector<Recomputation> all = {
      {options.recompute, options.offload_activations}};
  if (options.recompute != "auto") {
    all.push_back({"auto", options.offload_activations});
  }
  if (options.offload_activations == kNone) {
    all.push_back({"auto", "cpu"});
  }
  return all;
}

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
  Change &recompute(const Recomputation &wanted) {
    if (wanted.kind == "auto") {
      options.recompute_ratio = 1; // it chooses that too
    }
    return set(true, options.recompute, "--recompute", wanted.kind.c_str(),
               true)
        .set(true, options.offload_activations, "--offload-activations",
             wanted.activations.c_str(), true);
  }
  /// Sets the share of the blocks that are recomputed so.
  Change &recomputeShare(double share) {
    if (options.recompute_ratio != share) {
      options.recompute_ratio = share;
      said.push_back(absl::StrCat("--recompute-ratio ", share));
    }
    return *this;
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

  /// Returns what the options are by now.
  ChangedOptions changed() const { return {options, absl::StrJoin(said, " ")}; }
  /// Unless nothing is changed, or --reduce does not allow it.
  void addTo(std::vector<ChangedOptions> &all) const {
    bool possible = options.reduce != "last" || options.zero_stage < 2;
    if (possible && !said.empty()) {
      all.push_back(changed());
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
    for (const Recomputation &recomputation : recomputationsFrom(options)) {
      auto add = [&](int64_t stage, bool late, const char *param,
                     const char *sums) {
        Change(options)
            .stage(stage)
            .gatherLate(late)
            .recompute(recomputation)
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

bool zerograph::choosesRecomputation(const CompileOptions &options) {
  return options.recompute == "auto" ||
         options::parseBytes(options.recompute) > 0;
}

absl::StatusOr<CompileOptions>
zerograph::withBudget(const CompileOptions &options) {
  auto refused = [&](const char *why) {
    return absl::InvalidArgumentError(
        absl::StrCat("--recompute ", options.recompute, why));
  };
  if (options.recompute_ratio != 1) {
    return refused(" chooses the ratio: leave --recompute-ratio out");
  }
  options::MemoryLimits limits =
      options::parseMemory(options.memory, options.ranks);
  int64_t budget = options::parseBytes(options.recompute);
  if (budget == 0 && limits.device == 0) {
    return refused(" computes again what does not fit: give --memory, as "
                   "--memory device=80GiB");
  }
  CompileOptions result = options;
  result.recompute = "auto";
  if (budget > 0 && (limits.device == 0 || budget < limits.device)) {
    result.memory = absl::StrCat("device=", budget);
    if (limits.host > 0) {
      absl::StrAppend(&result.memory, ",host=", limits.host);
    }
    result.limited_by = absl::StrCat("--recompute ", options.recompute);
  }
  return result;
}

std::vector<ChangedOptions>
zerograph::recomputationCandidates(const CompileOptions &options) {
  CompileOptions none = options;
  none.recompute = none.offload_activations = std::string(kNone);
  std::vector<ChangedOptions> all = {{none, ""}};
  auto add = [&](const Recomputation &recomputation, double share) {
    all.push_back(
        Change(none).recompute(recomputation).recomputeShare(share).changed());
  };
  for (double share : {0.25, 0.5, 0.75, 1.0}) {
    add({"selective", "none"}, share);
  }
  for (int eighths = 1; eighths <= 8; ++eighths) {
    add({"units", "none"}, eighths / 8.0);
  }
  if (options.offload_activations != kNone) {
    for (double share : {0.5, 0.75, 1.0}) {
      add({"units", options.offload_activations}, share);
    }
  }
  return all;
}

std::string zerograph::limitOf(const CompileOptions &options) {
  return options.limited_by.empty() ? "--memory " + options.memory
                                    : options.limited_by;
}

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
      return absl::StrCat(limitOf(options), " is enough with ", least->change);
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
      "no higher --zero, no --prefetch 0, no --recompute and no offload needs "
      "so little; ",
      options.samples > 1 ? "a smaller --micro-batch, as auto finds it, " : "",
      options.dims.empty() ? "" : "a smaller --dim, ", "more --ranks may",
      options.reduce == "last" ? ", or --reduce each" : "",
      options.offload_optimizer != kNone ? ", or offload less" : "");
}
