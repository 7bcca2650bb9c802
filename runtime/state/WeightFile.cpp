//===- WeightFile.cpp - parameters and gradients as files -----------------===//

#include "runtime/state/WeightFile.h"

#include <algorithm>
#include <set>

using namespace zerograph;

namespace {

/// Elements scaled at a time.
constexpr uint64_t kBlock = 64 << 10;

bool hasRole(const plan::Unit &unit, const WeightFileOptions &options) {
  if (options.trainable_only && !unit.trainable()) {
    return false;
  }
  return std::any_of(
      unit.states().begin(), unit.states().end(),
      [&](const plan::State &state) { return state.role() == options.role; });
}

template <typename Element>
absl::Status writeScaled(const WeightSink &sink, const std::string &name,
                         uint64_t first, uint64_t count, const std::byte *from,
                         double scale) {
  auto *values = reinterpret_cast<const Element *>(from);
  std::vector<Element> block(std::min(count, kBlock));
  // The update's own arithmetic: one factor of the element's type.
  auto factor = Element(scale);
  for (uint64_t begin = 0; begin < count; begin += kBlock) {
    uint64_t size = std::min(kBlock, count - begin);
    for (uint64_t i = 0; i < size; ++i) {
      block[i] = values[begin + i] * factor;
    }
    ZG_RETURN_IF_ERROR(sink(name, (first + begin) * sizeof(Element),
                            size * sizeof(Element), block.data()));
  }
  return absl::OkStatus();
}

absl::Status writePart(const WeightSink &sink, const plan::Unit &unit,
                       const std::string &name, uint64_t first, uint64_t count,
                       const std::byte *from, double scale) {
  if (scale != 1 && unit.type() == plan::F32) {
    return writeScaled<float>(sink, name, first, count, from, scale);
  }
  if (scale != 1 && unit.type() == plan::F64) {
    return writeScaled<double>(sink, name, first, count, from, scale);
  }
  if (scale != 1) {
    return absl::UnimplementedError(
        absl::StrCat("'", name, "' is ", plan::ElementType_Name(unit.type()),
                     ": only F32 and F64 can be scaled"));
  }
  uint64_t element = elementSize(unit.type());
  return sink(name, first * element, count * element, from);
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
                         unit.type(),
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
    uint64_t element = elementSize(unit.type());
    std::set<std::pair<uint64_t, uint64_t>> written;
    for (const plan::State &state : unit.states()) {
      if (state.role() != options.role) {
        continue;
      }
      uint64_t held = 0;
      for (const HeldRange &range : heldRanges(plan, unit, state, memory)) {
        held += range.end - range.begin;
      }
      if (plan.slices(int(state.slice())).bytes() != held * element) {
        return absl::UnimplementedError(absl::StrCat(
            "state \"", options.role, "\" of ", unit.name(),
            " has elements of another type than its parameters; such a state "
            "is not written to files"));
      }
      for (const HeldRange &range : ownedRanges(plan, unit, state, memory)) {
        for (const plan::Parameter &parameter : unit.parameters()) {
          uint64_t begin = std::max(range.begin, parameter.offset());
          uint64_t end =
              std::min(range.end, parameter.offset() + parameter.elements());
          // One role may have several views of the same elements.
          if (begin < end && written.insert({begin, end}).second) {
            ZG_RETURN_IF_ERROR(writePart(
                sink, unit, parameter.name(), begin - parameter.offset(),
                end - begin, range.data + (begin - range.begin) * element,
                options.scale));
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
