// RUN: zerograph-opt %s --split-input-file --zero-normalize-by-token-count | FileCheck %s

// @update divides by the count that @micro has summed.

// CHECK-LABEL: nn.program @update(
// CHECK-NOT: gradient_scale
// CHECK: %[[ONE:.+]] = nn.constant dense<1.000000e+00>
// CHECK: %[[NONE:.+]] = nn.compare eq %loss_count
// CHECK: %[[DIVISOR:.+]] = nn.select %[[NONE]], %[[ONE]], %loss_count
// CHECK: %[[WIDE:.+]] = nn.binary div %[[ONE]], %[[DIVISOR]]
// CHECK: %[[SCALE:.+]] = nn.convert %[[WIDE]] : tensor<1xf64> -> tensor<1xf32>
// CHECK: nn.binary mul %[[SCALE]], %learning_rate
module {
  nn.program @micro(%count: tensor<1xf64> {zero.state = #zero.state<unit = -1, segment = -1, "loss_count", sharded = false>}, %n: tensor<1xf64> {nn.input = #nn.input<"n", per_sample = false>}) -> (tensor<1xf64> {zero.updates = #zero.state<unit = -1, segment = -1, "loss_count", sharded = false>}) {
    %0 = zero.all_reduce %n, %count group ["data"] reason "what the mean loss counts" : tensor<1xf64>, tensor<1xf64> -> tensor<1xf64>
    nn.return %0 : tensor<1xf64>
  }
  nn.program @update(%gradient_scale: tensor<1xf32> {nn.scalar = #nn.scalar<"gradient_scale">}, %learning_rate: tensor<1xf32> {nn.scalar = #nn.scalar<"learning_rate">}) -> (tensor<1xf32> {zero.updates = #zero.state<unit = 0, segment = -1, "param", sharded = false>}) {
    %0 = nn.binary mul %gradient_scale, %learning_rate : tensor<1xf32>
    nn.return %0 : tensor<1xf32>
  }
}

// -----

// A fused step, right behind the sum.

// CHECK-LABEL: nn.program @step(
// CHECK: %[[SUM:.+]] = zero.all_reduce
// CHECK-NEXT: %[[ONE:.+]] = nn.constant dense<1.000000e+00>
// CHECK: nn.select %{{.+}}, %[[ONE]], %[[SUM]]
// CHECK: %[[SCALE:.+]] = nn.convert
// CHECK: nn.unary exp
// CHECK: nn.binary mul %[[SCALE]]
module {
  nn.program @step(%count: tensor<1xf64> {zero.state = #zero.state<unit = -1, segment = -1, "loss_count", sharded = false>}, %n: tensor<1xf64> {nn.input = #nn.input<"n", per_sample = false>}, %gradient_scale: tensor<1xf32> {nn.scalar = #nn.scalar<"gradient_scale">}, %learning_rate: tensor<1xf32> {nn.scalar = #nn.scalar<"learning_rate">}) -> (tensor<1xf64> {zero.updates = #zero.state<unit = -1, segment = -1, "loss_count", sharded = false>}, tensor<1xf32> {zero.updates = #zero.state<unit = 0, segment = -1, "param", sharded = false>}) {
    %0 = zero.all_reduce %n, %count group ["data"] reason "what the mean loss counts" : tensor<1xf64>, tensor<1xf64> -> tensor<1xf64>
    %1 = nn.unary exp %learning_rate : tensor<1xf32> -> tensor<1xf32>
    %2 = nn.binary mul %gradient_scale, %1 : tensor<1xf32>
    nn.return %0, %2 : tensor<1xf64>, tensor<1xf32>
  }
}

// -----

// Nothing is counted.

// CHECK-LABEL: nn.program @update(
// CHECK-SAME: %gradient_scale
// CHECK-NEXT: nn.binary mul %gradient_scale
module {
  nn.program @update(%gradient_scale: tensor<1xf32> {nn.scalar = #nn.scalar<"gradient_scale">}, %learning_rate: tensor<1xf32> {nn.scalar = #nn.scalar<"learning_rate">}) -> (tensor<1xf32> {zero.updates = #zero.state<unit = 0, segment = -1, "param", sharded = false>}) {
    %0 = nn.binary mul %gradient_scale, %learning_rate : tensor<1xf32>
    nn.return %0 : tensor<1xf32>
  }
}
