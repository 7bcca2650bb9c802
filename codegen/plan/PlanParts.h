//===- PlanParts.h - the parts of writing a plan --------------------------===//

#ifndef ZEROGRAPH_CODEGEN_PLAN_PLANPARTS_H
#define ZEROGRAPH_CODEGEN_PLAN_PLANPARTS_H

#include "codegen/plan/PlanWriter.h"
#include "passes/ir/sched/SchedDialect.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::zg {

/// The plan's device that helps the first.
inline constexpr uint32_t kHelper = 1;

/// Positions in the plan of what steps refer to.
struct PlanIndex {
  DenseMap<Value, uint32_t> slices;
  llvm::StringMap<uint32_t> kernels;
  std::map<sched::Stream, uint32_t> streams;
  std::map<sched::Space, uint32_t> arenas;
};

/// Adds the numbers of axes of the plan's mesh. Fails, on `op`, on another
/// name.
LogicalResult writeAxes(Operation *op, ArrayAttr names,
                        const zerograph::plan::Plan &plan,
                        google::protobuf::RepeatedField<uint32_t> &axes);

/// Arenas and slices, and what lives in them: units with their parameters and
/// states, inputs, scalars, loss and stop.
LogicalResult writeDeclarations(ModuleOp module, const PlanInfo &info,
                                zerograph::plan::Plan &plan, PlanIndex &index);

/// Writes what a step does: fills the message of `step` that is named as the op
/// is, each of its fields by the attribute of that name. Fails, on the op,
/// where an attribute has no field or a field no attribute.
LogicalResult writeOperation(sched::Step op, const PlanIndex &index,
                             zerograph::plan::Step &step);

/// Empty, or how `attributes` of an op differ from the fields of its message.
/// Attributes that all steps or all collectives have are not the op's own.
std::string differenceTo(const google::protobuf::Descriptor &message,
                         ArrayRef<StringAttr> attributes);

/// Writes what a launch of an nn.kernel or nn.matmul costs, whose operands the
/// entry has.
LogicalResult writeCost(Operation *kernel, zerograph::plan::Kernel &entry);

/// The steps of one program; declares their streams.
LogicalResult writeProgram(sched::ProgramOp program, PlanIndex &index,
                           zerograph::plan::Plan &plan);

} // namespace mlir::zg

#endif // ZEROGRAPH_CODEGEN_PLAN_PLANPARTS_H
