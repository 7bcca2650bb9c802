// RUN: zerograph-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(nn.program(nn-form-kernels))'

nn.program @composite(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{nn.softmax has no place in a kernel; run nn-decompose before, for a target that does not keep it}}
  %0 = nn.softmax %x : tensor<4xf32>
  nn.return %0 : tensor<4xf32>
}

// -----

nn.program @groups(%x: tensor<4x2x4xf32>) -> tensor<1x2x1xf32> {
  // expected-error@+1 {{a reduction of separate groups of dimensions}}
  %0 = nn.reduce sum %x [0, 2] : tensor<4x2x4xf32> -> tensor<1x2x1xf32>
  nn.return %0 : tensor<1x2x1xf32>
}
