//===- WeightFile.cpp - parameters and gradients as files -----------------===//

#include "runtime/state/WeightFile.h"

#include <algorithm>
#include <set>
#include <tuple>

using namespace zerograph;

namespace {

bool hasRole(const plan::Unit &unit, const WeightFileOptions &options) {
  if (options.trainable_only && !unit.trainable()) {
    return false;
  }
  return std::any_of(
      unit.states().begin(), unit.states().end(),
      [&](const plan::State &state) { return state.role() == options.role; });
}

/// Of the states of this role, which are of one type.
plan::ElementType typeOf(const plan::Unit &unit, absl::string_view role) {
  for (const plan::State &state : unit.states()) {
    if (state.role() == role) {
      return state.type();
    }
  }
  return unit.type();
}

/// The update's own arithmetic: one factor of the element's type.
template <typename Element>
void scaleAll(std::byte *data, uint64_t bytes, double scale) {
  auto factor = Element(scale);
  auto *values = reinterpret_cast<Element *>(data);
  std::transform(values, values + bytes / sizeof(Element), values,
                 [=](Element value) { return value * factor; });
}

absl::Status scaleBlock(plan::ElementType type, std::byte *data, uint64_t bytes,
                        double scale) {
  switch (type) {
  case plan::F32:
    scaleAll<float>(data, bytes, scale);
    return absl::OkStatus();
  case plan::F64:
    scaleAll<double>(data, bytes, scale);
    return absl::OkStatus();
  default:
    return absl::UnimplementedError(
        absl::StrCat("elements are ", plan::ElementType_Name(type),
                     ": only F32 and F64 can be scaled"));
  }
}

absl::Status writePart(const WeightSink &sink, const ParameterPart &part,
                       double scale) {
  plan::ElementType type = part.state->type();
  const std::string &name = part.parameter->name();
  uint64_t begin = part.first * elementSize(type);
  return readBlocks(
      part.bytes, [&](uint64_t offset, std::byte *block, uint64_t bytes) {
        if (scale != 1) {
          absl::Status status = scaleBlock(type, block, bytes, scale);
          if (!status.ok()) {
            return annotate(status, absl::StrCat("'", name, "'"));
          }
        }
        return sink(name, begin + offset, bytes, block);
      });
}

} // namespace

absl::StatusOr<std::unique_ptr<SafetensorsWriter>>
zerograph::createWeightFile(const std::string &path, const plan::Plan &plan,
                            const WeightFileOptions &options) {
  std::vector<SafetensorsWriter::Entry> entries;
  for (const plan::Unit &unit : plan.units()) {
    if (!hasRole(unit, options)) {
      continue;
    }
    for (const plan::Parameter &parameter : unit.parameters()) {
      entries.push_back({parameter.name(),
                         typeOf(unit, options.role),
                         {parameter.shape().begin(), parameter.shape().end()}});
    }
  }
  return SafetensorsWriter::create(path, std::move(entries));
}

absl::Status zerograph::writeWeights(const WeightSink &sink,
                                     const plan::Plan &plan,
                                     const WeightFileOptions &options,
                                     const RankMemory &memory) {
  for (const plan::Unit &unit : plan.units()) {
    if (!hasRole(unit, options)) {
      continue;
    }
    std::set<std::tuple<const plan::Parameter *, uint64_t, uint64_t>> written;
    for (const plan::State &state : unit.states()) {
      if (state.role() != options.role) {
        continue;
      }
      for (const HeldRange &range : ownedRanges(plan, unit, state, memory)) {
        for (const ParameterPart &part : partsOf(unit, state, range)) {
          // One role may have several views of the same elements.
          if (written.insert({part.parameter, part.first, part.count}).second) {
            ZG_RETURN_IF_ERROR(writePart(sink, part, options.scale));
          }
        }
      }
    }
  }
  return absl::OkStatus();
}

absl::Status zerograph::writeWeights(SafetensorsWriter &writer,
                                     const plan::Plan &plan,
                                     const WeightFileOptions &options,
                                     const RankMemory &memory) {
  return writeWeights(
      [&](const std::string &name, uint64_t offset, uint64_t bytes,
          const void *data) { return writer.write(name, offset, bytes, data); },
      plan, options, memory);
}
