//===- WritePart.h - fills a part of a state from values of any type ------===//

#ifndef ZEROGRAPH_RUNTIME_STATE_WRITEPART_H
#define ZEROGRAPH_RUNTIME_STATE_WRITEPART_H

#include "runtime/plan/Describe.h"
#include "runtime/state/Convert.h"
#include "runtime/state/Layout.h"

#include <vector>

namespace zerograph {

/// Writes a part block by block, converted from the type that `read` gives:
/// read(first, count, to) reads elements of the parameter.
template <typename Read>
absl::Status writePart(const ParameterPart &part, plan::ElementType from,
                       const Read &read) {
  plan::ElementType to = part.state->type();
  if (!canConvert(from, to)) {
    return absl::UnimplementedError(
        absl::StrCat("parameter '", part.parameter->name(), "' is ",
                     plan::ElementType_Name(from), ", and its state \"",
                     part.state->role(), "\" is ", plan::ElementType_Name(to),
                     ": only F32, F16 and BF16 become each other"));
  }
  uint64_t element = elementSize(to);
  std::vector<std::byte> values;
  return writeBlocks(
      part.bytes,
      [&](uint64_t offset, std::byte *block, uint64_t bytes) -> absl::Status {
        uint64_t first = part.first + offset / element, count = bytes / element;
        if (from == to) {
          return read(first, count, block);
        }
        values.resize(count * elementSize(from));
        ZG_RETURN_IF_ERROR(read(first, count, values.data()));
        convertElements(from, values.data(), to, block, count);
        return absl::OkStatus();
      });
}

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_STATE_WRITEPART_H
