//===- Consolidate.cpp - a checkpoint's weights as one file ---------------===//

#include "runtime/checkpoint/Consolidate.h"

#include "runtime/checkpoint/Whole.h"
#include "runtime/io/SafetensorsWriter.h"
#include "runtime/io/torch/TorchWriter.h"
#include "runtime/state/Convert.h"

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

absl::Status writeSafetensors(const Checkpoint &checkpoint,
                              const std::string &path,
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
    ZG_RETURN_IF_ERROR(visitTensor(
        checkpoint, *weight.tensor, weight.as, weight.type,
        [&](const std::byte *data, uint64_t bytes) {
          at += bytes;
          return writer->write(weight.as.name, at - bytes, bytes, data);
        }));
  }
  return writer->commit();
}

absl::Status writeTorch(const Checkpoint &checkpoint, const std::string &path,
                        const std::vector<Weight> &weights) {
  PickleWriter pickle;
  pickle.beginDictionary();
  for (const Weight &weight : weights) {
    pickle.text(weight.as.name);
    pickle.tensor(weight.type, weight.shape);
  }
  pickle.endDictionary();
  ZG_ASSIGN_OR_RETURN(std::unique_ptr<TorchWriter> writer,
                      TorchWriter::create(path, std::move(pickle)));
  for (size_t i = 0; i < weights.size(); ++i) {
    ZG_RETURN_IF_ERROR(visitTensor(checkpoint, *weights[i].tensor,
                                   weights[i].as, weights[i].type,
                                   [&](const std::byte *data, uint64_t bytes) {
                                     return writer->append(i, data, bytes);
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
  ZG_RETURN_IF_ERROR(isTorchFile(path)
                         ? writeTorch(checkpoint, path, weights)
                         : writeSafetensors(checkpoint, path, weights,
                                            checkpoint.index().run.adapters));
  return weights.size();
}
