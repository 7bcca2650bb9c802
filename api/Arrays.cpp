//===- Arrays.cpp - arrays of the C interface -----------------------------===//

#include "api/Arrays.h"

using namespace zerograph;

absl::StatusOr<TensorFile> api::arraysOf(const char *what,
                                         const zg_array *arrays, size_t count) {
  TensorFile batch;
  for (const zg_array &array : absl::MakeSpan(arrays, count)) {
    TensorExtent extent;
    extent.type = safetensorsType(array.type);
    extent.shape.assign(array.shape, array.shape + array.dims);
    if (extent.type == plan::ELEMENT_INVALID ||
        !byteCount(extent.shape, elementSize(extent.type), extent.bytes)) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, ": array '", array.name, "' is ", array.type, " ",
                       shapeText(extent.shape), ", which no input is"));
    }
    extent.file = File::ofMemory(array.name, array.data, extent.bytes);
    if (!batch.emplace(array.name, std::move(extent)).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, ": array '", array.name, "' is given twice"));
    }
  }
  return batch;
}
