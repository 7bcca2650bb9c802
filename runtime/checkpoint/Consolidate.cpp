//===- Consolidate.cpp - a checkpoint's weights as one file ---------------===//

#include "runtime/checkpoint/Consolidate.h"

#include "runtime/io/SafetensorsWriter.h"
#include "runtime/state/Convert.h"
#include "runtime/state/Transpose.h"

using namespace zerograph;

namespace {

struct Weight {
  const CheckpointTensor *tensor;
  StateDictName as;
  plan::ElementType type;
  std::vector<uint64_t> shape;
};

absl::StatusOr<std::vector<Weight>>
weightsOf(const Checkpoint &checkpoint, const StateDictNames &names,
          std::optional<plan::ElementType> type) {
  std::vector<Weight> weights;
  for (const CheckpointTensor &tensor : checkpoint.index().tensors) {
    if (!tensor.isWeight()) {
      continue;
    }
    Weight weight = {&tensor, names.of(tensor.name), tensor.type, {}};
    if (type && canConvert(tensor.type, *type)) {
      weight.type = *type;
    }
    ZG_ASSIGN_OR_RETURN(weight.shape, weight.as.shapeOf(tensor.shape));
    weights.push_back(std::move(weight));
  }
  return weights;
}

/// Calls `visit` for all bytes of a weight, in order and in parts. One that is
/// transposed comes at once.
absl::Status visitWeight(
    const Checkpoint &checkpoint, const Weight &weight,
    absl::FunctionRef<absl::Status(const std::byte *, uint64_t)> visit) {
  const CheckpointTensor &tensor = *weight.tensor;
  uint64_t elements = 0, element = elementSize(weight.type);
  byteCount(tensor.shape, 1, elements);
  std::vector<std::byte> converted;
  std::vector<std::byte> whole(weight.as.transposed ? elements * element : 0);
  ZG_RETURN_IF_ERROR(checkpoint.read(
      tensor, 0, elements,
      [&](uint64_t first, uint64_t count, const std::byte *data) {
        if (weight.type != tensor.type) {
          converted.resize(count * element);
          convertElements(tensor.type, data, weight.type, converted.data(),
                          count);
          data = converted.data();
        }
        if (!weight.as.transposed) {
          return visit(data, count * element);
        }
        std::copy(data, data + count * element, whole.data() + first * element);
        return absl::OkStatus();
      }));
  if (!weight.as.transposed) {
    return absl::OkStatus();
  }
  std::vector<std::byte> turned(whole.size());
  transposeMatrix(whole.data(), tensor.shape[0], tensor.shape[1], element,
                  turned.data());
  return visit(turned.data(), turned.size());
}

absl::Status write(const Checkpoint &checkpoint, const std::string &path,
                   const std::vector<Weight> &weights,
                   const Metadata &metadata) {
  std::vector<SafetensorsWriter::Entry> entries;
  for (const Weight &weight : weights) {
    entries.push_back({weight.as.name, weight.type, weight.shape});
  }
  ZG_ASSIGN_OR_RETURN(std::unique_ptr<SafetensorsWriter> writer,
                      SafetensorsWriter::create(path, entries, metadata));
  for (const Weight &weight : weights) {
    uint64_t at = 0;
    ZG_RETURN_IF_ERROR(visitWeight(
        checkpoint, weight, [&](const std::byte *data, uint64_t bytes) {
          at += bytes;
          return writer->write(weight.as.name, at - bytes, bytes, data);
        }));
  }
  return writer->commit();
}

} // namespace

absl::StatusOr<uint64_t>
zerograph::consolidate(const Checkpoint &checkpoint, const std::string &path,
                       std::optional<plan::ElementType> type,
                       const StateDictNames &names) {
  ZG_ASSIGN_OR_RETURN(std::vector<Weight> weights,
                      weightsOf(checkpoint, names, type));
  ZG_RETURN_IF_ERROR(
      write(checkpoint, path, weights, checkpoint.index().run.adapters));
  return weights.size();
}
