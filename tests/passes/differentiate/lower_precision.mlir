// RUN: zerograph-opt %s --split-input-file --nn-lower-precision=precision=bf16 | FileCheck %s
// RUN: zerograph-opt %s --split-input-file --nn-lower-precision=precision=fp32 | FileCheck %s --check-prefix=SAME
// RUN: zerograph-opt %s --split-input-file --nn-lower-precision=precision=fp16 | FileCheck %s --check-prefix=HALF
// RUN: not zerograph-opt %s --split-input-file --nn-lower-precision=precision=fp8 2>&1 | FileCheck %s --check-prefix=WRONG

// SAME-NOT: bf16
// SAME: f16
// WRONG: needs a program @forward and precision fp32, bf16 or fp16; found fp8
// HALF: nn.matmul {{.*}} -> tensor<{{.*}}xf16>

// A product reads and gives 16 bits, views of it too; softmax is computed in
// f32, and its result is rounded for the product that reads it. The bias is
// rounded and added in f32.

// CHECK-LABEL: module attributes {nn.precision = bf16}
// CHECK: nn.program @forward(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %b: tensor<16xf32>)
// CHECK: %[[W:.+]] = nn.convert %w : tensor<8x16xf32> -> tensor<8x16xbf16>
// CHECK: %[[X:.+]] = nn.convert %x : tensor<4x8xf32> -> tensor<4x8xbf16>
// CHECK: %[[Y:.+]] = nn.matmul %[[X]], %[[W]] : tensor<4x8xbf16>, tensor<8x16xbf16> -> tensor<4x16xbf16>
// CHECK: %[[WIDE:.+]] = nn.convert %[[Y]] : tensor<4x16xbf16> -> tensor<4x16xf32>
// CHECK: %[[B16:.+]] = nn.convert %b : tensor<16xf32> -> tensor<16xbf16>
// CHECK: %[[B1:.+]] = nn.reshape %[[B16]] : tensor<16xbf16> -> tensor<1x16xbf16>
// CHECK: %[[BS:.+]] = nn.broadcast %[[B1]] : tensor<1x16xbf16> -> tensor<4x16xbf16>
// CHECK: %[[B:.+]] = nn.convert %[[BS]] : tensor<4x16xbf16> -> tensor<4x16xf32>
// CHECK: nn.binary add %[[WIDE]], %[[B]] : tensor<4x16xf32>
// CHECK: %[[P:.+]] = nn.softmax {{.*}} : tensor<4x16xf32>
// CHECK: %[[T:.+]] = nn.transpose %[[Y]] [1, 0] : tensor<4x16xbf16> -> tensor<16x4xbf16>
// CHECK: %[[P16:.+]] = nn.convert %[[P]] : tensor<4x16xf32> -> tensor<4x16xbf16>
// CHECK: nn.matmul %[[P16]], %[[T]] : tensor<4x16xbf16>, tensor<16x4xbf16> -> tensor<4x4xbf16>
module {
nn.program @forward(
    %x: tensor<4x8xf32> {nn.input = #nn.input<"x", per_sample = true>},
    %w: tensor<8x16xf32> {nn.parameter = #nn.parameter<"w", module = "", trainable = true, init = normal>},
    %b: tensor<16xf32> {nn.parameter = #nn.parameter<"b", module = "", trainable = true, init = zeros>})
    -> (tensor<f32> {nn.output = "loss"}) {
  %y = nn.matmul %x, %w : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  %b1 = nn.reshape %b : tensor<16xf32> -> tensor<1x16xf32>
  %bs = nn.broadcast %b1 : tensor<1x16xf32> -> tensor<4x16xf32>
  %sum = nn.binary add %y, %bs : tensor<4x16xf32>
  %p = nn.softmax %sum : tensor<4x16xf32>
  %t = nn.transpose %y [1, 0] : tensor<4x16xf32> -> tensor<16x4xf32>
  %q = nn.matmul %p, %t : tensor<4x16xf32>, tensor<16x4xf32> -> tensor<4x4xf32>
  %r = nn.reduce sum %q [0, 1] : tensor<4x4xf32> -> tensor<1x1xf32>
  %loss = nn.reshape %r : tensor<1x1xf32> -> tensor<f32>
  nn.return %loss : tensor<f32>
}
}

// -----

// A frozen table of which rows are taken has 16 bits; frequencies by which
// positions are multiplied, a product over one element, keep 32. Whatever a
// file has of a trained parameter, it is rounded to what was asked for.

// CHECK-LABEL: module attributes {nn.precision = bf16}
// CHECK: %frequencies: tensor<4x1xf32>, %v: tensor<8x8xf32>)
// CHECK: nn.convert %table : tensor<32x8xf32> -> tensor<32x8xbf16>
// CHECK: nn.gather {{.*}} : tensor<32x8xbf16>, tensor<4xi64> -> tensor<4x8xbf16>
// CHECK: nn.matmul %frequencies, %positions : tensor<4x1xf32>, tensor<1x8xf32> -> tensor<4x8xf32>
// CHECK: %[[V:.+]] = nn.convert %v : tensor<8x8xf32> -> tensor<8x8xbf16>
// CHECK: nn.matmul {{.*}}, %[[V]] : tensor<4x8xbf16>, tensor<8x8xbf16> -> tensor<4x8xbf16>
// CHECK: %v {nn.parameter = #nn.parameter<"v", module = "", trainable = true, init = normal, source = <"m.onnx", offset = 0, length = 128>, type = f16>}
module {
nn.program @forward(
    %ids: tensor<4xi64> {nn.input = #nn.input<"ids", per_sample = true>},
    %positions: tensor<1x8xf32> {nn.input = #nn.input<"positions", per_sample = false>},
    %table: tensor<32x8xf32> {nn.parameter = #nn.parameter<"table", module = "", trainable = false, init = normal>},
    %frequencies: tensor<4x1xf32> {nn.parameter = #nn.parameter<"frequencies", module = "", trainable = false, init = normal>},
    %v: tensor<8x8xf32> {nn.parameter = #nn.parameter<"v", module = "", trainable = true, init = normal, source = <"m.onnx", offset = 0, length = 128>, type = f16>})
    -> (tensor<4x8xf32> {nn.output = "y"}) {
  %rows = nn.gather %table, %ids : tensor<32x8xf32>, tensor<4xi64> -> tensor<4x8xf32>
  %angles = nn.matmul %frequencies, %positions : tensor<4x1xf32>, tensor<1x8xf32> -> tensor<4x8xf32>
  %x = nn.binary add %rows, %angles : tensor<4x8xf32>
  %y = nn.matmul %x, %v : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  nn.return %y : tensor<4x8xf32>
}
}

// -----

// A convolution is a product. Constants that lose nothing move with numbers of
// 16 bits; others do not. Running statistics stay.

// CHECK-LABEL: module attributes {nn.precision = bf16}
// CHECK: %[[K16:.+]] = nn.convert %k : {{.*}}bf16>
// CHECK: %[[X16:.+]] = nn.convert %x : {{.*}}bf16>
// CHECK: %[[Y16:.+]] = nn.convolution forward %[[X16]], %[[K16]] {{.*}} -> tensor<2x4x8xbf16>
// CHECK: %[[ZERO:.+]] = nn.constant dense<0.000000e+00> : tensor<2x4x8xbf16>
// CHECK: nn.select %mask, %[[Y16]], %[[ZERO]] : tensor<2x4x8xi1>, tensor<2x4x8xbf16>
// CHECK: nn.select %mask, {{.*}} : tensor<2x4x8xi1>, tensor<2x4x8xf32>
// CHECK-NOT: nn.convert %mean
module {
nn.program @forward(
    %x: tensor<2x3x8xf32> {nn.input = #nn.input<"x", per_sample = true>},
    %mask: tensor<2x4x8xi1> {nn.input = #nn.input<"mask", per_sample = true>},
    %k: tensor<4x3x3xf32> {nn.parameter = #nn.parameter<"k", module = "", trainable = true, init = normal>},
    %mean: tensor<2x4x8xf32> {nn.parameter = #nn.parameter<"mean", module = "", trainable = false, init = zeros>})
    -> (tensor<2x4x8xf32> {nn.output = "y"}, tensor<2x4x8xf32> {nn.output = "z"},
        tensor<2x4x8xf32> {nn.next_value = "mean"}) {
  %y = nn.convolution forward %x, %k strides [1] low [1] dilations [1] groups 1
      : tensor<2x3x8xf32>, tensor<4x3x3xf32> -> tensor<2x4x8xf32>
  %zero = nn.constant dense<0.0> : tensor<2x4x8xf32>
  %kept = nn.select %mask, %y, %zero : tensor<2x4x8xi1>, tensor<2x4x8xf32>
  %low = nn.constant dense<-3.40282347E+38> : tensor<2x4x8xf32>
  %masked = nn.select %mask, %y, %low : tensor<2x4x8xi1>, tensor<2x4x8xf32>
  %next = nn.binary add %mean, %y : tensor<2x4x8xf32>
  nn.return %kept, %masked, %next : tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>
}
}
