//===- PlanDeclarations.cpp - slices, units, inputs of a plan -------------===//

#include "codegen/plan/PlanParts.h"
#include "codegen/plan/PlanTypes.h"
#include "passes/ir/nn/Locations.h"
#include "passes/zero/Passes.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::zg;
namespace plan = zerograph::plan;

namespace {

/// The file of the weights that the compiler itself writes next to the plan.
constexpr llvm::StringLiteral kPlanWeights = "PLAN.weights.safetensors";

void writeAdapter(nn::ParameterAttr weight, plan::Parameter &parameter) {
  nn::AdapterAttr attribute = weight.getAdapter();
  std::string name = weight.getName().str();
  plan::Adapter &adapter = *parameter.mutable_adapter();
  adapter.set_a(name + nn::kAdapterA.str());
  adapter.set_b(name + nn::kAdapterB.str());
  adapter.set_alpha(attribute.getAlpha().getValueAsDouble());
  adapter.set_transposed(attribute.getTransposed());
  parameter.set_reason("adapters are trained beside it, --lora " +
                       std::to_string(attribute.getRank()) + ":" +
                       attribute.getPattern().str());
}

void writeParameter(zero::PlacementAttr place, const PlanInfo &info,
                    plan::ElementType unit, plan::Parameter &parameter) {
  nn::ParameterAttr attribute = place.getParameter();
  auto type = cast<RankedTensorType>(place.getType().getValue());
  Type own = attribute.getType() ? attribute.getType() : type.getElementType();
  if (planType(own) != unit) {
    parameter.set_type(planType(own));
  }
  parameter.set_name(attribute.getName().str());
  for (int64_t size : type.getShape()) {
    parameter.add_shape(size);
  }
  parameter.set_offset(place.getOffset());
  parameter.set_elements(type.getNumElements());
  parameter.set_trainable(attribute.getTrainable());
  parameter.set_init(
      planCase<plan::Init>(stringifyInitKind(attribute.getInit())));
  parameter.set_group(place.getGroup());
  if (auto decision = info.decisions.find(parameter.name());
      decision != info.decisions.end()) {
    auto &[trained, reason] = decision->second;
    // Differentiation freezes what turns out to have no gradient.
    parameter.set_reason(
        trained && !parameter.trainable() ? "no gradient reaches it" : reason);
  }
  if (attribute.getAdapter()) {
    writeAdapter(attribute, parameter);
  } else if (attribute.getInit() == nn::InitKind::lora_a ||
             attribute.getInit() == nn::InitKind::lora_b) {
    parameter.set_reason("an adapter, which --lora adds");
  }
  if (nn::SourceAttr from = attribute.getSource()) {
    plan::Source &source = *parameter.mutable_source();
    source.set_file(from.getFile().str());
    source.set_offset(from.getOffset());
    source.set_length(from.getLength());
    if (from.getFile() != kPlanWeights) {
      source.set_folder(info.folder);
      llvm::SmallString<128> path(info.folder);
      llvm::sys::path::append(path, source.file());
      uint64_t bytes = 0;
      if (!llvm::sys::fs::file_size(path, bytes)) {
        source.set_file_bytes(bytes);
      }
    }
  }
}

LogicalResult writeUnits(ModuleOp module, const PlanInfo &info,
                         plan::Plan &plan) {
  ArrayAttr units = zero::unitsOf(module);
  if (!units) {
    return module.emitError("has no zero.layout");
  }
  for (auto attribute : units.getAsRange<zero::ParamUnitAttr>()) {
    plan::Unit &unit = *plan.add_units();
    unit.set_name(attribute.getName().str());
    unit.set_reason(attribute.getReason().str());
    unit.set_type(planType(attribute.getElementType()));
    unit.set_elements(attribute.getElements());
    unit.set_trainable(attribute.getTrainable());
    unit.set_local(attribute.getLocal());
    if (attribute.getPlace()) {
      unit.set_place(attribute.getPlace().str());
    }
    int64_t offset = 0;
    for (int64_t elements : attribute.getSegments()) {
      plan::Segment &segment = *unit.add_segments();
      segment.set_offset(offset);
      segment.set_elements(elements);
      offset += elements;
    }
    for (zero::PlacementAttr place : attribute.getPlacements()) {
      writeParameter(place, info, unit.type(), *unit.add_parameters());
    }
  }
  return success();
}

/// Returns the type of what lives in a slice.
plan::ElementType elementTypeOf(sched::SliceOp op) {
  return planType(
      cast<RankedTensorType>(op.getTensorAttr().getValue()).getElementType());
}

/// Returns entry `place`, which may come before those in front of it.
plan::Total *totalAt(google::protobuf::RepeatedPtrField<plan::Total> &totals,
                     int64_t place) {
  while (totals.size() <= place) {
    totals.Add();
  }
  return totals.Mutable(int(place));
}

/// Returns the number, summed over ranks, that a state is; null for none.
plan::Total *totalOf(zero::StateAttr state, plan::Plan &plan) {
  StringRef role = state.getRole().getValue();
  if (role == zero::kMetricRole) {
    return totalAt(*plan.mutable_metrics(), state.getSegment());
  }
  if (role == zero::kEvaluationMetricRole) {
    return totalAt(*plan.mutable_evaluation_metrics(), state.getSegment());
  }
  return role == zero::kLossRole              ? plan.mutable_loss()
         : role == zero::kStopRole            ? plan.mutable_stop()
         : role == zero::kLossCountRole       ? plan.mutable_loss_count()
         : role == zero::kEvaluationRole      ? plan.mutable_evaluation()
         : role == zero::kEvaluationCountRole ? plan.mutable_evaluation_count()
                                              : nullptr;
}

LogicalResult writeState(sched::SliceOp op, zero::StateAttr state,
                         uint32_t slice, plan::Plan &plan) {
  plan::ElementType type = elementTypeOf(op);
  if (state.getUnit() < 0 && state.getRole() == zero::kNormRole) {
    plan.set_gradient_norm(slice);
    return success();
  }
  if (state.getUnit() < 0) {
    plan::Total *total = totalOf(state, plan);
    if (!total) {
      return op.emitOpError("keeps ") << state.getRole()
                                      << " of no unit; the plan has no place "
                                         "for it";
    }
    total->set_type(type);
    total->set_slice(slice);
    for (int axis = 0; axis < plan.mesh_size(); ++axis) {
      total->add_axes(axis); // over all ranks
    }
    return success();
  }
  if (state.getUnit() >= plan.units_size()) {
    return op.emitOpError("keeps a state of unit ")
           << state.getUnit() << " of " << plan.units_size();
  }
  plan::State &entry = *plan.mutable_units(state.getUnit())->add_states();
  entry.set_role(state.getRole().str());
  entry.set_segment(state.getSegment());
  entry.set_slice(slice);
  entry.set_type(type);
  auto unit = cast<zero::ParamUnitAttr>(zero::unitsOf(op)[state.getUnit()]);
  return state.getSharded()
             ? writeAxes(op, unit.getAxes(), plan, *entry.mutable_axes())
             : success();
}

LogicalResult writeHeld(sched::SliceOp op, sched::HeldAttr held,
                        const plan::Plan &plan, plan::Slice &slice) {
  ArrayAttr units = zero::unitsOf(op);
  if (held.getUnit() >= int64_t(units.size())) {
    return op.emitOpError("'") << op.getLabel() << "' is of unit "
                               << held.getUnit() << " of " << units.size();
  }
  plan::UnitElements &elements = *slice.mutable_holds();
  elements.set_unit(held.getUnit());
  elements.set_role(held.getRole().str());
  elements.set_begin(held.getBegin());
  elements.set_elements(held.getElements());
  auto unit = cast<zero::ParamUnitAttr>(units[held.getUnit()]);
  return held.getSharded()
             ? writeAxes(op, unit.getAxes(), plan, *elements.mutable_axes())
             : success();
}

LogicalResult writeInput(sched::SliceOp op, nn::InputAttr attribute,
                         uint32_t slice, plan::Plan &plan) {
  auto type = cast<RankedTensorType>(op.getTensorAttr().getValue());
  plan::Input &input = *plan.add_inputs();
  input.set_name(attribute.getName().str());
  input.set_type(planType(type.getElementType()));
  for (int64_t size : type.getShape()) {
    input.add_shape(size);
  }
  input.set_per_sample(attribute.getPerSample());
  input.set_slice(slice);
  if (attribute.getMin()) {
    input.set_min(*attribute.getMin());
    input.set_max(*attribute.getMax());
  }
  for (int64_t value : attribute.getIgnored()) {
    input.add_ignored(value);
  }
  if (attribute.getPerSample()) {
    if (type.getRank() == 0) {
      return op.emitOpError("input ")
             << attribute.getName() << " has samples, but no dimension of them";
    }
    // A sample may have several rows.
    uint64_t rows = type.getDimSize(0);
    uint64_t other = plan.micro_batch() == 0 ? rows : plan.micro_batch();
    uint64_t samples = std::min(rows, other);
    if (samples == 0 || std::max(rows, other) % samples != 0) {
      return op.emitOpError("input ") << attribute.getName() << " has " << rows
                                      << " samples, another one " << other;
    }
    plan.set_micro_batch(samples);
  }
  return success();
}

void writeOutput(sched::SliceOp op, zero::OutputAttr attribute, uint32_t slice,
                 plan::Plan &plan) {
  auto type = cast<RankedTensorType>(op.getTensorAttr().getValue());
  plan::Output &output = *plan.add_outputs();
  output.set_name(attribute.getName().str());
  output.set_type(planType(type.getElementType()));
  for (int64_t size : type.getShape()) {
    output.add_shape(size);
  }
  output.set_per_sample(attribute.getPerSample());
  output.set_slice(slice);
}

LogicalResult writeScalar(sched::SliceOp op, nn::ScalarAttr attribute,
                          uint32_t slice, plan::Plan &plan) {
  plan::Scalar::Kind kind;
  if (!plan::Scalar::Kind_Parse(attribute.getName().getValue().upper(),
                                &kind)) {
    return op.emitOpError("holds the scalar ")
           << attribute.getName() << ", which no plan has";
  }
  plan::Scalar &scalar = *plan.add_scalars();
  scalar.set_kind(kind);
  scalar.set_group(attribute.getGroup());
  scalar.set_type(elementTypeOf(op));
  scalar.set_slice(slice);
  return success();
}

LogicalResult writeArenas(ModuleOp module, plan::Plan &plan, PlanIndex &index) {
  auto arenas = module->getAttrOfType<ArrayAttr>(sched::kArenasAttr);
  if (!arenas) {
    return module.emitError("has no arenas; run sched-pack");
  }
  for (auto attribute : arenas.getAsRange<sched::ArenaAttr>()) {
    index.arenas[attribute.getSpace()] = plan.arenas_size();
    plan::Arena &arena = *plan.add_arenas();
    arena.set_space(
        planCase<plan::Space>(stringifySpace(attribute.getSpace())));
    bool helpers = attribute.getSpace() == sched::Space::host ||
                   attribute.getSpace() == sched::Space::nvme;
    arena.set_device(helpers ? kHelper : 0);
    arena.set_bytes(attribute.getBytes());
    arena.set_alignment(attribute.getAlignment());
  }
  return success();
}

} // namespace

LogicalResult
mlir::zg::writeAxes(Operation *op, ArrayAttr names, const plan::Plan &plan,
                    google::protobuf::RepeatedField<uint32_t> &axes) {
  for (auto name : names.getAsRange<StringAttr>()) {
    int axis = 0;
    while (axis < plan.mesh_size() &&
           name.getValue() != plan.mesh(axis).name()) {
      ++axis;
    }
    if (axis == plan.mesh_size()) {
      return op->emitOpError("names ") << name
                                       << ", which is no axis of the "
                                          "mesh";
    }
    axes.Add(axis);
  }
  return success();
}

LogicalResult mlir::zg::writeDeclarations(ModuleOp module, const PlanInfo &info,
                                          plan::Plan &plan, PlanIndex &index) {
  if (failed(writeArenas(module, plan, index)) ||
      failed(writeUnits(module, info, plan))) {
    return failure();
  }
  for (auto op : module.getOps<sched::SliceOp>()) {
    auto arena = index.arenas.find(op.getSpace());
    if (!op.getOffset() || arena == index.arenas.end()) {
      return op.emitOpError("'")
             << op.getLabel() << "' has no offset, or no arena; run sched-pack";
    }
    uint32_t number = plan.slices_size();
    index.slices[op] = number;
    plan::Slice &slice = *plan.add_slices();
    slice.set_arena(arena->second);
    slice.set_offset(*op.getOffset());
    slice.set_bytes(op.getBytes());
    slice.set_slice_class(
        planCase<plan::SliceClass>(stringifySliceClass(op.getSliceClass())));
    slice.set_name(nn::describe(op.getLabel(), op.getLoc()));
    slice.set_carried(op.getCarried());
    if (std::optional<sched::HeldAttr> held = op.getHolds();
        held && failed(writeHeld(op, *held, plan, slice))) {
      return failure();
    }
    if (std::optional<zero::StateAttr> state = op.getState()) {
      if (failed(writeState(op, *state, number, plan))) {
        return failure();
      }
    } else if (std::optional<nn::InputAttr> input = op.getInput()) {
      if (failed(writeInput(op, *input, number, plan))) {
        return failure();
      }
    } else if (std::optional<zero::OutputAttr> output = op.getOutput()) {
      writeOutput(op, *output, number, plan);
    } else if (std::optional<nn::ScalarAttr> scalar = op.getScalar()) {
      if (failed(writeScalar(op, *scalar, number, plan))) {
        return failure();
      }
    }
  }
  if (plan.micro_batch() == 0) {
    plan.set_micro_batch(1); // no input has samples
  }
  if (plan.has_loss()) {
    plan.mutable_loss()->set_name(info.loss);
  }
  for (auto [metric, name] : llvm::zip(*plan.mutable_metrics(), info.metrics)) {
    metric.set_name(name);
  }
  // A plan that has outputs only runs forward.
  if (plan.outputs_size() == 0 && (!plan.has_loss() || !plan.has_stop())) {
    return module.emitError("keeps no state '")
           << (plan.has_loss() ? zero::kStopRole : zero::kLossRole) << "'";
  }
  return success();
}
