// RUN: zerograph-opt %s --zg-zero="ranks=2 zero=0 optimizer=sgd" | FileCheck %s --check-prefixes=CHECK,STAGE0
// RUN: zerograph-opt %s --zg-zero="ranks=2 zero=3 optimizer=sgd" | FileCheck %s --check-prefixes=CHECK,STAGE3
// RUN: zerograph-opt %s --zg-zero="ranks=2 zero=3 optimizer=sgd accumulate=2" | FileCheck %s --check-prefix=ACCUMULATE

// A parameter that every micro-batch makes anew (a running statistic) is in a
// unit of its own, whole on every rank in every stage, packed where the
// micro-batch ends, and neither gathered nor reduced. With accumulation @micro
// does it.

// CHECK-LABEL: nn.program @step
// CHECK-SAME: %buffers.param: tensor<512xf32>
// CHECK-NOT: {{(gather|reduce)}}{{.*}} unit 1
// CHECK: %[[MEAN:.+]] = zero.view %buffers.param[0]
// CHECK: %[[NEXT:.+]] = nn.binary add %[[MEAN]]
// CHECK: %[[NEXT2:.+]] = nn.binary mul
// CHECK: zero.pack %[[NEXT]], %[[NEXT2]] at [0, 256] unit 1
// CHECK: %buffers.param {zero.state = #zero.state<unit = 1, segment = -1, "param", sharded = false>}
// CHECK: tensor<512xf32> {zero.updates = #zero.state<unit = 1, segment = -1, "param", sharded = false>}
// STAGE0: #zero.unit<"buffers", f32, elements = 512, trainable = false, persistent = false, reason = "made anew by every micro-batch", axes = ["data"], segments = [512],
// STAGE3: #zero.unit<"buffers", f32, elements = 512, trainable = false, persistent = true, reason =
// CHECK: offset = 256>], local = true place = "bn">

// ACCUMULATE-LABEL: nn.program @micro
// ACCUMULATE: zero.updates = #zero.state<unit = 1, segment = -1, "param"
// ACCUMULATE-LABEL: nn.program @update
// ACCUMULATE-NOT: zero.updates = #zero.state<unit = 1
nn.program @micro(
    %w: tensor<4xf32> {nn.parameter = #nn.parameter<"bn.w", module = "bn", trainable = true, init = normal>},
    %mean: tensor<4xf32> {nn.parameter = #nn.parameter<"bn.mean", module = "bn", trainable = false, init = zeros>},
    %var: tensor<4xf32> {nn.parameter = #nn.parameter<"bn.var", module = "bn", trainable = false, init = ones>},
    %x: tensor<4xf32> {nn.input = #nn.input<"x", per_sample = true>})
    -> (tensor<1xf32> {nn.output = "loss"}, tensor<4xf32> {nn.gradient = "bn.w"},
        tensor<4xf32> {nn.next_value = "bn.mean"}, tensor<4xf32> {nn.next_value = "bn.var"}) {
  %0 = nn.binary mul %w, %x : tensor<4xf32>
  %loss = nn.reduce sum %0 [0] : tensor<4xf32> -> tensor<1xf32>
  %m = nn.binary add %mean, %x : tensor<4xf32>
  %v = nn.binary mul %var, %x : tensor<4xf32>
  %g = nn.binary add %x, %x : tensor<4xf32>
  nn.return %loss, %g, %m, %v : tensor<1xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
