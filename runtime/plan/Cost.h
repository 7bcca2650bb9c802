//===- Cost.h - what the steps of a plan cost -----------------------------===//
//
// Counted from the plan, exactly, by stated rules; how long it takes depends on
// the machine. What a generated kernel costs, its op tree has told
// (codegen/emit/Cost.h). What travels between ranks is in Traffic.h.
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

/// How often is computed in one type. A product's sum of k terms is k
/// multiply-adds.
struct OperationCounts {
  Checked multiplyAdds = 0, simple = 0, special = 0;

  /// A multiply-add is two.
  Checked all() const { return multiplyAdds + multiplyAdds + simple + special; }
};

struct Cost {
  /// By plan::Space.
  std::array<MovedBytes, plan::Space_ARRAYSIZE> memory;
  /// By the type in which is computed; see plan::Operations.
  std::map<plan::ElementType, OperationCounts> operations;
  /// Launches of kernels, and calls of a library that computes.
  Checked launches = 0;

  /// Adds `times` of another.
  void add(const Cost &other, Checked times = 1);
  /// In all memories but the file.
  MovedBytes moved() const;
  OperationCounts computed() const;
};

/// Returns the cost of one run of a step of a valid plan.
Cost costOf(const plan::Plan &plan, const plan::Step &step);

/// In one step of training, all micro-batches; of a plan that runs forward, in
/// one run.
Cost costOf(const plan::Plan &plan);

/// Bytes that `batch` products of matrices read of an operand of `bytes`, the
/// other one having `others`. The smaller matrix goes through the caches once.
/// Where it has more than kCachedOperand bytes, it goes there in parts, and the
/// larger one is read for each.
Checked readInProduct(uint64_t batch, uint64_t bytes, uint64_t others);

/// About what the last cache of a GPU or a processor holds beside other things.
inline constexpr uint64_t kCachedOperand = 16 << 20;

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_COST_H
