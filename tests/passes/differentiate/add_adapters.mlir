// RUN: zerograph-opt %s --split-input-file --nn-add-adapters --verify-diagnostics | FileCheck %s

// A product takes the weight as it is stored, [in, out]; another one takes it
// transposed, through a view. Both share the adapter.

// CHECK-LABEL: nn.program @forward(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>, %w.lora_A: tensor<2x8xf32>,
// CHECK-NEXT: %w.lora_B: tensor<6x2xf32>)
// CHECK: %[[Y:.+]] = nn.matmul %x, %w : tensor<4x8xf32>, tensor<8x6xf32> -> tensor<4x6xf32>
// CHECK: %[[LOW:.+]] = nn.matmul %x, %w.lora_A transpose_b : tensor<4x8xf32>, tensor<2x8xf32> -> tensor<4x2xf32>
// CHECK: %[[HIGH:.+]] = nn.matmul %[[LOW]], %w.lora_B transpose_b : tensor<4x2xf32>, tensor<6x2xf32> -> tensor<4x6xf32>
// CHECK: %[[SCALE:.+]] = nn.constant dense<8.000000e+00> : tensor<4x6xf32>
// CHECK: %[[SCALED:.+]] = nn.binary mul %[[HIGH]], %[[SCALE]] : tensor<4x6xf32>
// CHECK: %[[SUM:.+]] = nn.binary add %[[Y]], %[[SCALED]] : tensor<4x6xf32>
// CHECK: %[[T:.+]] = nn.transpose %w
// CHECK: %[[Z:.+]] = nn.matmul %[[SUM]], %[[T]] : tensor<4x6xf32>, tensor<6x8xf32> -> tensor<4x8xf32>
// CHECK: %[[LOW2:.+]] = nn.matmul %[[SUM]], %w.lora_B : tensor<4x6xf32>, tensor<6x2xf32> -> tensor<4x2xf32>
// CHECK: %[[HIGH2:.+]] = nn.matmul %[[LOW2]], %w.lora_A : tensor<4x2xf32>, tensor<2x8xf32> -> tensor<4x8xf32>
// CHECK: %[[SCALED2:.+]] = nn.binary mul %[[HIGH2]]
// CHECK: %[[SUM2:.+]] = nn.binary add %[[Z]], %[[SCALED2]]
// CHECK: nn.return %[[SUM2]]
// CHECK: #nn.parameter<"w", module = "m", trainable = false, init = normal adapter = <"w", rank = 2, alpha = 1.600000e+01 : f64, transposed = true>>
// CHECK: #nn.parameter<"w.lora_A", module = "m", trainable = true, init = lora_a>
// CHECK: #nn.parameter<"w.lora_B", module = "m", trainable = true, init = lora_b>
nn.program @forward(
    %x: tensor<4x8xf32> {nn.input = #nn.input<"x", per_sample = true>},
    %w: tensor<8x6xf32> {nn.parameter = #nn.parameter<"w", module = "m", trainable = false, init = normal adapter = <"w", rank = 2, alpha = 16.0 : f64, transposed = false>>})
    -> (tensor<4x8xf32> {nn.output = "y"}) {
  %y = nn.matmul %x, %w : tensor<4x8xf32>, tensor<8x6xf32> -> tensor<4x6xf32>
  %t = nn.transpose %w [1, 0] : tensor<8x6xf32> -> tensor<6x8xf32>
  %z = nn.matmul %y, %t : tensor<4x6xf32>, tensor<6x8xf32> -> tensor<4x8xf32>
  nn.return %z : tensor<4x8xf32>
}

// -----

// A Linear's weight is [out, in]. One of three dimensions is the matrix that the
// product sees.

// CHECK-LABEL: nn.program @forward
// CHECK: nn.matmul %x, %linear transpose_b
// CHECK: nn.matmul %x, %linear.lora_A transpose_b
// CHECK: nn.matmul {{.*}}, %linear.lora_B transpose_b
// CHECK: %[[HEADS:.+]] = nn.reshape %heads
// CHECK: nn.matmul %x, %[[HEADS]] :
// CHECK: nn.matmul %x, %heads.lora_A transpose_b : tensor<4x8xf32>, tensor<1x8xf32>
// CHECK: nn.matmul {{.*}}, %heads.lora_B transpose_b : tensor<4x1xf32>, tensor<6x1xf32>
// CHECK: #nn.parameter<"linear", {{.*}} adapter = <"l*", rank = 3, alpha = 8.000000e+00 : f64, transposed = false>>
// CHECK: #nn.parameter<"heads", {{.*}} source = <"m.onnx", offset = 0, length = 192> adapter = <"h*", rank = 1, alpha = 8.000000e+00 : f64, transposed = true>>
nn.program @forward(
    %x: tensor<4x8xf32> {nn.input = #nn.input<"x", per_sample = true>},
    %linear: tensor<6x8xf32> {nn.parameter = #nn.parameter<"linear", module = "m", trainable = false, init = normal adapter = <"l*", rank = 3, alpha = 8.0 : f64, transposed = false>>},
    %heads: tensor<8x2x3xf32> {nn.parameter = #nn.parameter<"heads", module = "m", trainable = false, init = normal, source = <"m.onnx", offset = 0, length = 192> adapter = <"h*", rank = 1, alpha = 8.0 : f64, transposed = false>>})
    -> (tensor<4x6xf32> {nn.output = "y"}, tensor<4x6xf32> {nn.output = "z"}) {
  %y = nn.matmul %x, %linear transpose_b : tensor<4x8xf32>, tensor<6x8xf32> -> tensor<4x6xf32>
  %m = nn.reshape %heads : tensor<8x2x3xf32> -> tensor<8x6xf32>
  %z = nn.matmul %x, %m : tensor<4x8xf32>, tensor<8x6xf32> -> tensor<4x6xf32>
  nn.return %y, %z : tensor<4x6xf32>, tensor<4x6xf32>
}

// -----

// A weight that not only products multiply by is left as it is, and said; so is
// a rank above that of the weight.

// CHECK-LABEL: nn.program @forward
// CHECK-NOT: table.lora
// CHECK: #nn.parameter<"table", module = "", trainable = false, init = normal>
// expected-warning @+2 {{--lora 7:* adapts 1 of 3 weights that match, and leaves the others as they are: 'table' is read by 'embed' (nn.gather), 'left' is read by 'last' (nn.matmul)}}
// expected-warning @+1 {{--lora 7:*: adapters of more numbers than the weight itself: w}}
nn.program @forward(
    %ids: tensor<4xi64> {nn.input = #nn.input<"ids", per_sample = true, min = 0, max = 9>},
    %table: tensor<10x8xf32> {nn.parameter = #nn.parameter<"table", module = "", trainable = false, init = normal adapter = <"*", rank = 7, alpha = 8.0 : f64, transposed = false>>},
    %w: tensor<8x6xf32> {nn.parameter = #nn.parameter<"w", module = "", trainable = false, init = normal adapter = <"*", rank = 7, alpha = 8.0 : f64, transposed = false>>},
    %left: tensor<3x4xf32> {nn.parameter = #nn.parameter<"left", module = "", trainable = false, init = normal adapter = <"*", rank = 7, alpha = 8.0 : f64, transposed = false>>})
    -> (tensor<3x6xf32> {nn.output = "y"}) {
  %x = nn.gather %table, %ids : tensor<10x8xf32>, tensor<4xi64> -> tensor<4x8xf32> loc("embed")
  %logits = nn.matmul %x, %table transpose_b : tensor<4x8xf32>, tensor<10x8xf32> -> tensor<4x10xf32>
  %y = nn.matmul %x, %w : tensor<4x8xf32>, tensor<8x6xf32> -> tensor<4x6xf32>
  %z = nn.matmul %left, %y : tensor<3x4xf32>, tensor<4x6xf32> -> tensor<3x6xf32> loc("last")
  nn.return %z : tensor<3x6xf32>
}

// -----

// expected-error @+1 {{--lora 2:table: nothing to adapt: 'table' is read by 'embed' (nn.gather). An adapter is for a weight that products of matrices (MatMul, Gemm), and nothing else, multiply by from the right; there are w}}
nn.program @forward(
    %ids: tensor<4xi64> {nn.input = #nn.input<"ids", per_sample = true, min = 0, max = 9>},
    %table: tensor<10x8xf32> {nn.parameter = #nn.parameter<"table", module = "", trainable = false, init = normal adapter = <"table", rank = 2, alpha = 8.0 : f64, transposed = false>>},
    %w: tensor<8x6xf32> {nn.parameter = #nn.parameter<"w", module = "", trainable = false, init = normal, source = <"m.onnx", offset = 0, length = 192>>})
    -> (tensor<4x6xf32> {nn.output = "y"}) {
  %x = nn.gather %table, %ids : tensor<10x8xf32>, tensor<4xi64> -> tensor<4x8xf32> loc("embed")
  %y = nn.matmul %x, %w : tensor<4x8xf32>, tensor<8x6xf32> -> tensor<4x6xf32>
  nn.return %y : tensor<4x6xf32>
}

// -----

// expected-error @+1 {{--lora 2:w: nothing to adapt: 'w' is of f16, and adapters are of f32 or f64}}
nn.program @forward(
    %x: tensor<4x8xf16> {nn.input = #nn.input<"x", per_sample = true>},
    %w: tensor<8x6xf16> {nn.parameter = #nn.parameter<"w", module = "", trainable = false, init = normal adapter = <"w", rank = 2, alpha = 8.0 : f64, transposed = false>>})
    -> (tensor<4x6xf16> {nn.output = "y"}) {
  %y = nn.matmul %x, %w : tensor<4x8xf16>, tensor<8x6xf16> -> tensor<4x6xf16>
  nn.return %y : tensor<4x6xf16>
}

// -----

// Evaluation adapts what training adapts: a weight that training alone applies
// something to before the product has no adapter in either.

// CHECK-LABEL: nn.program @forward
// CHECK: %v.lora_A
// CHECK-LABEL: nn.program @evaluate
// CHECK-NOT: %w.lora_A
// CHECK: %v.lora_A
// CHECK: nn.matmul %x, %w :
// CHECK-NOT: %w.lora_A
// expected-warning @+1 {{--lora 2:* adapts 1 of 2 weights that match, and leaves the others as they are: 'w' is read by 'dropped' (nn.unary)}}
nn.program @forward(
    %x: tensor<4x8xf32> {nn.input = #nn.input<"x", per_sample = true>},
    %w: tensor<8x6xf32> {nn.parameter = #nn.parameter<"w", module = "", trainable = false, init = normal adapter = <"*", rank = 2, alpha = 8.0 : f64, transposed = false>>},
    %v: tensor<8x6xf32> {nn.parameter = #nn.parameter<"v", module = "", trainable = false, init = normal adapter = <"*", rank = 2, alpha = 8.0 : f64, transposed = false>>})
    -> (tensor<4x6xf32> {nn.output = "y"}) {
  %d = nn.unary tanh %w : tensor<8x6xf32> -> tensor<8x6xf32> loc("dropped")
  %y = nn.matmul %x, %d : tensor<4x8xf32>, tensor<8x6xf32> -> tensor<4x6xf32>
  %z = nn.matmul %x, %v : tensor<4x8xf32>, tensor<8x6xf32> -> tensor<4x6xf32>
  %sum = nn.binary add %y, %z : tensor<4x6xf32>
  nn.return %sum : tensor<4x6xf32>
}

nn.program @evaluate(
    %x: tensor<4x8xf32> {nn.input = #nn.input<"x", per_sample = true>},
    %w: tensor<8x6xf32> {nn.parameter = #nn.parameter<"w", module = "", trainable = false, init = normal adapter = <"*", rank = 2, alpha = 8.0 : f64, transposed = false>>},
    %v: tensor<8x6xf32> {nn.parameter = #nn.parameter<"v", module = "", trainable = false, init = normal adapter = <"*", rank = 2, alpha = 8.0 : f64, transposed = false>>})
    -> (tensor<4x6xf32> {nn.output = "y"}) {
  %y = nn.matmul %x, %w : tensor<4x8xf32>, tensor<8x6xf32> -> tensor<4x6xf32>
  %z = nn.matmul %x, %v : tensor<4x8xf32>, tensor<8x6xf32> -> tensor<4x6xf32>
  %sum = nn.binary add %y, %z : tensor<4x6xf32>
  nn.return %sum : tensor<4x6xf32>
}

// -----

nn.program @forward(
    %x: tensor<4x8xf32> {nn.input = #nn.input<"x", per_sample = true>},
    %w: tensor<8x6xf32> {nn.parameter = #nn.parameter<"w", module = "", trainable = false, init = normal adapter = <"*", rank = 2, alpha = 8.0 : f64, transposed = false>>},
    %v: tensor<8x6xf32> {nn.parameter = #nn.parameter<"v", module = "", trainable = false, init = normal adapter = <"*", rank = 2, alpha = 8.0 : f64, transposed = false>>})
    -> (tensor<4x6xf32> {nn.output = "y"}) {
  %y = nn.matmul %x, %w : tensor<4x8xf32>, tensor<8x6xf32> -> tensor<4x6xf32>
  %z = nn.matmul %x, %v : tensor<4x8xf32>, tensor<8x6xf32> -> tensor<4x6xf32>
  %sum = nn.binary add %y, %z : tensor<4x6xf32>
  nn.return %sum : tensor<4x6xf32>
}

// expected-error @+1 {{--lora 2:*: training adapts weights that evaluation reads in another way: 'w' is read by 'dropped' (nn.unary). Use a pattern without them, or leave out --eval-data}}
nn.program @evaluate(
    %x: tensor<4x8xf32> {nn.input = #nn.input<"x", per_sample = true>},
    %w: tensor<8x6xf32> {nn.parameter = #nn.parameter<"w", module = "", trainable = false, init = normal adapter = <"*", rank = 2, alpha = 8.0 : f64, transposed = false>>},
    %v: tensor<8x6xf32> {nn.parameter = #nn.parameter<"v", module = "", trainable = false, init = normal adapter = <"*", rank = 2, alpha = 8.0 : f64, transposed = false>>})
    -> (tensor<4x6xf32> {nn.output = "y"}) {
  %d = nn.unary tanh %w : tensor<8x6xf32> -> tensor<8x6xf32> loc("dropped")
  %y = nn.matmul %x, %d : tensor<4x8xf32>, tensor<8x6xf32> -> tensor<4x6xf32>
  %z = nn.matmul %x, %v : tensor<4x8xf32>, tensor<8x6xf32> -> tensor<4x6xf32>
  %sum = nn.binary add %y, %z : tensor<4x6xf32>
  nn.return %sum : tensor<4x6xf32>
}
