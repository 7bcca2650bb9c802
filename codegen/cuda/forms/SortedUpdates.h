//===- SortedUpdates.h - a scatter's updates in the order of rows ---------===//

#ifndef ZEROGRAPH_CODEGEN_CUDA_FORMS_SORTEDUPDATES_H
#define ZEROGRAPH_CODEGEN_CUDA_FORMS_SORTEDUPDATES_H

#include "codegen/cuda/CudaModule.h"
#include "codegen/cuda/forms/CudaBody.h"
#include "codegen/emit/loops/ScatterLoops.h"

namespace mlir::zg::cuda {

/// The updates of a scatter, sorted by the rows of the table that they change,
/// and those of one row in their own order. The first launch writes them to the
/// kernel's scratch, later ones read them.
class SortedUpdates {
public:
  explicit SortedUpdates(const ScatterLoops &scatter)
      : updates(scatter.updates), tableRows(scatter.tableRows) {}

  /// Bounds what an i32 counts: rows, and numbers in the scratch.
  static constexpr int64_t kMostRows = int64_t(1) << 31;
  static constexpr int64_t kMostUpdates = kMostRows / 4;

  /// Returns the bytes of the scratch.
  int64_t scratchBytes() const { return 4 * 4 * updates; }

  /// Emits the launch that sorts: a stable radix sort by one block of threads,
  /// which needs no atomic operation and no other block. A table of 2^16 rows
  /// takes two passes over the updates.
  CudaLaunch emitSort(ImplicitLocOpBuilder &b, nn::KernelOp kernel,
                      ScatterLoops &scatter, const std::string &name) const;

  // Read the sorted updates at a place, as an index, in another launch.
  Value row(CudaBody &body, Value place) const;
  Value update(CudaBody &body, Value place) const;

private:
  class Sorter;

  /// Returns how many bits count the rows, how many of them a pass sorts by,
  /// and how many passes sort by all.
  unsigned rowBits() const;
  unsigned digitBits() const;
  unsigned passes() const;

  /// Reads or writes number `place` of array `array` of the scratch. Before
  /// pass i, arrays 2 (i % 2) and the one after have rows and updates.
  Value load(CudaBody &body, unsigned array, Value place) const;
  void store(CudaBody &body, unsigned array, Value place, Value word) const;

  int64_t updates, tableRows;
};

} // namespace mlir::zg::cuda

#endif // ZEROGRAPH_CODEGEN_CUDA_FORMS_SORTEDUPDATES_H
