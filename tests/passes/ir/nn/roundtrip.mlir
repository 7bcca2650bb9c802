// RUN: zerograph-opt %s | zerograph-opt | FileCheck %s --strict-whitespace
// RUN: zerograph-opt %s --mlir-print-op-generic | zerograph-opt | FileCheck %s --strict-whitespace

// Every op that is printed is parsed again, in every form of its syntax: the
// examples of the ops' descriptions.

// CHECK-LABEL: nn.program @elementwise
nn.program @elementwise(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>,
                       %n: tensor<4x8xi64>) {
  // CHECK: nn.constant dense<5.000000e-01> : tensor<4x8xf32>
  %0 = nn.constant dense<0.5> : tensor<4x8xf32>
  // CHECK: nn.constant dense<[1, 2]> : tensor<2xui8>
  %1 = nn.constant dense<[1, 2]> : tensor<2xui8>
  // CHECK: nn.iota 1 : tensor<4x8xi64>
  %2 = nn.iota 1 : tensor<4x8xi64>
  // CHECK: nn.unary tanh %{{.*}} : tensor<4x8xf32> -> tensor<4x8xf32>
  %3 = nn.unary tanh %x : tensor<4x8xf32> -> tensor<4x8xf32>
  // CHECK: nn.unary is_nan %{{.*}} : tensor<4x8xf32> -> tensor<4x8xi1>
  %4 = nn.unary is_nan %x : tensor<4x8xf32> -> tensor<4x8xi1>
  // CHECK: nn.unary logical_not
  %5 = nn.unary logical_not %4 : tensor<4x8xi1> -> tensor<4x8xi1>
  // CHECK: nn.binary add %{{.*}}, %{{.*}} : tensor<4x8xf32>
  %6 = nn.binary add %x, %y : tensor<4x8xf32>
  // CHECK: nn.compare lt %{{.*}}, %{{.*}} : tensor<4x8xf32> -> tensor<4x8xi1>
  %7 = nn.compare lt %x, %y : tensor<4x8xf32> -> tensor<4x8xi1>
  // CHECK: nn.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<4x8xi1>, tensor<4x8xf32>
  %8 = nn.select %7, %x, %y : tensor<4x8xi1>, tensor<4x8xf32>
  // CHECK: nn.convert %{{.*}} : tensor<4x8xi64> -> tensor<4x8xf32>
  %9 = nn.convert %n : tensor<4x8xi64> -> tensor<4x8xf32>
  nn.return
}

// CHECK-LABEL: nn.program @shape
nn.program @shape(%x: tensor<4x8xf32>, %row: tensor<1x8xf32>,
                 %z: tensor<4x2xf32>) {
  // CHECK: nn.broadcast %{{.*}} : tensor<1x8xf32> -> tensor<4x8xf32>
  %0 = nn.broadcast %row : tensor<1x8xf32> -> tensor<4x8xf32>
  // CHECK: nn.reshape %{{.*}} : tensor<4x8xf32> -> tensor<32xf32>
  %1 = nn.reshape %x : tensor<4x8xf32> -> tensor<32xf32>
  // CHECK: nn.transpose %{{.*}} [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %2 = nn.transpose %x [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  // CHECK: nn.slice %{{.*}} [0, 2] step [1, 2] : tensor<4x8xf32> -> tensor<4x3xf32>
  %3 = nn.slice %x [0, 2] step [1, 2] : tensor<4x8xf32> -> tensor<4x3xf32>
  // CHECK: nn.slice %{{.*}} [3, 7] step [-1, -1]
  %4 = nn.slice %x [3, 7] step [-1, -1] : tensor<4x8xf32> -> tensor<4x8xf32>
  // CHECK: nn.pad %{{.*}} [0, 1] value 0.000000e+00 : f32 : tensor<4x8xf32> -> tensor<4x10xf32>
  %5 = nn.pad %x [0, 1] value 0.0 : f32 : tensor<4x8xf32> -> tensor<4x10xf32>
  // CHECK: nn.concat %{{.*}}, %{{.*}} dim 1 : tensor<4x8xf32>, tensor<4x2xf32> -> tensor<4x10xf32>
  %6 = nn.concat %x, %z dim 1 : tensor<4x8xf32>, tensor<4x2xf32> -> tensor<4x10xf32>
  nn.return
}

// CHECK-LABEL: nn.program @contract
nn.program @contract(%x: tensor<4x8xf32>, %i: tensor<4x8xi64>,
                    %a: tensor<2x4x8xf32>, %b: tensor<2x16x8xf32>,
                    %table: tensor<256x128xf32>, %ids: tensor<4x64xi64>) {
  // CHECK: nn.reduce sum %{{.*}} [1] : tensor<4x8xf32> -> tensor<4x1xf32>
  %0 = nn.reduce sum %x [1] : tensor<4x8xf32> -> tensor<4x1xf32>
  // CHECK: nn.reduce min %{{.*}} [1] first : tensor<4x8xf32> -> tensor<4x1xf32>
  %first = nn.reduce min %x [1] first : tensor<4x8xf32> -> tensor<4x1xf32>
  // CHECK: nn.cumsum %{{.*}} dim 1 : tensor<4x8xi64>
  %1 = nn.cumsum %i dim 1 : tensor<4x8xi64>
  // CHECK: nn.cumsum %{{.*}} dim 1 exclusive reverse : tensor<4x8xi64>
  %2 = nn.cumsum %i dim 1 exclusive reverse : tensor<4x8xi64>
  // CHECK: nn.pool max %{{.*}} dim 1 window 3 stride 2 dilation 1 low 1 : tensor<4x8xf32> -> tensor<4x4xf32>, tensor<4x4xi8>
  %max:2 = nn.pool max %x dim 1 window 3 stride 2 dilation 1 low 1
      : tensor<4x8xf32> -> tensor<4x4xf32>, tensor<4x4xi8>
  // CHECK: nn.pool sum %{{.*}} dim 0 window 2 stride 2 dilation 1 low 0 : tensor<4x8xf32> -> tensor<2x8xf32>
  %sum = nn.pool sum %x dim 0 window 2 stride 2 dilation 1 low 0
      : tensor<4x8xf32> -> tensor<2x8xf32>
  // CHECK: nn.matmul %{{.*}}, %{{.*}} transpose_b : tensor<2x4x8xf32>, tensor<2x16x8xf32> -> tensor<2x4x16xf32>
  %3 = nn.matmul %a, %b transpose_b
      : tensor<2x4x8xf32>, tensor<2x16x8xf32> -> tensor<2x4x16xf32>
  // CHECK: nn.matmul %{{.*}}, %{{.*}} transpose_a : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
  %4 = nn.matmul %x, %x transpose_a : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
  // CHECK: nn.gather %{{.*}}, %{{.*}} : tensor<256x128xf32>, tensor<4x64xi64> -> tensor<4x64x128xf32>
  %5 = nn.gather %table, %ids : tensor<256x128xf32>, tensor<4x64xi64> -> tensor<4x64x128xf32>
  // CHECK: nn.scatter sum %{{.*}}, %{{.*}} : tensor<4x64xi64>, tensor<4x64x128xf32> -> tensor<256x128xf32>
  %6 = nn.scatter sum %ids, %5 : tensor<4x64xi64>, tensor<4x64x128xf32> -> tensor<256x128xf32>
  // CHECK: nn.scatter max %{{.*}}, %{{.*}} into %{{.*}} : tensor<4x64xi64>, tensor<4x64x128xf32> -> tensor<256x128xf32>
  %7 = nn.scatter max %ids, %5 into %6 : tensor<4x64xi64>, tensor<4x64x128xf32> -> tensor<256x128xf32>
  nn.return
}

// CHECK-LABEL: nn.program @composite
nn.program @composite(%x: tensor<4x8xf32>, %scale: tensor<8xf32>,
                     %bias: tensor<8xf32>, %labels: tensor<4x1xi64>,
                     %flat: tensor<512xf32>, %wide: tensor<256xf64>) {
  // CHECK: nn.softmax %{{.*}} : tensor<4x8xf32>
  %0 = nn.softmax %x : tensor<4x8xf32>
  // CHECK: nn.layer_norm %{{.*}}, %{{.*}}, %{{.*}} epsilon 1.000000e-05 : tensor<4x8xf32>, tensor<8xf32> -> tensor<4x1xf32>, tensor<4x1xf32>
  %y, %mean, %rstd = nn.layer_norm %x, %scale, %bias epsilon 1.0e-5
      : tensor<4x8xf32>, tensor<8xf32> -> tensor<4x1xf32>, tensor<4x1xf32>
  // CHECK: nn.softmax_cross_entropy %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<4x1xi64> -> tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>
  %loss, %max, %log_sum = nn.softmax_cross_entropy %x, %labels
      : tensor<4x8xf32>, tensor<4x1xi64> -> tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>
  // CHECK: nn.softmax_grad %{{.*}}, %{{.*}} : tensor<4x8xf32>
  %dx = nn.softmax_grad %0, %x : tensor<4x8xf32>
  // CHECK: nn.layer_norm_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<8xf32>, tensor<4x1xf32>
  %dn:3 = nn.layer_norm_grad %x, %scale, %mean, %rstd, %dx
      : tensor<4x8xf32>, tensor<8xf32>, tensor<4x1xf32>
  // CHECK: nn.softmax_cross_entropy_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<4x1xi64>, tensor<4x1xf32>
  %dl = nn.softmax_cross_entropy_grad %x, %labels, %max, %log_sum, %loss
      : tensor<4x8xf32>, tensor<4x1xi64>, tensor<4x1xf32>
  // CHECK: nn.softmax_cross_entropy_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} and %{{.*}} : tensor<4x1xf32> : tensor<4x8xf32>, tensor<4x1xi64>, tensor<4x1xf32>
  %dm = nn.softmax_cross_entropy_grad %x, %labels, %max, %log_sum, %loss and %log_sum : tensor<4x1xf32>
      : tensor<4x8xf32>, tensor<4x1xi64>, tensor<4x1xf32>
  // CHECK: nn.sum_squares %{{.*}}, %{{.*}} : tensor<512xf32>, tensor<256xf64> -> tensor<33xf64>
  %limbs = nn.sum_squares %flat, %wide : tensor<512xf32>, tensor<256xf64> -> tensor<33xf64>
  // CHECK: nn.limb_value %{{.*}} : tensor<33xf64> -> tensor<1xf64>
  %1 = nn.limb_value %limbs : tensor<33xf64> -> tensor<1xf64>
  // CHECK: nn.block_squares %{{.*}} : tensor<512xf32> -> tensor<2x33xf64>
  %blocks = nn.block_squares %flat : tensor<512xf32> -> tensor<2x33xf64>
  // CHECK: nn.limb_value %{{.*}} : tensor<2x33xf64> -> tensor<2xf64>
  %2 = nn.limb_value %blocks : tensor<2x33xf64> -> tensor<2xf64>
  nn.return
}

// CHECK-LABEL: nn.program @kernel
nn.program @kernel(%x: tensor<4x8xf32>, %bias: tensor<8xf32>) {
  // CHECK: nn.kernel rows (%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}}) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32> {
  // CHECK: nn.reshape %[[B]]
  // CHECK: nn.yield %{{.*}} : tensor<4x8xf32>
  %0 = nn.kernel rows (%a = %x, %b = %bias) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32> {
    %1 = nn.reshape %b : tensor<8xf32> -> tensor<1x8xf32>
    %2 = nn.broadcast %1 : tensor<1x8xf32> -> tensor<4x8xf32>
    %3 = nn.binary add %a, %2 : tensor<4x8xf32>
    nn.yield %3 : tensor<4x8xf32>
  }
  nn.return
}

// CHECK-LABEL: nn.program @random
nn.program @random(%x: tensor<4x8xf32>, %i: tensor<4x8xi64>) {
  // CHECK: nn.scalar "sample_base" : tensor<1xi64>
  %0 = nn.scalar "sample_base" : tensor<1xi64>
  // CHECK: nn.random_uniform %{{.*}}, %{{.*}}, %{{.*}} number 4294967295 : tensor<4x8xi64> -> tensor<4x8xf32>
  %1 = nn.random_uniform %i, %i, %i number 4294967295 : tensor<4x8xi64> -> tensor<4x8xf32>
  // CHECK: nn.dropout %{{.*}} ratio 1.000000e-01 number 3 : tensor<4x8xf32> -> tensor<4x8xi1>
  %2, %m2 = nn.dropout %x ratio 0.1 number 3 : tensor<4x8xf32> -> tensor<4x8xi1>
  // CHECK: nn.dropout %{{.*}} ratio 0.000000e+00 number 3 samples [] : tensor<4x8xf32> -> tensor<4x8xi1>
  %3, %m3 = nn.dropout %x ratio 0.0 number 3 samples [] : tensor<4x8xf32> -> tensor<4x8xi1>
  // CHECK: nn.dropout %{{.*}} ratio 1.000000e-01 number 3 samples [1, 2] : tensor<4x8xf32> -> tensor<4x8xi1>
  %4, %m4 = nn.dropout %x ratio 0.1 number 3 samples [1, 2] : tensor<4x8xf32> -> tensor<4x8xi1>
  // CHECK: nn.random_like %{{.*}} number 4 : tensor<4x8xi64> -> tensor<4x8xf32>
  %5 = nn.random_like %i number 4 : tensor<4x8xi64> -> tensor<4x8xf32>
  // CHECK: nn.random_like %{{.*}} number 4 samples [1, 2] : tensor<4x8xf32> -> tensor<4x8xf32>
  %6 = nn.random_like %x number 4 samples [1, 2] : tensor<4x8xf32> -> tensor<4x8xf32>
  nn.return
}

// CHECK-LABEL: nn.program @forward
// CHECK: nn.input = #nn.input<"labels", per_sample = true, min = 0, max = 9, ignored = [-100]>
// CHECK: nn.input = #nn.input<"scale", per_sample = false>
// CHECK: nn.parameter = #nn.parameter<"h.0.ln_1.weight", module = "h.0.ln_1", trainable = true, init = ones, source = <"model.onnx", offset = 128, length = 512>>
// CHECK: nn.parameter = #nn.parameter<"missing", module = "", trainable = false, init = normal>
// CHECK: nn.output = "logits"
nn.program @forward(
    %labels: tensor<4xi64> {nn.input = #nn.input<"labels", per_sample = true, min = 0, max = 9, ignored = [-100]>},
    %scale: tensor<f32> {nn.input = #nn.input<"scale", per_sample = false>},
    %w: tensor<128xf32> {nn.parameter = #nn.parameter<"h.0.ln_1.weight", module = "h.0.ln_1", trainable = true, init = ones, source = <"model.onnx", offset = 128, length = 512>>},
    %m: tensor<2xf32> {nn.parameter = #nn.parameter<"missing", module = "", trainable = false, init = normal>})
    -> (tensor<f32> {nn.output = "logits"}) {
  nn.return %scale : tensor<f32>
}
