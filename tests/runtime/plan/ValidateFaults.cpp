//===- ValidateFaults.cpp - plans whose declarations are wrong ------------===//

#include "Faults.h"

namespace zerograph {
namespace {

/// The same plan for a GPU, whose kernels are one launch each.
void makeCuda(plan::Plan &p) {
  p.mutable_devices(0)->set_device("cuda");
  p.mutable_devices(0)->clear_features();
  p.mutable_devices(0)->add_features("sm_80");
  p.mutable_modules(0)->mutable_ptx()->set_architecture("sm_80");
  p.mutable_modules(0)->mutable_ptx()->set_text("// PTX");
  for (plan::Kernel &kernel : *p.mutable_kernels()) {
    plan::CudaLaunch &launch = *kernel.mutable_cuda()->add_launches();
    launch.set_symbol(kernel.symbol());
    launch.set_grid(1);
    launch.set_block(128);
  }
}

constexpr uint64_t kHuge = ~uint64_t(0);

const Fault kFaults[] = {
    {"0 ranks", [](plan::Plan &p) { p.mutable_mesh(0)->set_size(0); }},
    {"optimizer is \"x\"; sgd, adam, adamw, lion, adagrad, lamb exist",
     [](plan::Plan &p) { p.mutable_groups(0)->set_kind("x"); }},
    {"the plan's optimizer lion: lr is -1, expected a finite number that is "
     "not negative; beta2 is 1, expected at least 0 and below 1; eps is 2, "
     "which it does not take",
     [](plan::Plan &p) {
       p.mutable_groups(0)->set_learning_rate(-1);
       p.mutable_groups(0)->set_beta2(1);
       p.mutable_groups(0)->set_epsilon(2);
     }},
    {"lamb_min_coeff is 2, expected at most lamb_max_coeff, 1",
     [](plan::Plan &p) {
       p.mutable_groups(0)->set_kind("lamb");
       p.mutable_groups(0)->set_epsilon(1);
       p.mutable_groups(0)->set_lamb_min_coeff(2);
       p.mutable_groups(0)->set_lamb_max_coeff(1);
     }},
    {"programs are", [](plan::Plan &p) { p.clear_programs(); }},
    {"alignment 48", [](plan::Plan &p) { p.mutable_arenas(0)->set_alignment(48); }},
    {"outside its arena",
     [](plan::Plan &p) { p.mutable_slices(3)->set_offset(kHuge - 3); }},
    {"names arena 7", [](plan::Plan &p) { p.mutable_slices(3)->set_arena(7); }},
    {"the plan's schedule is \"sine\"; there are constant",
     [](plan::Plan &p) { p.mutable_schedule()->set_kind("sine"); }},
    {"unknown class",
     [](plan::Plan &p) {
       p.mutable_slices(3)->set_slice_class(plan::SliceClass(99));
     }},
    {"(h) is carried across programs and is no state",
     [](plan::Plan &p) {
       plan::Slice *h = p.mutable_slices(testing::sliceNamed(p, "h"));
       h->set_carried(true);
     }},
    {"names slice 999",
     [](plan::Plan &p) { step(p, 3)->mutable_accesses(0)->set_slice(999); }},
    {"of the last of 2 ranks lie outside",
     [](plan::Plan &p) { step(p, 3)->mutable_accesses(0)->add_strides(4); }},
    {"of the last of 2 ranks lie outside",
     [](plan::Plan &p) {
       step(p, 3)->mutable_accesses(0)->add_strides(kHuge);
       step(p, 3)->mutable_accesses(0)->set_bytes(1);
     }},
    {"unknown mode",
     [](plan::Plan &p) {
       step(p, 3)->mutable_accesses(0)->set_mode(plan::Mode(9));
     }},
    {"wait for ever", [](plan::Plan &p) { step(p, 3)->add_waits(3); }},
    {"is on stream 77 of 3",
     [](plan::Plan &p) { step(p, 3)->set_stream(77); }},
    {"launches kernel 50",
     [](plan::Plan &p) { step(p, 3)->mutable_launch()->set_kernel(50); }},
    {"does nothing", [](plan::Plan &p) { step(p, 3)->clear_op(); }},
    {"place in the order",
     [](plan::Plan &p) { step(p, 3)->set_sequence(1); }},
    {"kernel k1: it is in module 0 of 0",
     [](plan::Plan &p) { p.clear_modules(); }},
    {"module 0 is for device 0 of 1, or has no code",
     [](plan::Plan &p) { p.mutable_modules(0)->clear_code(); }},
    {"module 0 is for device 1 of 1",
     [](plan::Plan &p) { p.mutable_modules(0)->set_device(1); }},
    {"kernel k1: it is not launched as its module's kernels are",
     [](plan::Plan &p) { p.mutable_kernels(0)->mutable_cuda(); }},
    {"launches kernel k1 of device 1 on a stream of another",
     [](plan::Plan &p) {
       *p.add_devices() = p.devices(0);
       p.mutable_modules(0)->set_device(1);
     }},
    {"has 3 accesses; kernel k1 has 3 operands and scratch",
     [](plan::Plan &p) { p.mutable_kernels(0)->set_scratch_bytes(64); }},
    // Streams, devices, the mesh.
    {"stream 1 (gather) is of unknown kind 0",
     [](plan::Plan &p) { p.mutable_streams(1)->clear_kind(); }},
    {"or of device 1 of 1",
     [](plan::Plan &p) { p.mutable_streams(1)->set_device(1); }},
    {"arena 0 is in unknown space 1 or of device 3",
     [](plan::Plan &p) { p.mutable_arenas(0)->set_device(3); }},
    {"has 17 streams",
     [](plan::Plan &p) {
       while (p.streams_size() < 17) {
         *p.add_streams() = p.streams(0);
       }
     }},
    {"a mesh of 0 axes", [](plan::Plan &p) { p.clear_mesh(); }},
    {"axis \"data\" of the mesh has no name or a taken one",
     [](plan::Plan &p) { *p.add_mesh() = p.mesh(0); }},
    {"access 0 has 2 strides; the mesh has 1 axes",
     [](plan::Plan &p) {
       step(p, 3)->mutable_accesses(0)->add_strides(0);
       step(p, 3)->mutable_accesses(0)->add_strides(0);
     }},
    {"names axis 1 of 1; axes exist",
     [](plan::Plan &p) { step(p, 1)->set_axes(0, 1); }},
    {"names no axes, and so no group",
     [](plan::Plan &p) { step(p, 1)->clear_axes(); }},
    {"or a group, and is none", [](plan::Plan &p) { step(p, 3)->add_axes(0); }},
    {"names axis 1 of 1",
     [](plan::Plan &p) {
       p.mutable_units(0)->mutable_states(0)->set_axes(0, 1);
     }},
    {"names axis 1 of 1", [](plan::Plan &p) { p.mutable_loss()->set_axes(0, 1); }},
    {"allows TF32 on the device host",
     [](plan::Plan &p) { p.mutable_devices(0)->set_allow_tf32(true); }},
    {"approximate functions on the device host",
     [](plan::Plan &p) { p.mutable_devices(0)->set_fast_math(true); }},
    // Faults that the format can express: no runtime can do this yet.
    {"a mesh of 2 axes, expected one; not built yet",
     [](plan::Plan &p) {
       plan::Axis &axis = *p.add_mesh();
       axis.set_name("model");
       axis.set_size(1);
     }},
    {"module 0 is for device 0 of 1, or has no code that it can load",
     [](plan::Plan &p) { p.mutable_devices(0)->set_device("cuda"); }},
    {"module 1 is for device 0 of 1, or has no code that it can load",
     [](plan::Plan &p) {
       *p.add_modules()->mutable_ptx()->mutable_architecture() = "sm_90";
     }},
    {"or has no code that it can load",
     [](plan::Plan &p) {
       makeCuda(p);
       p.mutable_modules(0)->mutable_ptx()->set_architecture("sm_90");
     }},
    {"kernel k1: it has no launch",
     [](plan::Plan &p) {
       makeCuda(p);
       p.mutable_kernels(0)->mutable_cuda()->clear_launches();
     }},
    {"of 0 blocks of 128 threads",
     [](plan::Plan &p) {
       makeCuda(p);
       p.mutable_kernels(0)->mutable_cuda()->mutable_launches(0)->set_grid(0);
     }},
    {"of 1 blocks of 2000 threads",
     [](plan::Plan &p) {
       makeCuda(p);
       p.mutable_kernels(0)->mutable_cuda()->mutable_launches(0)->set_block(
           2000);
     }},
    {"b2 is trained in group 1 and b.weight in group 0; a unit is updated as one",
     [](plan::Plan &p) {
       *p.add_groups() = p.groups(0);
       plan::Unit &unit = *p.mutable_units(1);
       plan::Parameter small = unit.parameters(0);
       small.clear_shape();
       small.add_shape(4);
       small.set_elements(4);
       small.clear_source();
       *unit.mutable_parameters(0) = small;
       small.set_name("b2");
       small.set_offset(256);
       small.set_group(1);
       *unit.add_parameters() = small;
     }},
    {"adds up elements of type f64 that travel as f32; not built yet",
     [](plan::Plan &p) {
       step(p, 7)->mutable_reduce_scatter()->set_accumulator(plan::F64);
     }},
    {"a segment has 512 elements of type bf16, and its shard of type f32",
     [](plan::Plan &p) {
       step(p, 7)->mutable_reduce_scatter()->set_wire(plan::BF16);
     }},
    {"changes the type of what it adds up",
     [](plan::Plan &p) {
       step(p, 10)->mutable_all_reduce()->set_wire(plan::BF16);
     }},
    {"which is empty or taken",
     [](plan::Plan &p) {
       p.mutable_kernels(1)->set_symbol(p.kernels(0).symbol());
     }},
    {"grain", [](plan::Plan &p) { p.mutable_kernels(0)->mutable_host()->set_grain(0); }},
    // Alignment.
    {"alignment 32; it must be a power of two from 64",
     [](plan::Plan &p) { p.mutable_arenas(0)->set_alignment(32); }},
    {"slice 3 (stop of this rank) begins at byte 193",
     [](plan::Plan &p) { p.mutable_slices(3)->set_offset(193); }},
    {"begins at byte 2; all must be multiples of 4",
     [](plan::Plan &p) {
       p.mutable_kernels(1)->mutable_operands(0)->set_bytes(60);
       step(p, 5)->mutable_accesses(0)->set_bytes(60);
       step(p, 5)->mutable_accesses(0)->set_offset(2);
     }},
    {"begins at byte 0 + rank * 2; all must be multiples of 4",
     [](plan::Plan &p) {
       p.mutable_kernels(1)->mutable_operands(0)->set_bytes(60);
       step(p, 5)->mutable_accesses(0)->set_bytes(60);
       step(p, 5)->mutable_accesses(0)->add_strides(2);
     }},
    {"access 1 to slice 11 (b/gathered) begins at byte 2",
     [](plan::Plan &p) { step(p, 4)->mutable_accesses(1)->set_offset(2); }},
    {"begins at byte 4; all must be multiples of 64",
     [](plan::Plan &p) {
       step(p, 4)->mutable_accesses(3)->set_bytes(64);
       step(p, 4)->mutable_accesses(3)->set_offset(4);
     }},
    {"begins at byte 2; all",
     [](plan::Plan &p) {
       step(p, 7)->mutable_reduce_scatter()->set_chunk_bytes(128);
       step(p, 7)->mutable_accesses(2)->set_bytes(256);
       step(p, 7)->mutable_accesses(2)->set_offset(2);
     }},
    // A slice has one meaning.
    {"slice 0 (x) holds input x and input z",
     [](plan::Plan &p) {
       *p.add_inputs() = p.inputs(0);
       p.mutable_inputs(1)->set_name("z");
     }},
    {"slice 3 (stop of this rank) holds the sum of stop flags, which outlives",
     [](plan::Plan &p) { p.mutable_stop()->set_slice(p.scalars(0).slice()); }},
    {"slice 5 (learning_rate) holds the loss, which outlives programs, and is "
     "not carried",
     [](plan::Plan &p) { p.mutable_loss()->set_slice(p.scalars(1).slice()); }},
    {"holds scalar \"stop\" and scalar \"learning_rate\"",
     [](plan::Plan &p) {
       p.mutable_scalars(1)->set_slice(p.scalars(0).slice());
     }},
    {"holds state \"param\" of unit a, segment 0 and has class grad_shard; "
     "expected param_shard",
     [](plan::Plan &p) {
       p.mutable_slices(p.units(0).states(0).slice())
           ->set_slice_class(plan::GRAD_SHARD);
     }},
    {"holds state \"exp_avg\" of unit a, segment 0 and has class param_shard",
     [](plan::Plan &p) {
       p.mutable_units(0)->mutable_states(1)->set_slice(
           p.units(0).states(0).slice());
     }},
    {"holds state \"param\" of unit a, segment 0 and state \"param\" of unit b",
     [](plan::Plan &p) {
       p.mutable_units(1)->mutable_states(0)->set_slice(
           p.units(0).states(0).slice());
     }},
    {"slice 0 (x) holds input x and has class transient; expected input",
     [](plan::Plan &p) {
       p.mutable_slices(0)->set_slice_class(plan::TRANSIENT);
     }},
    // Faults that no runtime can do.
    {"step 10 of \"step\" (all_reduce, sum the loss): adds up elements of type "
     "i32",
     [](plan::Plan &p) {
       step(p, 10)->mutable_all_reduce()->set_wire(plan::I32);
       step(p, 10)->mutable_all_reduce()->set_accumulator(plan::I32);
     }},
    {"(reduce_scatter, reduce b): adds up elements of type i32",
     [](plan::Plan &p) {
       step(p, 7)->mutable_reduce_scatter()->set_wire(plan::I32);
       step(p, 7)->mutable_reduce_scatter()->set_accumulator(plan::I32);
     }},
    {"the scalar \"?99\"; this runtime knows gradient_scale, loss_scale, "
     "learning_rate",
     [](plan::Plan &p) {
       p.mutable_scalars(0)->set_kind(plan::Scalar::Kind(99));
     }},
    {"the scalar \"invalid\"; this runtime knows gradient_scale",
     [](plan::Plan &p) { p.mutable_scalars(0)->clear_kind(); }},
    {"the scalar \"step_size\" is of group 0, whose optimizer lion does not "
     "read it",
     [](plan::Plan &p) {
       p.mutable_scalars(1)->set_kind(plan::Scalar::STEP_SIZE);
     }},
    {"the scalar \"seed\" is f32, which it cannot be",
     [](plan::Plan &p) { p.mutable_scalars(1)->set_kind(plan::Scalar::SEED); }},
    {"the scalar \"seed\" is in slice 5, which does not exist or has not the 8 "
     "bytes of an i64",
     [](plan::Plan &p) {
       p.mutable_scalars(1)->set_kind(plan::Scalar::SEED);
       p.mutable_scalars(1)->set_type(plan::I64);
     }},
    {"is of group 1 of 1", [](plan::Plan &p) { p.mutable_scalars(1)->set_group(1); }},
    {"is trained in group 2 of 1",
     [](plan::Plan &p) {
       p.mutable_units(0)->mutable_parameters(0)->set_group(2);
     }},
    {"elements of type bf16 and 1024 bytes",
     [](plan::Plan &p) {
       p.mutable_units(0)->mutable_states(1)->set_type(plan::BF16);
     }},
    {"state \"param\" is i32, and the unit is computed in f32",
     [](plan::Plan &p) {
       p.mutable_units(0)->mutable_states(0)->set_type(plan::I32);
     }},
    {"the count of losses is f32; expected f64",
     [](plan::Plan &p) { *p.mutable_loss_count() = p.loss(); }},
    {"has no name or a taken one",
     [](plan::Plan &p) { *p.add_metrics() = p.loss(); }},
    {"the plan evaluates 1 metrics; expected 0",
     [](plan::Plan &p) {
       plan::Total &metric = *p.add_evaluation_metrics();
       metric = p.loss();
       metric.set_type(plan::F64);
       p.mutable_slices(int(p.loss().slice()))->set_bytes(8);
       p.mutable_loss()->set_type(plan::F64);
     }},
    {"the gradients' norm is in slice 99",
     [](plan::Plan &p) { p.set_gradient_norm(99); }},
    {"the gradients' norm is in slice",
     [](plan::Plan &p) { p.set_gradient_norm(p.loss().slice()); }},
    {"the sum of stop flags is f64",
     [](plan::Plan &p) {
       p.mutable_stop()->set_type(plan::F64);
       p.mutable_slices(int(p.stop().slice()))->set_bytes(8);
     }},
    {"2 ranks x 1 micro-batches x 9223372036854775808 samples",
     [](plan::Plan &p) {
       p.set_micro_batch(uint64_t(1) << 63);
       p.mutable_inputs(0)->set_per_sample(false);
     }},
    // Units, states, inputs.
    {"multiple of 256",
     [](plan::Plan &p) {
       p.mutable_units(0)->mutable_segments(0)->set_elements(500);
     }},
    {"do not make up",
     [](plan::Plan &p) { p.mutable_units(0)->set_elements(1024); }},
    {"product of its shape",
     [](plan::Plan &p) {
       p.mutable_units(0)->mutable_parameters(0)->set_shape(0, kHuge);
     }},
    {"must begin at a multiple",
     [](plan::Plan &p) {
       p.mutable_units(0)->mutable_parameters(0)->set_offset(256);
     }},
    {"twice",
     [](plan::Plan &p) {
       *p.mutable_units(1)->mutable_parameters(0) = p.units(0).parameters(0);
     }},
    {"unit 0 (a): it is each rank's own, and is trained, or not whole",
     [](plan::Plan &p) { p.mutable_units(0)->set_local(true); }},
    {"no state \"param\"",
     [](plan::Plan &p) { p.mutable_units(0)->clear_states(); }},
    {"not carried",
     [](plan::Plan &p) {
       p.mutable_slices(p.units(0).states(0).slice())->set_carried(false);
     }},
    {"input x", [](plan::Plan &p) { p.mutable_inputs(0)->set_shape(0, 3); }},
    {"input x", [](plan::Plan &p) { p.mutable_inputs(0)->set_slice(99999); }},
    {"input x has one bound",
     [](plan::Plan &p) { p.mutable_inputs(0)->set_min(0); }},
    {"input x has one bound",
     [](plan::Plan &p) { p.mutable_inputs(0)->add_ignored(-100); }},
    {"input x has legal values from 3 to 2",
     [](plan::Plan &p) {
       p.mutable_inputs(0)->set_min(3);
       p.mutable_inputs(0)->set_max(2);
     }},
    {"the loss is in slice 12345",
     [](plan::Plan &p) { p.mutable_loss()->set_slice(12345); }},
    {"holds the loss and the sum of stop flags",
     [](plan::Plan &p) { p.mutable_loss()->set_slice(p.stop().slice()); }},
};

TEST(Validate, Declarations) {
  expectInvalid(testing::stageThreePlan(), kFaults);
}

} // namespace
} // namespace zerograph
