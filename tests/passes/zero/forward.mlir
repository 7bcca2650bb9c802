// RUN: zerograph-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(zero-forward,zero-verify)' | FileCheck %s

// One rank holds every parameter whole and reads it through a view; results are
// outputs, of samples where the importer said so.

// CHECK: module attributes {zero.accumulate = 1 : i64, zero.mesh = #zero.mesh<["data" = 1]>, zero.stage = 0 : i64}
// CHECK: nn.program @forward(%[[X:[^:]+]]: tensor<4x16xf32>
// CHECK-SAME: %[[FLAT:[^:]+]]: tensor<256xf32>
// CHECK-NEXT: %[[B:.*]] = zero.view %[[FLAT]][0]
// CHECK-NEXT: %[[ROW:.*]] = nn.reshape %[[B]]
// CHECK-NEXT: %[[WIDE:.*]] = nn.broadcast %[[ROW]]
// CHECK-NEXT: %[[Y:.*]] = nn.binary add %[[X]], %[[WIDE]]
// CHECK-NEXT: %[[OUT:.*]] = zero.view %[[FLAT]][0]
// CHECK-NEXT: nn.return %[[Y]], %[[OUT]]
// CHECK: %[[X]] {nn.input = #nn.input<"x", per_sample = true>}
// CHECK: %[[FLAT]] {zero.state = #zero.state<unit = 0, segment = -1, "param", sharded = false>}
// CHECK: tensor<4x16xf32> {zero.output = #zero.output<"y", per_sample = true>}
// CHECK: tensor<16xf32> {zero.output = #zero.output<"bias", per_sample = false>}
// CHECK: zero.layout units [
// CHECK-NEXT: #zero.unit<"fc", f32, elements = 256
nn.program @forward(%x: tensor<4x16xf32> {nn.input = #nn.input<"x", per_sample = true>}, %b: tensor<16xf32> {nn.parameter = #nn.parameter<"fc.bias", module = "fc", trainable = false, init = zeros>}) -> (tensor<4x16xf32> {nn.output = "y", nn.per_sample}, tensor<16xf32> {nn.output = "bias"}) {
  %row = nn.reshape %b : tensor<16xf32> -> tensor<1x16xf32>
  %0 = nn.broadcast %row : tensor<1x16xf32> -> tensor<4x16xf32>
  %1 = nn.binary add %x, %0 : tensor<4x16xf32>
  nn.return %1, %b : tensor<4x16xf32>, tensor<16xf32>
}

// -----

// expected-error @below {{has no function @forward to run}}
module {
}

// -----

// expected-error @below {{trains unit "fc", and is to be run forward only}}
nn.program @forward(%b: tensor<16xf32> {nn.parameter = #nn.parameter<"fc.bias", module = "fc", trainable = true, init = zeros>}) -> (tensor<16xf32> {nn.output = "b"}) {
  nn.return %b : tensor<16xf32>
}

// -----

// expected-error @below {{result 0 has no name}}
nn.program @forward(%x: tensor<16xf32> {nn.input = #nn.input<"x", per_sample = false>}) -> tensor<16xf32> {
  nn.return %x : tensor<16xf32>
}
