//===- Batch.cpp - the data of a step -------------------------------------===//

#include "runtime/exec/Batch.h"

#include <cstring>

using namespace zerograph;

const std::byte *ArrayBatch::find(uint64_t micro_batch, int input,
                                  uint64_t bytes) const {
  if (micro_batch >= arrays.size() ||
      size_t(input) >= arrays[micro_batch].size() ||
      arrays[micro_batch][size_t(input)].size() != bytes) {
    return nullptr; // `read` says what is wrong
  }
  return arrays[micro_batch][size_t(input)].data();
}

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
