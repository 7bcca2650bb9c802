//===- Adapters.h - low-rank adapters as files and as sums ----------------===//

#ifndef ZEROGRAPH_RUNTIME_STATE_ADAPTERS_H
#define ZEROGRAPH_RUNTIME_STATE_ADAPTERS_H

#include "runtime/io/TensorFile.h"
#include "runtime/plan/plan.pb.h"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace zerograph {

/// Returns whether it is a matrix of an adapter, which begins as its `init`
/// says.
bool isOfAdapter(const plan::Parameter &parameter);
/// Returns whether the plan has such.
bool hasAdapters(const plan::Plan &plan);

/// Returns what a file of the plan's adapters says of them: their ranks and
/// alpha, by PEFT's names. Nothing if there are none.
Metadata metadataOfAdapters(const plan::Plan &plan);
/// An error where a file that has this metadata has adapters, and the plan has
/// none or adds them with another alpha.
absl::Status checkAdapters(const std::string &path, const Metadata &metadata,
                           const plan::Plan &plan);

/// The adapters' matrices, whole, in the memory of the host.
class AdapterValues {
public:
  explicit AdapterValues(const plan::Plan &plan);

  /// Takes bytes [offset, offset + bytes) of a matrix. Thread-safe for bytes
  /// that are apart; the extents are the plan's.
  absl::Status write(const std::string &name, uint64_t offset, uint64_t bytes,
                     const void *data);
  /// Adds alpha / r * (B A) to `values`, elements [first, first + count) of
  /// `weight`, which has an adapter and, as that, is of `type`, F32 or F64.
  /// Computes in double and rounds once. Not while others write.
  void add(const plan::Parameter &weight, plan::ElementType type,
           uint64_t first, uint64_t count, std::byte *values) const;

private:
  struct Matrix {
    uint64_t rows = 0, columns = 0;
    std::vector<std::byte> bytes;
  };
  std::map<std::string, Matrix> matrices;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_STATE_ADAPTERS_H
