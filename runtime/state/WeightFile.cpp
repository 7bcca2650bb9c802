//===- WeightFile.cpp - parameters, gradients and states as files ---------===//

#include "runtime/state/WeightFile.h"

#include "runtime/state/Convert.h"

#include "absl/functional/function_ref.h"

#include <algorithm>
#include <set>
#include <tuple>

using namespace zerograph;

namespace {

bool isWanted(const plan::Unit &unit, const plan::State &state,
              const WeightFileOptions &options) {
  Role wanted = options.role == Role::Param ? roleOfValues(unit) : options.role;
  return roleOf(state) == wanted &&
         (unit.trainable() || !options.trainable_only);
}

bool isWanted(const plan::Parameter &parameter,
              const WeightFileOptions &options) {
  return isOfAdapter(parameter) ? options.merged == nullptr
                                : !options.adapters_only;
}

/// Returns the type in which what is merged loses nothing, whatever is held of
/// it.
plan::ElementType typeIn(const plan::Unit &unit, const ParameterPart &part,
                         const WeightFileOptions &options) {
  return options.adapters_only ? ownType(unit, *part.parameter)
                               : part.state->type();
}

/// Returns whether what is written is not what the rank holds.
bool isMerged(const plan::Parameter &parameter,
              const WeightFileOptions &options) {
  return options.merged != nullptr && parameter.has_adapter();
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

/// Weights may be held in 16 bits, which would lose most of what is added.
absl::Status writeMerged(const WeightSink &sink, const ParameterPart &part,
                         const AdapterValues &adapters) {
  plan::ElementType held = part.state->type();
  plan::ElementType own = trainedType(*part.unit, *part.parameter);
  std::vector<std::byte> values;
  return readBlocks(
      part.bytes, [&](uint64_t offset, std::byte *block, uint64_t bytes) {
        uint64_t count = bytes / elementSize(held);
        uint64_t first = part.first + offset / elementSize(held);
        values.resize(count * elementSize(own));
        convertElements(held, block, own, values.data(), count);
        adapters.add(*part.parameter, own, first, count, values.data());
        return sink(part.parameter->name(), first * elementSize(own),
                    values.size(), values.data());
      });
}

/// As elements of `to`.
absl::Status writePart(const WeightSink &sink, const ParameterPart &part,
                       double scale, plan::ElementType to) {
  plan::ElementType type = part.state->type();
  std::string name = weightName(*part.parameter, *part.state);
  uint64_t element = elementSize(type), written = elementSize(to);
  uint64_t begin = part.first * written;
  std::vector<std::byte> converted;
  return readBlocks(
      part.bytes, [&](uint64_t offset, std::byte *block, uint64_t bytes) {
        if (scale != 1) {
          absl::Status status = scaleBlock(type, block, bytes, scale);
          if (!status.ok()) {
            return annotate(status, absl::StrCat("'", name, "'"));
          }
        }
        if (to == type) {
          return sink(name, begin + offset, bytes, block);
        }
        uint64_t count = bytes / element;
        converted.resize(count * written);
        convertElements(type, block, to, converted.data(), count);
        return sink(name, begin + offset / element * written, converted.size(),
                    converted.data());
      });
}

/// Calls `visit` with each part that this rank writes.
absl::Status
forOwned(const plan::Plan &plan, const WeightFileOptions &options,
         const RankMemory &memory,
         absl::FunctionRef<absl::Status(const ParameterPart &)> visit) {
  for (const plan::Unit &unit : plan.units()) {
    std::set<std::tuple<std::string, uint64_t, uint64_t>> written;
    for (const plan::State &state : unit.states()) {
      if (!isWanted(unit, state, options)) {
        continue;
      }
      for (const HeldRange &range : ownedRanges(plan, unit, state, memory)) {
        for (const ParameterPart &part : partsOf(unit, state, range)) {
          // One role may have several views of the same elements.
          if (isWanted(*part.parameter, options) &&
              written
                  .insert({weightName(*part.parameter, state), part.first,
                           part.count})
                  .second) {
            ZG_RETURN_IF_ERROR(visit(part));
          }
        }
      }
    }
  }
  return absl::OkStatus();
}

} // namespace

std::string zerograph::weightName(const plan::Parameter &parameter,
                                  const plan::State &state) {
  return roleOf(state) == Role::Optimizer
             ? absl::StrCat(parameter.name(), ".", state.role())
             : parameter.name();
}

std::vector<SafetensorsWriter::Entry>
zerograph::weightEntries(const plan::Plan &plan,
                         const WeightFileOptions &options) {
  std::vector<SafetensorsWriter::Entry> entries;
  for (const plan::Unit &unit : plan.units()) {
    // One a segment, of which the first says as much as all.
    std::set<std::string> roles;
    for (const plan::State &state : unit.states()) {
      if (!isWanted(unit, state, options) ||
          !roles.insert(state.role()).second) {
        continue;
      }
      for (const plan::Parameter &parameter : unit.parameters()) {
        if (isWanted(parameter, options)) {
          entries.push_back(
              {weightName(parameter, state),
               isMerged(parameter, options) ? trainedType(unit, parameter)
                                            : state.type(),
               {parameter.shape().begin(), parameter.shape().end()}});
        }
      }
    }
  }
  return entries;
}

absl::StatusOr<std::unique_ptr<SafetensorsWriter>>
zerograph::createWeightFile(const std::string &path, const plan::Plan &plan,
                            const WeightFileOptions &options) {
  bool adapters = options.role == Role::Param && options.merged == nullptr;
  return SafetensorsWriter::create(path, weightEntries(plan, options),
                                   adapters ? metadataOfAdapters(plan)
                                            : Metadata());
}

absl::Status zerograph::writeWeights(const WeightSink &sink,
                                     const plan::Plan &plan,
                                     const WeightFileOptions &options,
                                     const RankMemory &memory) {
  return forOwned(plan, options, memory, [&](const ParameterPart &part) {
    return isMerged(*part.parameter, options)
               ? writeMerged(sink, part, *options.merged)
               : writePart(sink, part, options.scale,
                           typeIn(*part.unit, part, options));
  });
}

std::map<std::string, DeviceRange>
zerograph::wholeWeights(const plan::Plan &plan,
                        const WeightFileOptions &options,
                        const RankMemory &memory) {
  std::map<std::string, DeviceRange> whole;
  absl::Status found =
      forOwned(plan, options, memory, [&](const ParameterPart &part) {
        if (part.first == 0 && part.count == part.parameter->elements() &&
            options.scale == 1 && !isMerged(*part.parameter, options) &&
            typeIn(*part.unit, part, options) == part.state->type()) {
          whole[weightName(*part.parameter, *part.state)] = part.bytes;
        }
        return absl::OkStatus();
      });
  (void)found; // nothing there can fail
  return whole;
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
