//===- Initialize.cpp - the parameters' first values ---------------------===//

#include "runtime/state/Initialize.h"

#include "runtime/plan/Describe.h"
#include "runtime/plan/UnitParts.h"
#include "runtime/state/Adapters.h"
#include "runtime/state/Convert.h"
#include "runtime/state/MadeValues.h"
#include "runtime/state/NotFinite.h"
#include "runtime/state/OriginTexts.h"

#include "absl/strings/str_join.h"

using namespace zerograph;

absl::StatusOr<std::unique_ptr<ParameterSources>>
ParameterSources::open(const plan::Plan &plan,
                       const InitializeOptions &options) {
  std::unique_ptr<ParameterSources> sources(new ParameterSources);
  sources->plan = &plan;
  sources->options = options;
  TensorFile loaded;
  if (!options.load_weights.empty()) {
    Metadata metadata;
    ZG_ASSIGN_OR_RETURN(loaded, readWeights(options.load_weights, &metadata));
    ZG_RETURN_IF_ERROR(checkAdapters(options.load_weights, metadata, plan));
  }
  sources->origins = findOrigins(plan, options, loaded);
  std::vector<std::string> problems =
      problemsOf(sources->origins, plan, options, loaded);
  if (!problems.empty()) {
    return absl::InvalidArgumentError(absl::StrJoin(problems, "; "));
  }
  sources->said = notesOn(sources->origins, plan, options, loaded);
  return sources;
}

plan::ElementType
ParameterSources::typeOf(const plan::Unit &unit,
                         const plan::Parameter &parameter) const {
  auto found = origins.extents.find(parameter.name());
  return found != origins.extents.end() ? found->second.type
                                        : trainedType(unit, parameter);
}

absl::Status ParameterSources::valuesOf(const plan::Unit &unit,
                                        const plan::Parameter &parameter,
                                        uint64_t first, uint64_t count,
                                        std::byte *to) const {
  plan::ElementType type = typeOf(unit, parameter);
  auto found = origins.extents.find(parameter.name());
  if (found == origins.extents.end()) {
    MadeValues{options.init_missing.value_or(0), options.seed}.write(
        parameter, type, first, count, to);
    return absl::OkStatus();
  }
  uint64_t element = elementSize(type);
  const TensorExtent &extent = found->second;
  absl::Status status =
      extent.file->read(extent.offset + first * element, count * element, to);
  if (!status.ok()) {
    return annotate(status, absl::StrCat("parameter '", parameter.name(), "'"));
  }
  // A frozen mask may well hold -inf; a trained value would spread it.
  if (auto bad = findNotFinite(type, to, count,
                               /*infinite_allowed=*/!parameter.trainable())) {
    return absl::InvalidArgumentError(
        absl::StrCat("parameter '", parameter.name(), "' begins with ",
                     bad->name, " in element ", first + bad->index, " of ",
                     parameter.elements(), ", read from ", extent.file->path(),
                     ": it would spread to others; give other values"));
  }
  return absl::OkStatus();
}

absl::Status ParameterSources::initialize(const RankMemory &memory) const {
  ZG_RETURN_IF_ERROR(zeroStates(*plan, memory));
  for (const plan::Unit &unit : plan->units()) {
    for (const plan::State &state : unit.states()) {
      bool parameters =
          roleOf(state) == Role::Param || roleOf(state) == Role::Master;
      if (!parameters || !plan->slices(int(state.slice())).carried()) {
        continue;
      }
      for (const HeldRange &range : heldRanges(*plan, unit, state, memory)) {
        for (const ParameterPart &part : partsOf(unit, state, range)) {
          ZG_RETURN_IF_ERROR(write(part));
        }
      }
    }
  }
  return absl::OkStatus();
}

absl::Status ParameterSources::write(const ParameterPart &part) const {
  plan::ElementType from = typeOf(*part.unit, *part.parameter);
  plan::ElementType to = part.state->type();
  if (!canConvert(from, to)) {
    return absl::UnimplementedError(
        absl::StrCat("parameter '", part.parameter->name(), "' is ",
                     plan::ElementType_Name(from), ", and its state \"",
                     part.state->role(), "\" is ", plan::ElementType_Name(to),
                     ": only F32, F16 and BF16 become each other"));
  }
  uint64_t element = elementSize(to);
  std::vector<std::byte> values;
  return writeBlocks(
      part.bytes, [&](uint64_t offset, std::byte *block, uint64_t bytes) {
        uint64_t first = part.first + offset / element, count = bytes / element;
        if (from == to) {
          return valuesOf(*part.unit, *part.parameter, first, count, block);
        }
        values.resize(count * elementSize(from));
        ZG_RETURN_IF_ERROR(
            valuesOf(*part.unit, *part.parameter, first, count, values.data()));
        convertElements(from, values.data(), to, block, count);
        return absl::OkStatus();
      });
}
