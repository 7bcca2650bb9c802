// RUN: zerograph-opt %s --split-input-file --nn-tile-hidden="tile-elements=2560" --canonicalize | FileCheck %s
// RUN: zerograph-opt %s --split-input-file --nn-tile-hidden | FileCheck %s --check-prefix=SMALL
// RUN: not zerograph-opt %s --split-input-file --nn-tile-hidden="tile-elements=0" 2>&1 | FileCheck %s --check-prefix=NONE

// A hidden layer of 128 rows of 40, forward and backward, by two tiles. Backward
// reads the tiles of forward, and converts the rows that it needs of a gradient that
// something else reads too, and sums them for a bias. Gradients of weights are added
// up in place.

// CHECK-LABEL: nn.program @micro
// CHECK: %[[X0:.+]] = nn.take_rows %x from 0
// CHECK: %[[P0:.+]] = nn.matmul %[[X0]], %w
// CHECK: %[[H0:.+]] = nn.unary tanh %[[P0]]
// CHECK: %[[Y0:.+]] = nn.matmul %[[H0]], %v
// CHECK: %[[X1:.+]] = nn.take_rows %x from 64
// CHECK: %[[P1:.+]] = nn.matmul %[[X1]], %w
// CHECK: %[[H1:.+]] = nn.unary tanh %[[P1]]
// CHECK: %[[Y1:.+]] = nn.matmul %[[H1]], %v
// CHECK: %[[Y:.+]] = nn.join_rows %[[Y0]], %[[Y1]]
// CHECK: %[[D:.+]] = nn.unary neg %[[Y]]
// CHECK: %[[D0:.+]] = nn.take_rows %[[D]] from 0
// CHECK: %[[N0:.+]] = nn.convert %[[D0]] : tensor<64x8xf32> -> tensor<64x8xbf16>
// CHECK: %[[DH0:.+]] = nn.matmul %[[N0]], %v transpose_b
// CHECK: %[[DV0:.+]] = nn.matmul %[[H0]], %[[N0]] transpose_a
// CHECK: %[[DP0:.+]] = nn.binary mul %[[DH0]], %[[H0]]
// CHECK: %[[DX0:.+]] = nn.matmul %[[DP0]], %w transpose_b
// CHECK: %[[AGAIN:.+]] = nn.take_rows %x from 0
// CHECK: %[[DW0:.+]] = nn.matmul %[[AGAIN]], %[[DP0]] transpose_a
// CHECK: %[[DB0:.+]] = nn.reduce sum %[[N0]] [0]
// CHECK: nn.take_rows %[[D]] from 64
// CHECK: %[[DV:.+]] = nn.matmul %[[H1]], %{{.+}} transpose_a into %[[DV0]]
// CHECK: %[[DP1:.+]] = nn.binary mul %{{.+}}, %[[H1]]
// CHECK: %[[DX1:.+]] = nn.matmul %[[DP1]], %w transpose_b
// CHECK: %[[DW:.+]] = nn.matmul %{{.+}}, %[[DP1]] transpose_a into %[[DW0]]
// CHECK: %[[DB1:.+]] = nn.reduce sum
// CHECK: %[[DB:.+]] = nn.binary add %[[DB0]], %[[DB1]]
// CHECK: %[[DX:.+]] = nn.join_rows %[[DX0]], %[[DX1]]
// CHECK: nn.return %{{.+}}, %[[DX]], %[[DW]], %[[DV]], %[[D]], %[[DB]]

// SMALL-NOT: nn.join_rows

// NONE: a hidden layer has at least one tile, and that one element
nn.program @micro(%x: tensor<128x8xbf16>, %w: tensor<8x40xbf16>, %v: tensor<40x8xbf16>)
    -> (tensor<1x1xf32>, tensor<128x8xbf16>, tensor<8x40xf32>, tensor<40x8xf32>, tensor<128x8xf32>, tensor<1x8xbf16>) {
  %p = nn.matmul %x, %w : tensor<128x8xbf16>, tensor<8x40xbf16> -> tensor<128x40xbf16>
  %h = nn.unary tanh %p : tensor<128x40xbf16> -> tensor<128x40xbf16>
  %y = nn.matmul %h, %v : tensor<128x40xbf16>, tensor<40x8xbf16> -> tensor<128x8xf32>
  %loss = nn.reduce sum %y [0, 1] : tensor<128x8xf32> -> tensor<1x1xf32>
  %d = nn.unary neg %y : tensor<128x8xf32> -> tensor<128x8xf32> loc("y.gradient"("y"))
  %n = nn.convert %d : tensor<128x8xf32> -> tensor<128x8xbf16>
  %dh = nn.matmul %n, %v transpose_b : tensor<128x8xbf16>, tensor<40x8xbf16> -> tensor<128x40xbf16>
  %dv = nn.matmul %h, %n transpose_a : tensor<128x40xbf16>, tensor<128x8xbf16> -> tensor<40x8xf32>
  %dp = nn.binary mul %dh, %h : tensor<128x40xbf16>
  %dx = nn.matmul %dp, %w transpose_b : tensor<128x40xbf16>, tensor<8x40xbf16> -> tensor<128x8xbf16>
  %dw = nn.matmul %x, %dp transpose_a : tensor<128x8xbf16>, tensor<128x40xbf16> -> tensor<8x40xf32>
  %db = nn.reduce sum %n [0] : tensor<128x8xbf16> -> tensor<1x8xbf16>
  nn.return %loss, %dx, %dw, %dv, %d, %db : tensor<1x1xf32>, tensor<128x8xbf16>, tensor<8x40xf32>, tensor<40x8xf32>, tensor<128x8xf32>, tensor<1x8xbf16>
}

// -----

// A product of rows that were taken is a tile itself.

// CHECK-LABEL: nn.program @micro
// CHECK: nn.take_rows
// CHECK-NOT: nn.take_rows
nn.program @micro(%all: tensor<256x8xf32>, %w: tensor<8x40xf32>) -> (tensor<1x1xf32>, tensor<8x40xf32>) {
  %x = nn.take_rows %all from 0 : tensor<256x8xf32> -> tensor<128x8xf32>
  %p = nn.matmul %x, %w : tensor<128x8xf32>, tensor<8x40xf32> -> tensor<128x40xf32>
  %loss = nn.reduce sum %p [0, 1] : tensor<128x40xf32> -> tensor<1x1xf32>
  %d = nn.unary neg %p : tensor<128x40xf32> -> tensor<128x40xf32> loc("p.gradient"("p"))
  %dw = nn.matmul %x, %d transpose_a : tensor<128x8xf32>, tensor<128x40xf32> -> tensor<8x40xf32>
  nn.return %loss, %dw : tensor<1x1xf32>, tensor<8x40xf32>
}
