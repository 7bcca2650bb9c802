// RUN: zerograph-opt %s --nn-differentiate=loss=second | FileCheck %s
// RUN: zerograph-opt %s --nn-differentiate | FileCheck %s --check-prefix=DEFAULT
// RUN: not zerograph-opt %s --nn-differentiate=loss=third 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not zerograph-opt %s --nn-differentiate=loss=vector 2>&1 | FileCheck %s --check-prefix=SHAPE

// The named output is the loss; without a name, the one called "loss".

// CHECK: nn.program @micro
// CHECK: nn.unary exp
// CHECK-NOT: nn.unary tanh
// CHECK: tensor<1xf32> {nn.output = "second"}
// CHECK: tensor<1xf32> {nn.gradient = "w"}

// DEFAULT: nn.program @micro
// DEFAULT: tensor<1xf32> {nn.output = "loss"}
// DEFAULT: tensor<1xf32> {nn.gradient = "w"}

// MISSING: error: no output is named 'third'; outputs are 'loss' tensor<1xf32>, 'second' tensor<1xf32>, 'vector' tensor<4xf32>
// SHAPE: error: output 'vector' has type 'tensor<4xf32>'; a loss is one floating-point number, so reduce it in the model or choose another output
nn.program @forward(
    %w: tensor<1xf32> {nn.parameter = #nn.parameter<"w", module = "", trainable = true, init = normal>})
    -> (tensor<1xf32> {nn.output = "loss"}, tensor<1xf32> {nn.output = "second"}, tensor<4xf32> {nn.output = "vector"}) {
  %0 = nn.unary tanh %w : tensor<1xf32> -> tensor<1xf32>
  %1 = nn.unary exp %w : tensor<1xf32> -> tensor<1xf32>
  %2 = nn.broadcast %w : tensor<1xf32> -> tensor<4xf32>
  nn.return %0, %1, %2 : tensor<1xf32>, tensor<1xf32>, tensor<4xf32>
}
