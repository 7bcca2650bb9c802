//===- ValidateStepFaults.cpp - plans with one wrong step -----------------===//

#include "Faults.h"

namespace zerograph {
namespace {

plan::Matmul *matmul(plan::Plan &plan) {
  return step(plan, 4)->mutable_matmul();
}

/// Puts a bias before the scratch of the product.
void giveBias(plan::Plan &plan, plan::Access bias) {
  matmul(plan)->set_bias(true);
  bias.set_mode(plan::READ);
  plan::Step &product = *step(plan, 4);
  *product.add_accesses() = bias;
  product.mutable_accesses()->SwapElements(3, 4);
}

constexpr uint64_t kHuge = ~uint64_t(0);

const Fault kFaults[] = {
    // A launch brings what its kernel touches.
    {"step 3 of \"step\" (launch, forward a): has 2 accesses; kernel k1 has 3",
     [](plan::Plan &p) { step(p, 3)->mutable_accesses()->RemoveLast(); }},
    {"has 4 accesses",
     [](plan::Plan &p) {
       *step(p, 3)->add_accesses() = step(p, 3)->accesses(0);
     }},
    {"access 1 to slice 10 (a/gathered) is read of 4 bytes; operand 1 of "
     "kernel k1 is read of 2048",
     [](plan::Plan &p) { step(p, 3)->mutable_accesses(1)->set_bytes(4); }},
    {"is read_write of 64 bytes; operand 2 of kernel k1 is write of 64",
     [](plan::Plan &p) {
       step(p, 3)->mutable_accesses(2)->set_mode(plan::READ_WRITE);
     }},
    {"kernel k1: operand 0 has 63 bytes of elements of type f32",
     [](plan::Plan &p) {
       p.mutable_kernels(0)->mutable_operands(0)->set_bytes(63);
     }},
    {"of type element_invalid",
     [](plan::Plan &p) {
       p.mutable_kernels(0)->mutable_operands(0)->clear_type();
     }},
    {"513 work items",
     [](plan::Plan &p) {
       p.mutable_kernels(0)->mutable_host()->set_extent(513);
     }},
    {"operand 2 may lie on operand 1",
     [](plan::Plan &p) {
       p.mutable_kernels(0)->mutable_operands(2)->add_in_place(1);
     }},
    {"operand 2 may lie on operand 7",
     [](plan::Plan &p) {
       p.mutable_kernels(0)->mutable_operands(2)->add_in_place(7);
     }},
    {"wants them apart or the very same",
     [](plan::Plan &p) {
       step(p, 3)->mutable_accesses(2)->set_slice(
           testing::sliceNamed(p, "a/gathered"));
     }},
    {"kernel k1 wants them apart",
     [](plan::Plan &p) {
       step(p, 3)->mutable_accesses(2)->set_slice(
           step(p, 3)->accesses(0).slice());
     }},
    // Slots, and what is copied from them.
    {"\"step\" has 1 slots; expected two, or none",
     [](plan::Plan &p) {
       p.mutable_programs(0)->mutable_slots()->RemoveLast();
     }},
    {"has its slot in slice 999",
     [](plan::Plan &p) { p.mutable_programs(0)->set_slots(1, 999); }},
    {"it must be carried, in pinned memory",
     [](plan::Plan &p) {
       p.mutable_slices(int(p.programs(0).slots(0)))->set_carried(false);
     }},
    {"it must be carried, in pinned memory",
     [](plan::Plan &p) { p.mutable_arenas(1)->set_space(plan::DEVICE); }},
    {"the slots of \"step\" have 192 and 128 bytes; expected the same",
     [](plan::Plan &p) {
       p.mutable_slices(int(p.programs(0).slots(1)))->set_bytes(128);
     }},
    {"holds a slot of \"step\" and a slot of \"step\"",
     [](plan::Plan &p) {
       p.mutable_programs(0)->set_slots(1, p.programs(0).slots(0));
     }},
    {"holds a slot of \"step\" and has class transient; expected staging",
     [](plan::Plan &p) {
       p.mutable_slices(int(p.programs(0).slots(1)))
           ->set_slice_class(plan::TRANSIENT);
     }},
    {"slice 0 (x) holds x, which every program gets anew, and is carried",
     [](plan::Plan &p) { p.mutable_slices(0)->set_carried(true); }},
    {"step 0 of \"step\" (copy_in, copy in): copies nothing in",
     [](plan::Plan &p) { step(p, 0)->mutable_copy_in()->clear_offsets(); }},
    {"has 5 accesses and needs 4",
     [](plan::Plan &p) {
       step(p, 0)->mutable_copy_in()->mutable_offsets()->RemoveLast();
     }},
    {"access 1 is write and should be read",
     [](plan::Plan &p) {
       step(p, 0)->mutable_accesses(1)->set_mode(plan::WRITE);
     }},
    {"access 2 is read and should be write",
     [](plan::Plan &p) {
       step(p, 0)->mutable_accesses(2)->set_mode(plan::READ);
     }},
    {"which are not the two slots of a program",
     [](plan::Plan &p) {
       step(p, 0)->mutable_accesses(0)->Swap(step(p, 0)->mutable_accesses(1));
     }},
    {"reads its slots in part",
     [](plan::Plan &p) { step(p, 0)->mutable_accesses(1)->set_bytes(64); }},
    {"writes slice 1 (loss of this rank), which is no input or scalar",
     [](plan::Plan &p) { step(p, 0)->mutable_accesses(3)->set_slice(1); }},
    {"writes slice 0 (x), which is no input or scalar, or not whole",
     [](plan::Plan &p) { step(p, 0)->mutable_accesses(2)->set_bytes(32); }},
    {"from byte 72 of the slot; expected a multiple of 64",
     [](plan::Plan &p) { step(p, 0)->mutable_copy_in()->set_offsets(1, 72); }},
    {"from byte 0 of the slot; expected a multiple of 64 behind",
     [](plan::Plan &p) { step(p, 0)->mutable_copy_in()->set_offsets(1, 0); }},
    {"copies more than the 192 bytes of its slot",
     [](plan::Plan &p) {
       step(p, 0)->mutable_copy_in()->set_offsets(2, kHuge - 63);
     }},
    {"accesses 3 and 4 share bytes",
     [](plan::Plan &p) {
       *step(p, 0)->mutable_accesses(4) = step(p, 0)->accesses(3);
     }},
    // Matmul: its sizes, what it may share.
    {"3 rows that begin 8 apart, are not",
     [](plan::Plan &p) { matmul(p)->set_m(3); }},
    {"2 rows that begin 7 apart, are not",
     [](plan::Plan &p) { matmul(p)->set_k(7); }},
    {"are not the", [](plan::Plan &p) { matmul(p)->set_k(kHuge); }},
    {"the rows of A have 8 elements and begin 7 apart",
     [](plan::Plan &p) { matmul(p)->set_lda(7); }},
    {"matrices A, 1 of 2 rows that begin 16 apart, are not",
     [](plan::Plan &p) { matmul(p)->set_lda(16); }},
    {"matrices B, 1 of ", [](plan::Plan &p) { matmul(p)->set_ldb(kHuge); }},
    {"matrices C, 1 of ", [](plan::Plan &p) { matmul(p)->set_ldc(kHuge); }},
    {"multiplies 0 times", [](plan::Plan &p) { matmul(p)->set_batch(0); }},
    {"access 3 is read_write and should be read",
     [](plan::Plan &p) { matmul(p)->set_bias(true); }},
    {"a bias of 8 elements is not the 64 bytes of access 3",
     [](plan::Plan &p) { giveBias(p, step(p, 4)->accesses(0)); }},
    {"adds to what C has, and has a bias",
     [](plan::Plan &p) {
       giveBias(p, step(p, 4)->accesses(0));
       matmul(p)->set_accumulate(true);
       step(p, 4)->mutable_accesses(2)->set_mode(plan::READ_WRITE);
     }},
    {"accesses 3 and 2 share bytes",
     [](plan::Plan &p) { giveBias(p, step(p, 4)->accesses(2)); }},
    {"share bytes",
     [](plan::Plan &p) {
       *step(p, 4)->mutable_accesses(2) = step(p, 4)->accesses(0);
       step(p, 4)->mutable_accesses(2)->set_mode(plan::WRITE);
     }},
    {"is read and should be write",
     [](plan::Plan &p) {
       step(p, 4)->mutable_accesses(2)->set_mode(plan::READ);
     }},
    {"multiplies elements of type i32; the library of host multiplies f32, "
     "bf16",
     [](plan::Plan &p) { matmul(p)->set_element_type(plan::I32); }},
    {"multiplies elements of type f64",
     [](plan::Plan &p) { matmul(p)->set_element_type(plan::F64); }},
    // Collectives.
    {"names unit 5",
     [](plan::Plan &p) { step(p, 1)->mutable_all_gather()->set_unit(5); }},
    {"a segment has 512",
     [](plan::Plan &p) { step(p, 1)->mutable_accesses(0)->set_bytes(1020); }},
    {"names segment 1",
     [](plan::Plan &p) {
       step(p, 7)->mutable_reduce_scatter()->set_segment(1);
     }},
    {"more than its staging",
     [](plan::Plan &p) {
       step(p, 7)->mutable_reduce_scatter()->set_chunk_bytes(512);
     }},
    {"more than its staging",
     [](plan::Plan &p) {
       step(p, 7)->mutable_reduce_scatter()->set_chunk_bytes(kHuge - 3);
     }},
    {"in chunks of 256 bytes; it needs its shard's 1024",
     [](plan::Plan &p) {
       plan::ReduceScatter &op = *step(p, 7)->mutable_reduce_scatter();
       op.set_any_order(true);
       op.set_accumulate(true);
       op.set_chunk_bytes(256);
       step(p, 7)->mutable_accesses(1)->set_mode(plan::READ_WRITE);
     }},
    {"has 3 accesses and needs 2",
     [](plan::Plan &p) {
       step(p, 7)->mutable_reduce_scatter()->set_any_order(true);
     }},
    {"has staging of 4 bytes, fewer than the values of 2 ranks need",
     [](plan::Plan &p) {
       plan::Access &staging = *step(p, 10)->add_accesses();
       staging = step(p, 7)->accesses(2);
       staging.set_bytes(4);
     }},
    {"access 4 is read and should be write",
     [](plan::Plan &p) {
       plan::Access &staging = *step(p, 10)->add_accesses();
       staging = step(p, 7)->accesses(2);
       staging.set_mode(plan::READ);
     }},
    {"own part",
     [](plan::Plan &p) {
       *step(p, 7)->mutable_accesses(1) = step(p, 7)->accesses(0);
       step(p, 7)->mutable_accesses(1)->set_bytes(1024);
       step(p, 7)->mutable_accesses(1)->set_mode(plan::WRITE);
     }},
    {"and their sum",
     [](plan::Plan &p) { step(p, 10)->mutable_accesses(0)->set_bytes(2); }},
};

TEST(Validate, Steps) { expectInvalid(testing::stageThreePlan(), kFaults); }

} // namespace
} // namespace zerograph
