//===- TrainedWeights.cpp - where the weights of `export` come from -------===//

#include "tools/cli/TrainedWeights.h"

#include "runtime/io/TensorFile.h"
#include "runtime/state/Convert.h"

namespace zerograph {

/// An array of a file as a weight.
static frontend::TrainedWeight weightOf(const TensorExtent &array) {
  frontend::TrainedWeight weight;
  weight.dtype = plan::ElementType_Name(array.type);
  weight.shape.assign(array.shape.begin(), array.shape.end());
  weight.read = [array](
                    const std::string &dtype) -> absl::StatusOr<std::string> {
    plan::ElementType type = safetensorsType(dtype);
    std::string bytes(array.bytes, '\0');
    ZG_RETURN_IF_ERROR(
        array.file->read(array.offset, array.bytes, bytes.data()));
    if (type == array.type) {
      return bytes;
    }
    if (!canConvert(array.type, type)) {
      return absl::InternalError(absl::StrCat(
          array.file->path(), ": no ", dtype, " can be made of its ",
          plan::ElementType_Name(array.type)));
    }
    uint64_t count = array.bytes / elementSize(array.type);
    std::string converted(count * elementSize(type), '\0');
    convertElements(array.type, reinterpret_cast<std::byte *>(bytes.data()),
                    type, reinterpret_cast<std::byte *>(converted.data()),
                    count);
    return converted;
  };
  return weight;
}

absl::StatusOr<WeightSource> openTrainedWeights(const std::string &path) {
  WeightSource source;
  ZG_ASSIGN_OR_RETURN(TensorFile tensors, readSafetensors(path));
  for (const auto &[name, array] : tensors) {
    source.weights.emplace(name, weightOf(array));
  }
  source.files.push_back({"the weights", path});
  return source;
}

} // namespace zerograph
