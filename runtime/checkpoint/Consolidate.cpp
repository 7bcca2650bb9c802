//===- Consolidate.cpp - a checkpoint's weights as one file ---------------===//

#include "runtime/checkpoint/Consolidate.h"

#include "runtime/io/SafetensorsWriter.h"
#include "runtime/state/Convert.h"

using namespace zerograph;

namespace {

plan::ElementType typeIn(const CheckpointTensor &tensor,
                         std::optional<plan::ElementType> type) {
  return type && canConvert(tensor.type, *type) ? *type : tensor.type;
}

absl::Status writeTensor(const Checkpoint &checkpoint,
                         const CheckpointTensor &tensor, plan::ElementType to,
                         SafetensorsWriter &writer) {
  uint64_t bytes = 0, element = elementSize(to);
  byteCount(tensor.shape, 1, bytes);
  std::vector<std::byte> converted;
  return checkpoint.read(
      tensor, 0, bytes,
      [&](uint64_t first, uint64_t count, const std::byte *data) {
        if (to != tensor.type) {
          converted.resize(count * element);
          convertElements(tensor.type, data, to, converted.data(), count);
          data = converted.data();
        }
        return writer.write(tensor.name, first * element, count * element,
                            data);
      });
}

} // namespace

absl::StatusOr<uint64_t>
zerograph::consolidate(const Checkpoint &checkpoint, const std::string &path,
                       std::optional<plan::ElementType> type) {
  std::vector<SafetensorsWriter::Entry> entries;
  for (const CheckpointTensor &tensor : checkpoint.index().tensors) {
    if (tensor.isWeight()) {
      entries.push_back({tensor.name, typeIn(tensor, type), tensor.shape});
    }
  }
  ZG_ASSIGN_OR_RETURN(std::unique_ptr<SafetensorsWriter> writer,
                      SafetensorsWriter::create(
                          path, entries, checkpoint.index().run.adapters));
  for (const CheckpointTensor &tensor : checkpoint.index().tensors) {
    if (tensor.isWeight()) {
      ZG_RETURN_IF_ERROR(
          writeTensor(checkpoint, tensor, typeIn(tensor, type), *writer));
    }
  }
  ZG_RETURN_IF_ERROR(writer->commit());
  return entries.size();
}
