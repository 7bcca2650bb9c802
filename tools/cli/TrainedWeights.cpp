//===- TrainedWeights.cpp - where the weights of `export` come from -------===//

#include "tools/cli/TrainedWeights.h"

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/checkpoint/Folder.h"
#include "runtime/state/Convert.h"
#include "runtime/state/LoadedWeights.h"

#include <filesystem>
#include <functional>
#include <memory>

namespace zerograph {

namespace {

/// Reads all bytes of an array.
using ReadAll = std::function<absl::StatusOr<std::string>()>;

/// An array of `path` as a weight.
frontend::TrainedWeight weightOf(const std::string &path, plan::ElementType own,
                                 const std::vector<uint64_t> &shape,
                                 ReadAll read) {
  frontend::TrainedWeight weight;
  weight.dtype = plan::ElementType_Name(own);
  weight.shape.assign(shape.begin(), shape.end());
  weight.read = [path, own, read = std::move(read)](
                    const std::string &dtype) -> absl::StatusOr<std::string> {
    plan::ElementType type = safetensorsType(dtype);
    ZG_ASSIGN_OR_RETURN(std::string bytes, read());
    if (type == own) {
      return bytes;
    }
    if (!canConvert(own, type)) {
      return absl::InternalError(absl::StrCat(path, ": no ", dtype,
                                              " can be made of its ",
                                              plan::ElementType_Name(own)));
    }
    uint64_t count = bytes.size() / elementSize(own);
    std::string converted(count * elementSize(type), '\0');
    convertElements(own, reinterpret_cast<std::byte *>(bytes.data()), type,
                    reinterpret_cast<std::byte *>(converted.data()), count);
    return converted;
  };
  return weight;
}

ReadAll readerOf(const FileWeight &weight) {
  return [weight]() -> absl::StatusOr<std::string> {
    std::string bytes(weight.extent.bytes, '\0');
    ZG_RETURN_IF_ERROR(
        weight.read(0, bytes.size() / elementSize(weight.extent.type),
                    reinterpret_cast<std::byte *>(bytes.data())));
    return bytes;
  };
}

ReadAll readerOf(std::shared_ptr<const Checkpoint> checkpoint,
                 const CheckpointTensor &tensor) {
  return [checkpoint, &tensor]() -> absl::StatusOr<std::string> {
    uint64_t elements = 0;
    byteCount(tensor.shape, 1, elements);
    std::string bytes;
    ZG_RETURN_IF_ERROR(
        checkpoint->read(tensor, 0, elements,
                         [&](uint64_t, uint64_t count, const std::byte *data) {
                           bytes.append(reinterpret_cast<const char *>(data),
                                        count * elementSize(tensor.type));
                           return absl::OkStatus();
                         }));
    return bytes;
  };
}

absl::StatusOr<WeightSource> openCheckpoint(const std::string &folder) {
  ZG_ASSIGN_OR_RETURN(std::vector<std::string> paths, checkpointsAt(folder));
  const std::string &path = paths.back();
  ZG_ASSIGN_OR_RETURN(std::shared_ptr<const Checkpoint> checkpoint,
                      Checkpoint::open(path));
  const CheckpointIndex &index = checkpoint->index();
  if (!index.run.adapters.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": has adapters beside its weights. --save-weights of a run that "
              "goes on from it adds them up: export that file"));
  }
  WeightSource source;
  for (const CheckpointTensor &tensor : index.tensors) {
    if (tensor.isWeight()) {
      source.weights.emplace(tensor.name,
                             weightOf(path, tensor.type, tensor.shape,
                                      readerOf(checkpoint, tensor)));
    }
  }
  for (const CheckpointFile &file : index.files) {
    source.files.push_back({"the weights", absl::StrCat(path, "/", file.name)});
  }
  return source;
}

} // namespace

absl::StatusOr<WeightSource> openTrainedWeights(const std::string &path,
                                                const std::string &names) {
  std::error_code ignored; // what cannot be looked at cannot be read either
  if (std::filesystem::is_directory(path, ignored)) {
    if (!names.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--names is for a file of weights, and ", path,
                       " is a folder of checkpoints, which have the model's "
                       "names: leave it out"));
    }
    return openCheckpoint(path);
  }
  WeightSource source;
  ZG_ASSIGN_OR_RETURN(LoadedWeights loaded, loadWeights(path, names));
  for (const auto &[name, array] : loaded.weights) {
    frontend::TrainedWeight weight =
        weightOf(path, array.extent.type, array.shape, readerOf(array));
    // A state_dict may well have more than the model, such as a tied weight
    // twice.
    weight.optional = !names.empty() && !array.mapped;
    source.weights.emplace(name, std::move(weight));
  }
  source.files.push_back({"the weights", path});
  source.files.push_back({"--names", names});
  return source;
}

} // namespace zerograph
