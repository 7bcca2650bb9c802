// RUN: zerograph-opt %s --zg-zero="ranks=2 zero=0 optimizer=sgd" | FileCheck %s --check-prefixes=CHECK,STAGE0
// RUN: zerograph-opt %s --zg-zero="ranks=2 zero=1 optimizer=sgd" | FileCheck %s --check-prefixes=CHECK,STAGE1
// RUN: zerograph-opt %s --zg-zero="ranks=2 zero=2 optimizer=sgd" | FileCheck %s --check-prefixes=CHECK,STAGE2
// RUN: zerograph-opt %s --zg-zero="ranks=2 zero=3 optimizer=sgd" | FileCheck %s --check-prefixes=CHECK,STAGE3
// RUN: zerograph-opt %s --zg-zero="ranks=2 zero=3 optimizer=sgd persistence-threshold=512" | FileCheck %s --check-prefixes=CHECK,STAGE2
// RUN: zerograph-opt %s --zg-zero="ranks=2 zero=3 optimizer=sgd accumulate=2" | FileCheck %s --check-prefixes=ACCUMULATE

// Tests what the passes of the phase make together: what each stage keeps,
// gathers and reduces. A unit under the persistence threshold behaves in stage
// 3 as all units do in stage 2.

// CHECK-LABEL: nn.program @step

// Parameters live whole except in stage 3.
// STAGE0-SAME: %fc.param: tensor<512xf32>
// STAGE1-SAME: %fc.param: tensor<512xf32>
// STAGE2-SAME: %fc.param: tensor<512xf32>
// STAGE3-SAME: %fc.shard: tensor<256xf32>

// Stage 3 gathers before the first use and releases after the last.
// STAGE3: %[[FLAT:.+]] = zero.all_gather {{.*}} reason "forward of fc, first needed by product"
// STAGE3: %[[W:.+]] = zero.view %[[FLAT]][0]
// CHECK: nn.matmul
// STAGE3-NEXT: zero.release %[[FLAT]] unit 0

// The gradient is packed and reduced as soon as it is complete.
// CHECK: %[[G:.+]] = nn.matmul {{.*}} transpose_a
// CHECK-NEXT: %[[PACK:.+]] = zero.pack %[[G]] at [0] unit 0
// STAGE0-NEXT: %[[SUM:.+]] = zero.reduce_scatter %[[PACK]] unit 0 segment 0 {{.*}} in_place
// STAGE0-NEXT: zero.all_gather %[[SUM]] unit 0 {{.*}} "every rank updates all parameters of fc" in_place
// STAGE1-NEXT: zero.reduce_scatter %[[PACK]] unit 0 segment 0 {{.*}} in_place
// STAGE2-NEXT: zero.reduce_scatter %[[PACK]] unit 0 segment 0 group ["data"] reason "gradients of fc are complete" in_place
// STAGE3-NEXT: zero.reduce_scatter %[[PACK]] unit 0 segment 0 group ["data"] reason "gradients of fc are complete" in_place

// Loss and stop flag are reduced on every rank.
// CHECK: zero.all_reduce {{.*}} "the mean loss"
// CHECK: zero.all_reduce {{.*}} "ranks stop after the same step"

// Stages 1 and 2 gather what each rank has updated, in place.
// STAGE0-NOT: zero.all_gather
// STAGE1: zero.shard {{.*}} segment 0 : tensor<512xf32> -> tensor<256xf32>
// STAGE1: zero.all_gather {{.*}} "updated parameters of fc" in_place
// STAGE2: zero.shard {{.*}} segment 0 : tensor<512xf32> -> tensor<256xf32>
// STAGE2: zero.all_gather {{.*}} "updated parameters of fc" in_place
// STAGE3-NOT: zero.all_gather

// The meaning of that stands after the code.
// CHECK: where (
// STAGE0: %fc.param {zero.state = #zero.state<unit = 0, segment = -1, "param", sharded = false>}
// STAGE1: %fc.param {zero.state = #zero.state<unit = 0, segment = -1, "param", sharded = false>}
// STAGE2: %fc.param {zero.state = #zero.state<unit = 0, segment = -1, "param", sharded = false>}
// STAGE3: %fc.shard {zero.state = #zero.state<unit = 0, segment = 0, "param", sharded = true>}

// With accumulation a micro-batch folds into carried shards, which the update
// uses and leaves zero.
// ACCUMULATE-LABEL: nn.program @micro
// ACCUMULATE-SAME: %fc.grad: tensor<256xf32>
// ACCUMULATE: zero.reduce_scatter %{{.+}}, %fc.grad unit 0 segment 0
// ACCUMULATE: %fc.grad {zero.state = #zero.state<unit = 0, segment = 0, "grad", sharded = true>}
// ACCUMULATE-LABEL: nn.program @update
// ACCUMULATE-NOT: zero.reduce_scatter
// ACCUMULATE: nn.constant dense<0.000000e+00> : tensor<256xf32>
// ACCUMULATE: zero.updates = #zero.state<unit = 0, segment = 0, "grad", sharded = true>
nn.program @micro(
    %x: tensor<4x8xf32> {nn.input = #nn.input<"x", per_sample = true>},
    %w: tensor<16x8xf32> {nn.parameter = #nn.parameter<"fc.weight", module = "fc", trainable = true, init = normal>})
    -> (tensor<1xf32> {nn.output = "loss"},
        tensor<16x8xf32> {nn.gradient = "fc.weight"}) {
  %y = nn.matmul %x, %w transpose_b : tensor<4x8xf32>, tensor<16x8xf32> -> tensor<4x16xf32> loc("product")
  %s = nn.reduce sum %y [0, 1] : tensor<4x16xf32> -> tensor<1x1xf32>
  %loss = nn.reshape %s : tensor<1x1xf32> -> tensor<1xf32>
  %one = nn.constant dense<1.0> : tensor<4x16xf32>
  %g = nn.matmul %one, %x transpose_a : tensor<4x16xf32>, tensor<4x8xf32> -> tensor<16x8xf32>
  nn.return %loss, %g : tensor<1xf32>, tensor<16x8xf32>
}
