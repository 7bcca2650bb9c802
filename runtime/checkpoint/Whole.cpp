//===- Whole.cpp - a tensor of a checkpoint, read as a whole --------------===//

#include "runtime/checkpoint/Whole.h"

#include "runtime/state/Convert.h"
#include "runtime/state/Transpose.h"

using namespace zerograph;

absl::Status zerograph::visitTensor(
    const Checkpoint &checkpoint, const CheckpointTensor &tensor,
    const StateDictName &as, plan::ElementType to,
    absl::FunctionRef<absl::Status(const std::byte *, uint64_t)> visit) {
  uint64_t elements = 0, element = elementSize(to);
  byteCount(tensor.shape, 1, elements);
  std::vector<std::byte> converted;
  std::vector<std::byte> whole(as.transposed ? elements * element : 0);
  ZG_RETURN_IF_ERROR(checkpoint.read(
      tensor, 0, elements,
      [&](uint64_t first, uint64_t count, const std::byte *data) {
        if (to != tensor.type) {
          converted.resize(count * element);
          convertElements(tensor.type, data, to, converted.data(), count);
          data = converted.data();
        }
        if (!as.transposed) {
          return visit(data, count * element);
        }
        std::copy(data, data + count * element, whole.data() + first * element);
        return absl::OkStatus();
      }));
  if (!as.transposed) {
    return absl::OkStatus();
  }
  std::vector<std::byte> turned(whole.size());
  transposeMatrix(whole.data(), tensor.shape[0], tensor.shape[1], element,
                  turned.data());
  return visit(turned.data(), turned.size());
}
