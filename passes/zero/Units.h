//===- Units.h - which parameters are gathered and reduced together -------===//
//
// The algorithm behind `zero-layout`, apart from the rewriting: groups a
// program's parameters into units and lays each unit out as a flat buffer.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_PASSES_ZERO_UNITS_H
#define ZEROGRAPH_PASSES_ZERO_UNITS_H

#include "passes/ir/zero/ZeroDialect.h"
#include "passes/zero/OptimizerGroups.h"

#include <string>
#include <vector>

namespace mlir::zg::zero {

struct UnitOptions {
  /// The ranks that a unit is spread over.
  int64_t ranks = 1;
  int64_t stage = 0;
  /// The most bytes of a segment, which one collective moves, where there is
  /// more than one rank. A segment has at least world x 256 elements, whatever
  /// this says.
  int64_t bucketBytes = 0;
  /// Units of at most this many elements stay whole on every rank in stage 3.
  int64_t persistenceThreshold = 0;
  /// Says how to group: empty (by the names), a number of bytes (consecutive
  /// parameters up to that size), or a glob pattern, whose match at the
  /// beginning of a name is the unit's name.
  std::string grouping;
  /// Tells whether parameters that are trained in 16 bits have a master in
  /// their own type.
  bool masters = true;
  /// The groups that say how parameters are updated; null: all alike.
  const OptimizerGroups *groups = nullptr;
  /// Tells whether each rank adds up the gradients of its micro-batches, to a
  /// whole sum of its own, before they are reduced.
  bool reduceLast = false;
};

/// A unit and the program arguments that are its parameters, in its order.
struct Unit {
  ParamUnitAttr attribute;
  std::vector<BlockArgument> arguments;
};

/// Returns the type of 16 bits to which all that reads a parameter rounds it;
/// where there is none, its own.
Type computedElement(BlockArgument parameter);

/// Groups the arguments of `program` that carry `nn.parameter`, in the order of
/// their first use. Without a grouping option the rules are, in turn:
///
/// 1. a parameter whose uses lie apart, with other units' uses between, while
///    its neighbours' do not (tied weights): a unit of its own;
/// 2. a name with a number as a component ("h.3.attn.weight"): the repeated
///    block that the name up to the number denotes;
/// 3. a module known from the exporter or the name: that module;
/// 4. the rest: consecutive ones up to 16 MiB.
///
/// Parameters with an `nn.next_value` are a unit of their own, "buffers".
/// Trainable and frozen parameters, element types, and groups of the optimizer
/// never share a unit: what lies in one is updated as one. A parameter that is
/// rounded wherever it is read is kept rounded; where it is trained, its
/// gradients and its master have its own type.
std::vector<Unit> groupIntoUnits(nn::ProgramOp program,
                                 const UnitOptions &options);

} // namespace mlir::zg::zero

#endif // ZEROGRAPH_PASSES_ZERO_UNITS_H
