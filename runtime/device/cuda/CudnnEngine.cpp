//===- CudnnEngine.cpp - an engine's name, and how it is set --------------===//

#include "runtime/device/cuda/CudnnEngine.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

using namespace zerograph;

namespace {

/// More than there are types of knobs.
constexpr int64_t kMostKnobs = 64;

} // namespace

std::string CudnnEngine::text() const {
  return absl::StrCat("engine ", index, knobs.empty() ? "" : ", ",
                      absl::StrJoin(knobs, " ", absl::PairFormatter("=")));
}

absl::StatusOr<CudnnEngine> CudnnEngine::parse(absl::string_view text) {
  CudnnEngine engine;
  std::vector<absl::string_view> parts = absl::StrSplit(text, ", ");
  bool good = absl::ConsumePrefix(&parts[0], "engine ") &&
              absl::SimpleAtoi(parts[0], &engine.index) && parts.size() <= 2;
  if (good && parts.size() == 2) {
    for (absl::string_view knob : absl::StrSplit(parts[1], ' ')) {
      std::pair<absl::string_view, absl::string_view> sides =
          absl::StrSplit(knob, absl::MaxSplits('=', 1));
      int32_t type = 0;
      int64_t value = 0;
      good = good && absl::SimpleAtoi(sides.first, &type) &&
             absl::SimpleAtoi(sides.second, &value);
      engine.knobs[type] = value;
    }
  }
  if (!good || engine.text() != text) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is no engine of cuDNN, as 'engine 7, 2=1'"));
  }
  return engine;
}

absl::StatusOr<CudnnEngine> CudnnEngine::read(const CudnnDescriptor &named,
                                              const CudnnDescriptor &config) {
  CudnnEngine engine;
  ZG_ASSIGN_OR_RETURN(engine.index,
                      named.number(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
  ZG_ASSIGN_OR_RETURN(auto knobs,
                      config.descriptors(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                                         CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR,
                                         kMostKnobs));
  for (const CudnnDescriptor &knob : knobs) {
    ZG_ASSIGN_OR_RETURN(
        auto types,
        knob.values(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1));
    ZG_ASSIGN_OR_RETURN(int64_t value,
                        knob.number(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE));
    if (!types.empty()) {
      engine.knobs[types[0]] = value;
    }
  }
  return engine;
}
