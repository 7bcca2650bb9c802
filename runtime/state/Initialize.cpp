//===- Initialize.cpp - the parameters' first values ----------------------===//

#include "runtime/state/Initialize.h"

#include "runtime/plan/UnitParts.h"
#include "runtime/state/Adapters.h"
#include "runtime/state/InitializedWeights.h"
#include "runtime/state/NotFinite.h"
#include "runtime/state/OriginTexts.h"
#include "runtime/state/Transpose.h"
#include "runtime/state/WritePart.h"

#include "absl/strings/str_join.h"

#include <cstring>

using namespace zerograph;

namespace {

/// A frozen mask may well hold -inf; a trained value would spread it.
absl::Status checkFinite(const plan::Parameter &parameter,
                         const FileWeight &weight, uint64_t first,
                         uint64_t count, const std::byte *values) {
  if (auto bad = findNotFinite(weight.extent.type, values, count,
                               /*infinite_allowed=*/!parameter.trainable())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "parameter '", parameter.name(), "' begins with ", bad->name,
        " in element ", first + bad->index, " of ", parameter.elements(),
        ", read from ", weight.extent.file->path(),
        ": it would spread to others; give other values"));
  }
  return absl::OkStatus();
}

absl::Status ofParameter(const plan::Parameter &parameter,
                         const absl::Status &status) {
  return status.ok() ? status
                     : annotate(status, absl::StrCat("parameter '",
                                                     parameter.name(), "'"));
}

} // namespace

absl::StatusOr<std::unique_ptr<ParameterSources>>
ParameterSources::open(const plan::Plan &plan,
                       const InitializeOptions &options) {
  std::unique_ptr<ParameterSources> sources(new ParameterSources);
  sources->plan = &plan;
  sources->options = options;
  LoadedWeights loaded;
  if (!options.load_weights.empty()) {
    Metadata metadata;
    ZG_ASSIGN_OR_RETURN(
        loaded, loadWeights(options.load_weights, options.names, &metadata));
    ZG_RETURN_IF_ERROR(checkAdapters(options.load_weights, metadata, plan));
  }
  sources->origins = findOrigins(plan, options, loaded);
  std::vector<std::string> problems =
      problemsOf(sources->origins, plan, options, loaded);
  if (!problems.empty()) {
    return absl::InvalidArgumentError(absl::StrJoin(problems, "; "));
  }
  sources->said = notesOn(sources->origins, plan, options, loaded);
  sources->warned = warningOn(sources->origins, plan, loaded);
  return sources;
}

const FileWeight *
ParameterSources::weightOf(const plan::Parameter &parameter) const {
  auto found = origins.values.find(parameter.name());
  return found == origins.values.end() ? nullptr : &found->second;
}

absl::Status ParameterSources::write(const ParameterPart &part) const {
  const plan::Parameter &parameter = *part.parameter;
  const FileWeight *weight = weightOf(parameter);
  if (weight == nullptr) {
    return writeMade(part);
  }
  return writePart(
      part, weight->extent.type,
      [&](uint64_t first, uint64_t count, std::byte *to) -> absl::Status {
        ZG_RETURN_IF_ERROR(
            ofParameter(parameter, weight->read(first, count, to)));
        return checkFinite(parameter, *weight, first, count, to);
      });
}

absl::Status ParameterSources::writeMade(const ParameterPart &part) const {
  InitializedWeights made = {options.init_missing.value_or(0), options.seed};
  plan::ElementType type = trainedType(*part.unit, *part.parameter);
  return writePart(part, type,
                   [&](uint64_t first, uint64_t count, std::byte *to) {
                     made.write(*part.parameter, type, first, count, to);
                     return absl::OkStatus();
                   });
}

/// Parts of one parameter. Each has a little of every row in the file, which is
/// read once for all of them.
absl::Status ParameterSources::writeTransposed(
    const FileWeight &weight, const std::vector<ParameterPart> &parts) const {
  const plan::Parameter &parameter = *parts.front().parameter;
  uint64_t element = elementSize(weight.extent.type);
  std::vector<std::vector<std::byte>> values;
  std::vector<TransposedPart> wanted;
  for (const ParameterPart &part : parts) {
    values.emplace_back(part.count * element);
    wanted.push_back({part.first, part.count, values.back().data()});
  }
  ZG_RETURN_IF_ERROR(
      ofParameter(parameter, readTransposed(weight.extent, wanted)));
  for (size_t i = 0; i < parts.size(); ++i) {
    uint64_t begin = parts[i].first;
    ZG_RETURN_IF_ERROR(checkFinite(parameter, weight, begin, parts[i].count,
                                   values[i].data()));
    ZG_RETURN_IF_ERROR(writePart(
        parts[i], weight.extent.type,
        [&](uint64_t first, uint64_t count, std::byte *to) {
          std::memcpy(to, values[i].data() + (first - begin) * element,
                      count * element);
          return absl::OkStatus();
        }));
  }
  return absl::OkStatus();
}

absl::Status ParameterSources::initialize(const RankMemory &memory) const {
  ZG_RETURN_IF_ERROR(zeroStates(*plan, memory));
  for (const plan::Unit &unit : plan->units()) {
    // One role of one parameter at a time, so that no more is in memory.
    std::map<std::pair<std::string, Role>, std::vector<ParameterPart>> turned;
    for (const plan::State &state : unit.states()) {
      Role role = roleOf(state);
      if ((role != Role::Param && role != Role::Master) ||
          !plan->slices(int(state.slice())).carried()) {
        continue;
      }
      for (const HeldRange &range : heldRanges(*plan, unit, state, memory)) {
        for (const ParameterPart &part : partsOf(unit, state, range)) {
          const FileWeight *weight = weightOf(*part.parameter);
          if (weight != nullptr && weight->as.transposed) {
            turned[{part.parameter->name(), role}].push_back(part);
          } else {
            ZG_RETURN_IF_ERROR(write(part));
          }
        }
      }
    }
    for (const auto &[parameter, parts] : turned) {
      ZG_RETURN_IF_ERROR(
          writeTransposed(*weightOf(*parts.front().parameter), parts));
    }
  }
  return absl::OkStatus();
}
