//===- PlanBuilder.cpp - small plans made by hand -------------------------===//

#include "PlanBuilder.h"

#include "runtime/plan/Describe.h"
#include "runtime/plan/Memory.h"
#include "runtime/plan/steps/Step.h"

#include <algorithm>
#include <map>

namespace zerograph::testing {
namespace {

void appendAll(plan::Step &step, const std::vector<plan::Access> &accesses) {
  for (const plan::Access &access : accesses) {
    *step.add_accesses() = access;
  }
}

/// Returns the type of what sample plans hold there: all is f32 but the numbers
/// of 8 bytes.
plan::ElementType typeOf(const plan::Slice &slice) {
  return slice.slice_class() == plan::SCALAR && slice.bytes() == 8 ? plan::F64
                                                                   : plan::F32;
}

} // namespace

PlanBuilder::PlanBuilder(uint32_t world, uint32_t stage, uint32_t accumulate) {
  plan.set_producer("zerograph test");
  plan.set_model("model.onnx");
  plan.add_devices()->set_device("host");
  plan::Axis &axis = *plan.add_mesh();
  axis.set_name("data");
  axis.set_size(world);
  stream("compute", plan::COMPUTE);
  stream("gather", plan::COLLECTIVE);
  stream("scatter", plan::COLLECTIVE);
  plan.set_zero_stage(stage);
  plan.set_accumulate(accumulate);
  plan.set_micro_batch(2);
  plan::OptimizerGroup &group = *plan.add_groups();
  group.set_kind("lion");
  group.set_learning_rate(1e-3);
  addArena(plan::DEVICE);
  plan.add_modules()->set_elf("\x7f"
                              "ELF");
}

void PlanBuilder::addArena(plan::Space space, uint32_t device) {
  plan::Arena &arena = *plan.add_arenas();
  arena.set_space(space);
  arena.set_device(device);
  arena.set_alignment(space == plan::NVME ? 4096 : 64);
}

void PlanBuilder::addHost() {
  plan.add_devices()->set_device("host");
  plan::Module &module = *plan.add_modules();
  module = plan.modules(0);
  module.set_device(1);
  addArena(plan::PINNED);
  addArena(plan::HOST, 1);
  stream("offload", plan::COPY_OUT);
  stream("fetch", plan::COPY_IN);
  plan.mutable_streams(int(stream("update", plan::COMPUTE)))->set_device(1);
}

void PlanBuilder::addFile() {
  addArena(plan::NVME, 1);
  plan.mutable_streams(int(stream("read", plan::FILE_READ)))->set_device(1);
  plan.mutable_streams(int(stream("write", plan::FILE_WRITE)))->set_device(1);
}

uint32_t PlanBuilder::stream(const std::string &name, plan::StreamKind kind) {
  plan::Stream &stream = *plan.add_streams();
  stream.set_name(name);
  stream.set_kind(kind);
  return plan.streams_size() - 1;
}

uint32_t PlanBuilder::scalar(plan::Scalar::Kind kind, plan::ElementType type) {
  plan::Scalar &scalar = *plan.add_scalars();
  scalar.set_kind(kind);
  scalar.set_type(type);
  std::string name = nameOf(kind);
  scalar.set_slice(slice(name == "stop" ? "stop of this rank" : name,
                         plan::SCALAR, elementSize(type), false));
  return scalar.slice();
}

uint32_t PlanBuilder::total(plan::Total &total, const std::string &name,
                            plan::ElementType type) {
  total.set_name(name);
  total.set_type(type);
  total.set_slice(slice(name, plan::SCALAR, elementSize(type), true));
  total.add_axes(0);
  return total.slice();
}

uint32_t PlanBuilder::slice(const std::string &name,
                            plan::SliceClass slice_class, uint64_t bytes,
                            bool carried, int unit, uint32_t in) {
  plan::Arena &arena = *plan.mutable_arenas(int(in));
  plan::Slice &slice = *plan.add_slices();
  slice.set_arena(in);
  slice.set_name(name);
  slice.set_slice_class(slice_class);
  slice.set_offset(arena.bytes());
  slice.set_bytes(bytes);
  slice.set_carried(carried);
  if (unit >= 0 && !carried) {
    hold(unit, slice);
  }
  uint64_t unit_bytes = std::max<uint64_t>(64, arena.alignment());
  arena.set_bytes((arena.bytes() + bytes + unit_bytes - 1) / unit_bytes *
                  unit_bytes);
  return plan.slices_size() - 1;
}

/// States what a buffer of a unit holds, by its class or, if it is "a/exp_avg
/// read", by its name; of each rank its shard, where it has no room for more.
void PlanBuilder::hold(int unit, plan::Slice &slice) const {
  plan::UnitElements &held = *slice.mutable_holds();
  std::string name = slice.name().substr(slice.name().find('/') + 1);
  plan::SliceClass of = slice.slice_class();
  held.set_unit(uint32_t(unit));
  held.set_role(of == plan::OPTIMIZER ? name.substr(0, name.find(' '))
                : of == plan::GRAD || of == plan::GRAD_SHARD ? "grad"
                                                             : "param");
  held.set_elements(slice.bytes() / 4);
  if (held.elements() < plan.units(unit).elements()) {
    held.add_axes(0);
  }
}

int PlanBuilder::unit(const std::string &name, uint64_t elements, bool sharded,
                      uint32_t arena) {
  plan::Unit &unit = *plan.add_units();
  int index = plan.units_size() - 1;
  unit.set_name(name);
  unit.set_reason("made for a test");
  unit.set_type(plan::F32);
  unit.set_elements(elements);
  unit.set_trainable(true);
  unit.add_segments()->set_elements(elements);
  plan::Parameter &parameter = *unit.add_parameters();
  parameter.set_name(name + ".weight");
  parameter.add_shape(elements - 12);
  parameter.set_elements(elements - 12);
  parameter.set_trainable(true);
  state(index, "param", sharded, arena);
  return index;
}

uint32_t PlanBuilder::state(int unit, const std::string &role, bool sharded,
                            uint32_t arena) {
  plan::Unit &owner = *plan.mutable_units(unit);
  uint64_t bytes = owner.elements() * 4 / (sharded ? worldOf(plan) : 1);
  plan::SliceClass slice_class =
      role == "param" ? plan::PARAM_SHARD
                      : (role == "grad" ? plan::GRAD_SHARD : plan::OPTIMIZER);
  uint32_t index =
      slice(owner.name() + "/" + role, slice_class, bytes, true, unit, arena);
  plan::State &state = *owner.add_states();
  state.set_role(role);
  state.set_segment(0);
  state.set_slice(index);
  state.set_type(owner.type());
  if (sharded) {
    state.add_axes(0);
  }
  return index;
}

void PlanBuilder::program(const std::string &name) {
  plan::Program &program = *plan.add_programs();
  program.set_name(name);
  program.set_kind(name == "micro"      ? plan::MICRO
                   : name == "update"   ? plan::UPDATE
                   : name == "step"     ? plan::STEP
                   : name == "evaluate" ? plan::EVALUATE
                                        : plan::FORWARD);
  collectives = 0;
}

plan::Access PlanBuilder::all(uint32_t slice, plan::Mode mode) const {
  return part(slice, 0, plan.slices(slice).bytes(), 0, mode);
}

plan::Access PlanBuilder::part(uint32_t slice, uint64_t offset, uint64_t bytes,
                               uint64_t rank_stride, plan::Mode mode) const {
  plan::Access access;
  access.set_slice(slice);
  access.set_offset(offset);
  access.set_bytes(bytes);
  if (rank_stride != 0) {
    access.add_strides(rank_stride);
  }
  access.set_mode(mode);
  return access;
}

uint32_t PlanBuilder::add(uint32_t stream, plan::Step step,
                          const std::vector<uint32_t> &waits) {
  step.set_stream(stream);
  for (uint32_t wait : waits) {
    step.add_waits(wait);
  }
  if (isCollective(step)) {
    step.set_sequence(collectives++);
    step.add_axes(0);
  }
  *current().add_steps() = std::move(step);
  return current().steps_size() - 1;
}

void PlanBuilder::copyIn(const std::vector<uint32_t> &slices) {
  if (plan.arenas_size() == 1) {
    addArena(plan::PINNED);
  }
  plan::Step step;
  step.set_name("copy in");
  uint64_t bytes = 0;
  for (uint32_t slice : slices) {
    step.mutable_copy_in()->add_offsets(bytes);
    bytes += (plan.slices(int(slice)).bytes() + 63) / 64 * 64;
  }
  for (int i = 0; i < 2; ++i) {
    uint32_t slot =
        slice("slot " + std::to_string(i) + " of " + current().name(),
              plan::STAGING, bytes, true, -1, kPinned);
    current().add_slots(slot);
    appendAll(step, {all(slot, plan::READ)});
  }
  for (uint32_t slice : slices) {
    appendAll(step, {all(slice, plan::WRITE)});
  }
  add(kCompute, std::move(step));
}

uint32_t PlanBuilder::launch(const std::string &name,
                             const std::vector<plan::Access> &accesses,
                             const std::vector<uint32_t> &waits,
                             uint32_t stream) {
  plan::Kernel &kernel = *plan.add_kernels();
  kernel.set_symbol("k" + std::to_string(plan.kernels_size()));
  kernel.set_module(plan.streams(int(stream)).device());
  kernel.mutable_host()->set_extent(1);
  kernel.mutable_host()->set_grain(1);
  plan::Step step;
  step.set_name(name);
  step.mutable_launch()->set_kernel(plan.kernels_size() - 1);
  appendAll(step, accesses);
  return add(stream, std::move(step), waits);
}

uint32_t PlanBuilder::copy(uint32_t stream, const plan::Access &from,
                           const plan::Access &to,
                           const std::vector<uint32_t> &waits) {
  plan::Step step;
  step.set_name("copy " + plan.slices(int(from.slice())).name());
  step.mutable_copy();
  appendAll(step, {from, to});
  return add(stream, std::move(step), waits);
}

uint32_t PlanBuilder::gather(int unit, const plan::Access &shard,
                             const plan::Access &segment,
                             const std::vector<uint32_t> &waits) {
  plan::Step step;
  step.set_name("gather " + plan.units(unit).name());
  step.set_reason("parameters of " + plan.units(unit).name());
  step.mutable_all_gather()->set_unit(unit);
  step.mutable_all_gather()->set_element_type(plan::F32);
  appendAll(step, {shard, segment});
  return add(kGather, std::move(step), waits);
}

uint32_t PlanBuilder::reduce(int unit, const plan::Access &gradients,
                             const plan::Access &shard,
                             const plan::Access &staging,
                             const std::vector<uint32_t> &waits) {
  plan::Step step;
  step.set_name("reduce " + plan.units(unit).name());
  step.set_reason("gradients of " + plan.units(unit).name() + " complete");
  plan::ReduceScatter &op = *step.mutable_reduce_scatter();
  op.set_unit(unit);
  op.set_wire(plan::F32);
  op.set_accumulator(plan::F32);
  op.set_accumulate(shard.mode() == plan::READ_WRITE);
  op.set_chunk_bytes(staging.bytes() / worldOf(plan));
  appendAll(step, {gradients, shard, staging});
  return add(kScatter, std::move(step), waits);
}

uint32_t PlanBuilder::sum(const std::vector<plan::Access> &accesses,
                          const std::vector<uint32_t> &waits,
                          plan::ElementType type) {
  plan::Step step;
  step.set_name("sum the loss");
  step.set_reason("the loss");
  step.mutable_all_reduce()->set_wire(type);
  step.mutable_all_reduce()->set_accumulator(type);
  appendAll(step, accesses);
  return add(kScatter, std::move(step), waits);
}

uint32_t PlanBuilder::fill(uint32_t stream, const plan::Access &access,
                           const std::vector<uint32_t> &waits) {
  plan::Step step;
  step.set_name("fill");
  step.mutable_fill();
  appendAll(step, {access});
  return add(stream, std::move(step), waits);
}

void signKernels(plan::Plan &plan) {
  for (const plan::Program &program : plan.programs()) {
    for (const plan::Step &step : program.steps()) {
      if (!step.has_launch()) {
        continue;
      }
      plan::Kernel &kernel = *plan.mutable_kernels(step.launch().kernel());
      kernel.clear_operands();
      for (const plan::Access &access : step.accesses()) {
        plan::Operand &operand = *kernel.add_operands();
        operand.set_bytes(access.bytes());
        operand.set_mode(access.mode());
        operand.set_type(typeOf(plan.slices(int(access.slice()))));
        // A kernel that makes gradients of gradients adds to them.
        auto isGradient = [&](const plan::Access &one) {
          plan::SliceClass of = plan.slices(int(one.slice())).slice_class();
          return of == plan::GRAD || of == plan::GRAD_SHARD;
        };
        for (int i = 0; access.mode() != plan::READ && isGradient(access) &&
                        i < kernel.operands_size();
             ++i) {
          if (step.accesses(i).mode() != plan::WRITE &&
              isGradient(step.accesses(i))) {
            operand.add_linear_in(i);
          }
        }
        // The kernel allows what a launch does in place.
        for (int i = 0; access.mode() != plan::READ && i < step.accesses_size();
             ++i) {
          plan::Access same = step.accesses(i);
          same.set_mode(access.mode());
          if (step.accesses(i).mode() == plan::READ &&
              same.SerializeAsString() == access.SerializeAsString()) {
            operand.add_in_place(i);
          }
        }
      }
    }
  }
}

void stateFacts(plan::Plan &plan) {
  signKernels(plan);
  stateSizes(plan);
}

void stateSizes(plan::Plan &plan) {
  for (int i = 0; i < plan.arenas_size(); ++i) {
    plan::Arena &arena = *plan.mutable_arenas(i);
    uint64_t unit = std::max<uint64_t>(1, arena.alignment());
    arena.set_bytes((peakOf(plan, i) + unit - 1) / unit * unit);
  }
}

plan::Plan PlanBuilder::finish() {
  stateFacts(plan);
  return plan;
}

bool launchesUpdate(const plan::Plan &plan, const plan::Step &step) {
  return step.has_launch() &&
         std::any_of(step.accesses().begin(), step.accesses().end(),
                     [&](const plan::Access &access) {
                       return access.mode() != plan::READ &&
                              plan.slices(access.slice()).slice_class() ==
                                  plan::PARAM_SHARD;
                     });
}

uint32_t sliceNamed(const plan::Plan &plan, const std::string &name) {
  for (int i = 0; i < plan.slices_size(); ++i) {
    if (plan.slices(i).name() == name) {
      return i;
    }
  }
  return plan.slices_size();
}

} // namespace zerograph::testing
