// RUN: zerograph-opt %s --zero-clip-norm=clip-norm=0.5 | FileCheck %s
// RUN: zerograph-opt %s --zero-clip-norm | FileCheck %s --check-prefix=OFF
// RUN: zerograph-opt %s --zero-clip-norm=skip-nonfinite | FileCheck %s --check-prefix=SKIP
// RUN: not zerograph-opt %s --zero-clip-norm=clip-norm=-1 2>&1 | FileCheck %s --check-prefix=NEGATIVE

// Each rank squares its shards; the factor goes into the scale that updates
// read, and the norm into a state.

// CHECK-LABEL: nn.program @update
// CHECK: %[[SCALE:.+]] = nn.convert %gradient_scale : tensor<1xf32> -> tensor<1xf64>
// CHECK: %[[OWN:.+]] = nn.sum_squares %a.grad.0, %a.grad.1, %b.grad : tensor<256xf32>, tensor<256xf32>, tensor<256xf32> -> tensor<33xf64>
// CHECK: %[[ALL:.+]] = zero.all_reduce %[[OWN]] group ["data"] reason "the norm of all gradients, by which they are clipped"
// CHECK: %[[SQUARE:.+]] = nn.limb_value %[[ALL]]
// CHECK: %[[ROOT:.+]] = nn.unary sqrt %[[SQUARE]]
// CHECK: %[[NORM:.+]] = nn.binary mul %[[ROOT]], %[[SCALE]]
// CHECK: %[[ABOVE:.+]] = nn.binary add %[[NORM]]
// CHECK: %[[LIMIT:.+]] = nn.constant dense<5.000000e-01>
// CHECK: %[[RATIO:.+]] = nn.binary div %[[LIMIT]], %[[ABOVE]]
// CHECK: %[[FACTOR:.+]] = nn.binary min %[[RATIO]]
// CHECK: %[[WIDE:.+]] = nn.binary mul %[[SCALE]], %[[FACTOR]]
// CHECK: %[[CLIPPED:.+]] = nn.convert %[[WIDE]] : tensor<1xf64> -> tensor<1xf32>
// CHECK: nn.binary mul %[[CLIPPED]], %learning_rate
// CHECK: nn.return %{{.+}}, %[[NORM]]
// CHECK: {zero.updates = #zero.state<unit = -1, segment = -1, "gradient_norm", sharded = false>}

// OFF-LABEL: nn.program @update
// OFF-NOT: all_reduce

// Nothing is clipped, and a norm that is not finite makes the scale 0.

// SKIP-LABEL: nn.program @update
// SKIP: %[[NORM:.+]] = nn.binary mul %{{.+}} : tensor<1xf64>
// SKIP: %[[FINITE:.+]] = nn.compare lt %[[NORM]]
// SKIP: %[[FACTOR:.+]] = nn.select %[[FINITE]]
// SKIP: nn.binary mul %{{.+}}, %[[FACTOR]]
// SKIP: "gradient_norm"

// NEGATIVE: clips gradients to a norm of -1{{.*}}; expected a number above 0
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 1 : i64, zero.accumulate = 1 : i64} {
  zero.layout units [
    #zero.unit<"a", f32, elements = 1024, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512, 512], states = [<"param", f32, sharded = false>, <"grad", f32, sharded = true>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>,
    #zero.unit<"frozen", f32, elements = 512, trainable = false, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"v", module = "", trainable = false, init = normal>, tensor<4xf32>, offset = 0>]>,
    #zero.unit<"b", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>, <"grad", f32, sharded = true>], placements = [<<"u", module = "", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>] groups [#zero.group<"default">]
  nn.program @update(%gradient_scale: tensor<1xf32> {nn.scalar = #nn.scalar<"gradient_scale">}, %learning_rate: tensor<1xf32> {nn.scalar = #nn.scalar<"learning_rate">}) -> (tensor<1xf32> {zero.updates = #zero.state<unit = 0, segment = -1, "param", sharded = false>}) {
    %0 = nn.binary mul %gradient_scale, %learning_rate : tensor<1xf32>
    nn.return %0 : tensor<1xf32>
  }
}
