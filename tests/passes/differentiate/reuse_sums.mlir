// RUN: zerograph-opt %s --split-input-file --nn-reuse-sums | FileCheck %s

// The backward of a BatchNorm: what is centered adds up to 0, and the output's
// gradient has a sum, which may come later.

// CHECK-LABEL: nn.program @micro
// CHECK: %[[C:.+]] = nn.binary sub %x, %{{.*}} : tensor<4x8x64xf32>
// CHECK: %[[DB:.+]] = nn.reduce sum %dy [0, 2]
// CHECK: %[[P:.+]] = nn.binary mul %[[DB]], %b : tensor<1x8x1xf32>
// CHECK: %[[S:.+]] = nn.unary neg %[[P]]
// CHECK-NOT: nn.reduce
// CHECK: nn.return %[[S]], %[[DB]], %[[C]]
module {
nn.program @micro(%x: tensor<4x8x64xf32>, %dy: tensor<4x8x64xf32>,
    %a: tensor<1x8x1xf32>, %b: tensor<1x8x1xf32>)
    -> (tensor<1x8x1xf32>, tensor<1x8x1xf32>, tensor<4x8x64xf32>) {
  %sum = nn.reduce sum %x [0, 2] : tensor<4x8x64xf32> -> tensor<1x8x1xf32>
  %n = nn.constant dense<3.906250e-03> : tensor<1x8x1xf32>
  %mean = nn.binary mul %sum, %n : tensor<1x8x1xf32>
  %means = nn.broadcast %mean : tensor<1x8x1xf32> -> tensor<4x8x64xf32>
  %centered = nn.binary sub %x, %means : tensor<4x8x64xf32>
  %as = nn.broadcast %a : tensor<1x8x1xf32> -> tensor<4x8x64xf32>
  %bs = nn.broadcast %b : tensor<1x8x1xf32> -> tensor<4x8x64xf32>
  %0 = nn.binary mul %as, %centered : tensor<4x8x64xf32>
  %1 = nn.binary add %0, %0 : tensor<4x8x64xf32>
  %2 = nn.binary mul %dy, %bs : tensor<4x8x64xf32>
  %3 = nn.binary add %1, %2 : tensor<4x8x64xf32>
  %4 = nn.unary neg %3 : tensor<4x8x64xf32> -> tensor<4x8x64xf32>
  %5 = nn.reduce sum %4 [0, 2] : tensor<4x8x64xf32> -> tensor<1x8x1xf32>
  %db = nn.reduce sum %dy [0, 2] : tensor<4x8x64xf32> -> tensor<1x8x1xf32>
  nn.return %5, %db, %centered : tensor<1x8x1xf32>, tensor<1x8x1xf32>, tensor<4x8x64xf32>
}
}

// -----

// A factor may stand on either side, or divide.

// CHECK-LABEL: nn.program @micro
// CHECK: %[[S:.+]] = nn.reduce sum %x [1]
// CHECK-NOT: nn.reduce
// CHECK: %[[P:.+]] = nn.binary mul %[[S]], %f
// CHECK: %[[Q:.+]] = nn.binary div %[[S]], %f
// CHECK: %[[N:.+]] = nn.unary neg %[[S]]
// CHECK: nn.return %[[S]], %[[P]], %[[Q]], %[[N]]
module {
nn.program @micro(%x: tensor<8x16xf64>, %f: tensor<8x1xf64>)
    -> (tensor<8x1xf64>, tensor<8x1xf64>, tensor<8x1xf64>, tensor<8x1xf64>) {
  %sum = nn.reduce sum %x [1] : tensor<8x16xf64> -> tensor<8x1xf64>
  %fs = nn.broadcast %f : tensor<8x1xf64> -> tensor<8x16xf64>
  %0 = nn.binary mul %fs, %x : tensor<8x16xf64>
  %1 = nn.reduce sum %0 [1] : tensor<8x16xf64> -> tensor<8x1xf64>
  %2 = nn.binary div %x, %fs : tensor<8x16xf64>
  %3 = nn.reduce sum %2 [1] : tensor<8x16xf64> -> tensor<8x1xf64>
  %4 = nn.unary neg %x : tensor<8x16xf64> -> tensor<8x16xf64>
  %5 = nn.reduce sum %4 [1] : tensor<8x16xf64> -> tensor<8x1xf64>
  nn.return %sum, %1, %3, %5 : tensor<8x1xf64>, tensor<8x1xf64>, tensor<8x1xf64>, tensor<8x1xf64>
}
}

// -----

// The sum of a difference keeps the digits that two sums lose.

// CHECK-LABEL: nn.program @micro
// CHECK-COUNT-3: nn.reduce sum
// CHECK: nn.return
module {
nn.program @micro(%x: tensor<8x16xf32>, %y: tensor<8x16xf32>)
    -> (tensor<8x1xf32>, tensor<8x1xf32>, tensor<8x1xf32>) {
  %0 = nn.reduce sum %x [1] : tensor<8x16xf32> -> tensor<8x1xf32>
  %1 = nn.reduce sum %y [1] : tensor<8x16xf32> -> tensor<8x1xf32>
  %2 = nn.binary sub %x, %y : tensor<8x16xf32>
  %3 = nn.reduce sum %2 [1] : tensor<8x16xf32> -> tensor<8x1xf32>
  nn.return %0, %1, %3 : tensor<8x1xf32>, tensor<8x1xf32>, tensor<8x1xf32>
}
}

// -----

// A mean along other dimensions, a factor that differs among the elements of a
// sum, and a sum along other dimensions: nothing follows.

// CHECK-LABEL: nn.program @micro
// CHECK-COUNT-5: nn.reduce sum
// CHECK: nn.return
module {
nn.program @micro(%x: tensor<8x16xf32>, %dy: tensor<8x16xf32>, %f: tensor<1x16xf32>)
    -> (tensor<8x1xf32>, tensor<8x1xf32>, tensor<8x1xf32>, tensor<1x16xf32>) {
  %sum = nn.reduce sum %x [0] : tensor<8x16xf32> -> tensor<1x16xf32>
  %n = nn.constant dense<1.250000e-01> : tensor<1x16xf32>
  %mean = nn.binary mul %sum, %n : tensor<1x16xf32>
  %means = nn.broadcast %mean : tensor<1x16xf32> -> tensor<8x16xf32>
  %centered = nn.binary sub %x, %means : tensor<8x16xf32>
  %0 = nn.reduce sum %centered [1] : tensor<8x16xf32> -> tensor<8x1xf32>
  %fs = nn.broadcast %f : tensor<1x16xf32> -> tensor<8x16xf32>
  %1 = nn.binary mul %dy, %fs : tensor<8x16xf32>
  %2 = nn.reduce sum %1 [1] : tensor<8x16xf32> -> tensor<8x1xf32>
  %3 = nn.unary neg %dy : tensor<8x16xf32> -> tensor<8x16xf32>
  %4 = nn.reduce sum %3 [1] : tensor<8x16xf32> -> tensor<8x1xf32>
  %5 = nn.reduce sum %dy [0] : tensor<8x16xf32> -> tensor<1x16xf32>
  nn.return %0, %2, %4, %5 : tensor<8x1xf32>, tensor<8x1xf32>, tensor<8x1xf32>, tensor<1x16xf32>
}
}
