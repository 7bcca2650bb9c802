//===- Batch.h - the data of a step ---------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_BATCH_H
#define ZEROGRAPH_RUNTIME_EXEC_BATCH_H

#include "runtime/base/Status.h"

#include "absl/types/span.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace zerograph {

/// The data that one rank trains on in one step. Over all ranks, slice k *
/// ranks + r of the step's samples is micro-batch k of rank r.
class Batch {
public:
  virtual ~Batch() = default;
  /// Reads input number `input` of the plan, of micro-batch `micro_batch`: all
  /// of its elements, dense and row-major, as `bytes` bytes.
  virtual absl::Status read(uint64_t micro_batch, int input, void *to,
                            uint64_t bytes) const = 0;
  /// Returns where these bytes lie already; null where they are to be read.
  virtual const std::byte *find(uint64_t micro_batch, int input,
                                uint64_t bytes) const {
    return nullptr;
  }
};

/// A batch in memory that outlives it: micro-batch -> input -> its bytes.
class ArrayBatch final : public Batch {
public:
  using Arrays = std::vector<std::vector<absl::Span<const std::byte>>>;
  explicit ArrayBatch(Arrays arrays) : arrays(std::move(arrays)) {}

  absl::Status read(uint64_t micro_batch, int input, void *to,
                    uint64_t bytes) const override;
  const std::byte *find(uint64_t micro_batch, int input,
                        uint64_t bytes) const override;

private:
  Arrays arrays;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_BATCH_H
