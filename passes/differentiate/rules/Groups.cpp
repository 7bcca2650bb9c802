//===- Groups.cpp - gradients of elements that come together --------------===//

#include "passes/differentiate/rules/Groups.h"

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

/// How many elements of each group fulfil their condition. Of half types in
/// float32: float16 counts to 65504.
Value countOf(Gradient &g, const Groups &groups, ArrayRef<Value> conditions) {
  Type element = elementOf(groups.members.front().value);
  Type counting =
      element.isF16() || element.isBF16() ? g.builder.getF32Type() : element;
  SmallVector<Value> ones;
  for (Value condition : conditions) {
    ones.push_back(g.convert(condition, counting));
  }
  return groups.combine(ReduceKind::sum, ones);
}

} // namespace

void mlir::zg::nn::setExtremumGradients(Gradient &g, const Groups &groups,
                                        Value extremum) {
  SmallVector<Value> chosen;
  for (auto [i, member] : llvm::enumerate(groups.members)) {
    chosen.push_back(
        g.compare(CompareKind::eq, member.value, groups.spread(extremum, i)));
  }
  Value count = countOf(g, groups, chosen);
  Value share = g.convert(g.div(g.convert(g.of(), elementOf(count)), count),
                          elementOf(extremum));
  for (auto [i, member] : llvm::enumerate(groups.members)) {
    if (g.wants(member.operand)) {
      g.set(member.operand, g.keepIf(chosen[i], groups.spread(share, i)));
    }
  }
}

void mlir::zg::nn::setProductGradients(Gradient &g, const Groups &groups) {
  SmallVector<Value> zero, nonzero;
  for (const Groups::Member &member : groups.members) {
    Value x = member.value;
    zero.push_back(g.compare(CompareKind::eq, x, g.splat(x, 0)));
    nonzero.push_back(g.select(zero.back(), g.splat(x, 1), x));
  }
  Value zeros = countOf(g, groups, zero);
  Value share = g.mul(g.of(), groups.combine(ReduceKind::prod, nonzero));
  auto ifZeros = [&](double count) {
    return g.keepIf(g.compare(CompareKind::eq, zeros, g.splat(zeros, count)),
                    share);
  };
  Value ifNone = ifZeros(0), ifOne = ifZeros(1);
  for (auto [i, member] : llvm::enumerate(groups.members)) {
    if (g.wants(member.operand)) {
      g.set(member.operand,
            g.select(zero[i], groups.spread(ifOne, i),
                     g.div(groups.spread(ifNone, i), nonzero[i])));
    }
  }
}
