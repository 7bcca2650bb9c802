//===- Cost.h - what the steps of a plan cost -----------------------------===//
//
// Costs are counted from the plan, exactly, by stated rules; how long a step
// takes depends on the machine. Code generation counted what generated kernels
// cost (codegen/emit/Cost.h). Traffic.h counts what travels between ranks.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_COST_H
#define ZEROGRAPH_RUNTIME_PLAN_COST_H

#include "runtime/base/Checked.h"
#include "runtime/plan/plan.pb.h"

#include <array>
#include <map>

namespace zerograph {

/// Bytes between a memory and the caches of who computes or copies.
struct MovedBytes {
  Checked read = 0, written = 0;

  Checked all() const { return read + written; }
};

/// Counts operations in one type. A product's sum of k terms is k
/// multiply-adds.
struct OperationCounts {
  Checked multiplyAdds = 0, simple = 0, special = 0;

  /// A multiply-add is two.
  Checked all() const { return multiplyAdds + multiplyAdds + simple + special; }
};

struct Cost {
  /// Bytes of each plan::Space.
  std::array<MovedBytes, plan::Space_ARRAYSIZE> memory;
  /// Operations by type: of a library's products the operands' own, of kernels
  /// as plan::Operations has them.
  std::map<plan::ElementType, OperationCounts> operations;
  /// Counts launches of kernels, and calls of a library that computes.
  Checked launches = 0;

  /// Adds `times` of another.
  void add(const Cost &other, Checked times = 1);
  /// Returns the bytes of all memories but the file.
  MovedBytes moved() const;
  OperationCounts computed() const;
};

/// Returns whether the plan says what its kernels cost; plans that older
/// compilers made do not, and their kernels seem to cost nothing.
bool statesCosts(const plan::Plan &plan);

/// Returns the cost of one run of a step of a valid plan.
Cost costOf(const plan::Plan &plan, const plan::Step &step);

/// Returns the cost of one step of training, all micro-batches; of a plan that
/// runs forward, of one run.
Cost costOf(const plan::Plan &plan);

/// Returns the bytes that `batch` products of matrices, at least one, read of
/// their operands, which have `a` and `b` bytes and the result `c`. Where one
/// of the three matrices has at most kCachedOperand bytes, it stays in a cache,
/// and each operand is read once. Else the smaller operand or the result is cut
/// into such parts, whichever costs less: for each part of the smaller operand
/// the larger one is read again, for each of the result the smaller one.
std::array<Checked, 2> readInProduct(uint64_t batch, uint64_t a, uint64_t b,
                                     uint64_t c);

/// The bytes that the last cache of a GPU or a processor holds beside other
/// things, about.
inline constexpr uint64_t kCachedOperand = 16 << 20;

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_COST_H
