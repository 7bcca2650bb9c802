// RUN: zerograph-opt %s --split-input-file --verify-diagnostics | zerograph-opt --split-input-file | FileCheck %s

// The three kinds tie the same tensors.
// CHECK-LABEL: nn.program @kinds
nn.program @kinds(%x: tensor<2x4x8x8xf32>, %w: tensor<16x2x3x3xf32>, %y: tensor<2x16x4x4xf32>) {
  // CHECK: nn.convolution forward %{{.*}}, %{{.*}} strides [2, 2] low [1, 1] dilations [1, 1] groups 2 : tensor<2x4x8x8xf32>, tensor<16x2x3x3xf32> -> tensor<2x16x4x4xf32>
  %0 = nn.convolution forward %x, %w strides [2, 2] low [1, 1] dilations [1, 1] groups 2 : tensor<2x4x8x8xf32>, tensor<16x2x3x3xf32> -> tensor<2x16x4x4xf32>
  // CHECK: nn.convolution input
  %1 = nn.convolution input %y, %w strides [2, 2] low [1, 1] dilations [1, 1] groups 2 : tensor<2x16x4x4xf32>, tensor<16x2x3x3xf32> -> tensor<2x4x8x8xf32>
  // CHECK: nn.convolution weights
  %2 = nn.convolution weights %x, %y strides [2, 2] low [1, 1] dilations [1, 1] groups 2 : tensor<2x4x8x8xf32>, tensor<2x16x4x4xf32> -> tensor<16x2x3x3xf32>
  nn.return
}

// -----

nn.program @rank(%x: tensor<2x4xf32>, %w: tensor<8x4xf32>) {
  // expected-error @+1 {{'nn.convolution' op input, weights and output need one rank, at least 3, not 'tensor<2x4xf32>', 'tensor<8x4xf32>', 'tensor<2x8xf32>'}}
  %0 = nn.convolution forward %x, %w strides [] low [] dilations [] groups 1 : tensor<2x4xf32>, tensor<8x4xf32> -> tensor<2x8xf32>
  nn.return
}

// -----

nn.program @element(%x: tensor<2x4x8xf32>, %w: tensor<8x4x3xf64>) {
  // expected-error @+1 {{'nn.convolution' op input, weights and output differ in type: 'tensor<2x4x8xf32>', 'tensor<8x4x3xf64>', 'tensor<2x8x6xf32>'}}
  %0 = nn.convolution forward %x, %w strides [1] low [0] dilations [1] groups 1 : tensor<2x4x8xf32>, tensor<8x4x3xf64> -> tensor<2x8x6xf32>
  nn.return
}

// -----

nn.program @counts(%x: tensor<2x4x8xf32>, %w: tensor<8x4x3xf32>) {
  // expected-error @+1 {{'nn.convolution' op strides, low and dilations need one number for each of 1 place dimensions}}
  %0 = nn.convolution forward %x, %w strides [1, 1] low [0] dilations [1] groups 1 : tensor<2x4x8xf32>, tensor<8x4x3xf32> -> tensor<2x8x6xf32>
  nn.return
}

// -----

nn.program @least(%x: tensor<2x4x8xf32>, %w: tensor<8x4x3xf32>) {
  // expected-error @+1 {{'nn.convolution' op strides and dilations are at least 1, low at least 0}}
  %0 = nn.convolution forward %x, %w strides [1] low [-1] dilations [1] groups 1 : tensor<2x4x8xf32>, tensor<8x4x3xf32> -> tensor<2x8x6xf32>
  nn.return
}

// -----

nn.program @samples(%x: tensor<2x4x8xf32>, %w: tensor<8x4x3xf32>) {
  // expected-error @+1 {{'nn.convolution' op samples differ: 'tensor<2x4x8xf32>' and 'tensor<3x8x6xf32>'}}
  %0 = nn.convolution forward %x, %w strides [1] low [0] dilations [1] groups 1 : tensor<2x4x8xf32>, tensor<8x4x3xf32> -> tensor<3x8x6xf32>
  nn.return
}

// -----

nn.program @groups(%x: tensor<2x4x8xf32>, %w: tensor<8x4x3xf32>) {
  // expected-error @+1 {{'nn.convolution' op groups do not divide the channels: 2 of 'tensor<2x4x8xf32>', 'tensor<8x4x3xf32>', 'tensor<2x8x6xf32>'}}
  %0 = nn.convolution forward %x, %w strides [1] low [0] dilations [1] groups 2 : tensor<2x4x8xf32>, tensor<8x4x3xf32> -> tensor<2x8x6xf32>
  nn.return
}

// -----

// One window more would fit.
nn.program @windows(%x: tensor<2x4x8xf32>, %w: tensor<8x4x3xf32>) {
  // expected-error @+1 {{'nn.convolution' op windows do not fit place dimension 0: 5 of 3 elements, 1 apart, in 8 elements after 0 zeros}}
  %0 = nn.convolution forward %x, %w strides [1] low [0] dilations [1] groups 1 : tensor<2x4x8xf32>, tensor<8x4x3xf32> -> tensor<2x8x5xf32>
  nn.return
}
