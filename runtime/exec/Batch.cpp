//===- Batch.cpp - the data of a step -------------------------------------===//

#include "runtime/exec/Batch.h"

#include <cstring>

using namespace zerograph;

absl::Status ArrayBatch::read(uint64_t micro_batch, int input, void *to,
                              uint64_t bytes) const {
  if (micro_batch >= arrays.size() ||
      size_t(input) >= arrays[micro_batch].size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the batch has no input ", input, " of micro-batch ",
                     micro_batch, ", both from 0"));
  }
  absl::Span<const std::byte> from = arrays[micro_batch][size_t(input)];
  if (from.size() != bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the batch has ", from.size(), " bytes for input ", input,
                     " of micro-batch ", micro_batch, ", expected ", bytes));
  }
  std::memcpy(to, from.data(), bytes);
  return absl::OkStatus();
}
