//===- SmallerPlans.cpp - what would need less memory ---------------------===//

#include "tools/compiler/SmallerPlans.h"

#include "options/Memory.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>

using namespace zerograph;

namespace {

constexpr absl::string_view kNone = "none", kFile = "nvme";

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
  Change &recompute(bool wanted) {
    return set(wanted, options.recompute, "--recompute", "units", true);
  }
  /// `optimizer`: none, cpu or nvme, of which each needs less memory than the
  /// one before; nothing comes back.
  Change &offload(const char *optimizer, bool param) {
    // Nobody has to say what `auto` finds.
    bool say = options.offload != "auto";
    std::string &now = options.offload_optimizer;
    bool further = now == "none" || (now == "cpu" && optimizer == kFile);
    return set(further && optimizer != kNone, now, "--offload-optimizer",
               optimizer, say)
        .set(param, options.offload_param, "--offload-param", "cpu", say);
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

/// Those that cost least first: a rank's share before time, time before what
/// crosses to the host, and that before what goes to a disk, which only the
/// host has less of.
std::vector<ChangedOptions> smallerPlans(const CompileOptions &options) {
  std::vector<ChangedOptions> all;
  int64_t last = options.ranks > 1 ? 3 : options.zero_stage;
  bool limits_host = options::parseMemory(options.memory).host > 0;
  for (const char *optimizer : {"none", "cpu", "nvme"}) {
    if (optimizer == kFile && !limits_host) {
      continue;
    }
    for (bool recompute : {false, true}) {
      for (int64_t stage = options.zero_stage; stage <= last; ++stage) {
        Change(options)
            .stage(stage)
            .recompute(recompute)
            .offload(optimizer, false)
            .addTo(all);
      }
      if (optimizer != kNone) {
        Change(options)
            .stage(3)
            .recompute(recompute)
            .offload(optimizer, true)
            .addTo(all);
      }
    }
  }
  return all;
}

} // namespace

std::optional<ChangedOptions>
zerograph::offloadToFit(const CompileOptions &options, Fits fits) {
  CompileOptions by_hand = options;
  by_hand.offload = "none";
  std::vector<ChangedOptions> all;
  Change(by_hand).offload("cpu", false).addTo(all);
  if (options.zero_stage == 3) {
    Change(by_hand).offload("cpu", true).addTo(all);
  }
  for (ChangedOptions &changed : all) {
    if (fits(changed.options)) {
      return std::move(changed);
    }
  }
  return std::nullopt;
}

std::string zerograph::adviseToFit(const CompileOptions &options, Fits fits) {
  std::vector<ChangedOptions> all = smallerPlans(options);
  // Of the device, none needs less than those that offload all. Where these do
  // not fit, the others need not be tried; but they may need less of the host.
  auto mostOffloaded = [](const ChangedOptions &changed) {
    return changed.options.offload_param == "cpu";
  };
  bool hopeless =
      options::parseMemory(options.memory).host == 0 &&
      std::any_of(all.begin(), all.end(), mostOffloaded) &&
      std::none_of(all.begin(), all.end(), [&](const ChangedOptions &changed) {
        return mostOffloaded(changed) && fits(changed.options);
      });
  for (const ChangedOptions &changed : all) {
    if (!hopeless && fits(changed.options)) {
      return absl::StrCat("--memory ", options.memory, " is enough with ",
                          changed.change);
    }
  }
  return absl::StrCat(
      "no higher --zero, no --recompute units and no offload needs so little: "
      "take a smaller --micro-batch or more --ranks",
      options.offload_optimizer != kNone ? ", or offload less" : "");
}
