//===- Strategies.cpp - ways to train the same model ----------------------===//

#include "tools/advise/Strategies.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace zerograph {

std::vector<std::pair<std::string, std::string>> Strategy::settings() const {
  return {{"zero", absl::StrCat(zero_stage)},
          {"recompute", recompute},
          {"offload-optimizer", offload_optimizer},
          {"offload-param", offload_param}};
}

std::string Strategy::text() const {
  std::vector<std::string> parts;
  for (const auto &[option, value] : settings()) {
    if (value != "none") {
      parts.push_back(absl::StrCat("--", option, " ", value));
    }
  }
  return absl::StrJoin(parts, " ");
}

std::vector<std::string> changesBetween(const Strategy &from,
                                        const Strategy &to) {
  std::vector<std::string> changes;
  auto before = from.settings(), after = to.settings();
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i] != after[i]) {
      changes.push_back(
          absl::StrCat("--", after[i].first, " ", after[i].second));
    }
  }
  return changes;
}

void Strategy::apply(options::Compile &options) const {
  options.zero_stage = zero_stage;
  options.recompute = recompute;
  options.offload_optimizer = offload_optimizer;
  options.offload_param = offload_param;
}

std::vector<Strategy>
strategiesOf(const options::Compile &asked,
             const std::function<bool(const std::string &)> &isGiven) {
  using Values = std::vector<std::string>;
  auto values = [&](const char *option, const std::string &value,
                    const Values &all) {
    return isGiven(option) ? Values{value} : all;
  };
  std::vector<int64_t> stages = {0, 1, 2, 3};
  if (isGiven("--zero") || asked.ranks == 1) {
    stages = {asked.zero_stage};
  }
  std::vector<Strategy> strategies;
  for (const std::string &param :
       values("--offload-param", asked.offload_param, {"none", "cpu"})) {
    for (const std::string &optimizer : values(
             "--offload-optimizer", asked.offload_optimizer, {"none", "cpu"})) {
      for (const std::string &recompute :
           values("--recompute", asked.recompute,
                  {"none", "selective", "units"})) {
        for (int64_t stage : stages) {
          // Who keeps parameters updates them, and they are shards.
          if (param == "none" || (optimizer != "none" && stage == 3)) {
            strategies.push_back({stage, recompute, optimizer, param});
          }
        }
      }
    }
  }
  return strategies;
}

} // namespace zerograph
