// RUN: zerograph-opt %s --split-input-file --nn-tile-rows="least=1 least-rows=64" | FileCheck %s
// RUN: zerograph-opt %s --split-input-file --nn-tile-rows | FileCheck %s --check-prefix=SMALL
// RUN: zerograph-opt %s --split-input-file --nn-tile-rows="least=1 least-rows=64" --verify-diagnostics

// A head and its loss: logits and their gradient have 64 rows at a time, the
// gradient of the weights is added up in one buffer, and what reads the loss of
// all rows stands after the last tile. Small tensors stay whole.

// CHECK-LABEL: nn.program @micro
// CHECK: %[[SCALE:.+]] = nn.broadcast %scale
// CHECK: %[[X0:.+]] = nn.take_rows %x from 0 : tensor<128x4xf32> -> tensor<64x4xf32>
// CHECK: %[[L0:.+]] = nn.matmul %[[X0]], %w transpose_b : tensor<64x4xf32>, tensor<40x4xf32> -> tensor<64x40xf32>
// CHECK: %[[LABELS0:.+]] = nn.take_rows %labels from 0
// CHECK: %[[LOSS0:.+]], %[[MAX0:.+]], %[[SUM0:.+]] = nn.softmax_cross_entropy %[[L0]], %[[LABELS0]]
// CHECK: %[[SCALE0:.+]] = nn.take_rows %[[SCALE]] from 0
// CHECK: %[[D0:.+]] = nn.softmax_cross_entropy_grad %[[L0]], %[[LABELS0]], %[[MAX0]], %[[SUM0]], %[[SCALE0]]
// CHECK: %[[DX0:.+]] = nn.matmul %[[D0]], %w
// CHECK: %[[DW0:.+]] = nn.matmul %[[D0]], %[[X0]] transpose_a : tensor<64x40xf32>, tensor<64x4xf32> -> tensor<40x4xf32>
// CHECK: %[[X1:.+]] = nn.take_rows %x from 64
// CHECK: %[[L1:.+]] = nn.matmul %[[X1]], %w transpose_b
// CHECK: %[[LOSS1:.+]], %{{.+}}, %{{.+}} = nn.softmax_cross_entropy %[[L1]]
// CHECK: %[[D1:.+]] = nn.softmax_cross_entropy_grad %[[L1]]
// CHECK: %[[DX1:.+]] = nn.matmul %[[D1]], %w
// CHECK: %[[DW1:.+]] = nn.matmul %[[D1]], %[[X1]] transpose_a into %[[DW0]] : tensor<40x4xf32>
// CHECK: %[[LOSS:.+]] = nn.join_rows %[[LOSS0]], %[[LOSS1]] : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<128x1xf32>
// CHECK: %[[DX:.+]] = nn.join_rows %[[DX0]], %[[DX1]]
// CHECK: %[[ALL:.+]] = nn.reduce sum %[[LOSS]] [0, 1]
// CHECK: nn.return %[[ALL]], %[[DX]], %[[DW1]]
// SMALL-LABEL: nn.program @micro
// SMALL-NOT: nn.take_rows
nn.program @micro(%x: tensor<128x4xf32>, %w: tensor<40x4xf32>,
                  %labels: tensor<128x1xi64>, %scale: tensor<1x1xf32>)
    -> (tensor<1x1xf32>, tensor<128x4xf32>, tensor<40x4xf32>) {
  %logits = nn.matmul %x, %w transpose_b : tensor<128x4xf32>, tensor<40x4xf32> -> tensor<128x40xf32>
  %l, %max, %sum = nn.softmax_cross_entropy %logits, %labels : tensor<128x40xf32>, tensor<128x1xi64> -> tensor<128x1xf32>, tensor<128x1xf32>, tensor<128x1xf32>
  %loss = nn.reduce sum %l [0, 1] : tensor<128x1xf32> -> tensor<1x1xf32>
  %dl = nn.broadcast %scale : tensor<1x1xf32> -> tensor<128x1xf32>
  %d = nn.softmax_cross_entropy_grad %logits, %labels, %max, %sum, %dl : tensor<128x40xf32>, tensor<128x1xi64>, tensor<128x1xf32>
  %dx = nn.matmul %d, %w : tensor<128x40xf32>, tensor<40x4xf32> -> tensor<128x4xf32>
  %dw = nn.matmul %d, %x transpose_a : tensor<128x40xf32>, tensor<128x4xf32> -> tensor<40x4xf32>
  nn.return %loss, %dx, %dw : tensor<1x1xf32>, tensor<128x4xf32>, tensor<40x4xf32>
}

// -----

// Logits that are returned stay whole.

// CHECK-LABEL: nn.program @evaluate
// CHECK-NOT: nn.take_rows
nn.program @evaluate(%x: tensor<128x4xf32>, %w: tensor<4x40xf32>) -> tensor<128x40xf32> {
  %logits = nn.matmul %x, %w : tensor<128x4xf32>, tensor<4x40xf32> -> tensor<128x40xf32>
  nn.return %logits : tensor<128x40xf32>
}

// -----

// So do rows that are not wider than what they are made of.

// CHECK-LABEL: nn.program @narrow
// CHECK-NOT: nn.take_rows
nn.program @narrow(%x: tensor<128x40xf32>, %w: tensor<40x40xf32>) -> tensor<128x1xf32> {
  %y = nn.matmul %x, %w : tensor<128x40xf32>, tensor<40x40xf32> -> tensor<128x40xf32>
  %sum = nn.reduce sum %y [1] : tensor<128x40xf32> -> tensor<128x1xf32>
  nn.return %sum : tensor<128x1xf32>
}

// -----

// Nothing is said of a product, as that of an adapter, that is not the largest.

// CHECK-LABEL: nn.program @adapter
// CHECK-NOT: nn.take_rows
nn.program @adapter(%x: tensor<128x4xf32>, %w: tensor<4x40xf32>, %v: tensor<40x80xf32>) -> (tensor<40x1xf32>, tensor<128x80xf32>) {
  %y = nn.matmul %x, %w : tensor<128x4xf32>, tensor<4x40xf32> -> tensor<128x40xf32>
  %t = nn.transpose %y [1, 0] : tensor<128x40xf32> -> tensor<40x128xf32>
  %p = nn.softmax %t : tensor<40x128xf32>
  %sum = nn.reduce max %p [1] : tensor<40x128xf32> -> tensor<40x1xf32>
  %z = nn.matmul %y, %v : tensor<128x40xf32>, tensor<40x80xf32> -> tensor<128x80xf32>
  nn.return %sum, %z : tensor<40x1xf32>, tensor<128x80xf32>
}

// -----

// A softmax over the samples needs all rows: a remark says so.

// CHECK-LABEL: nn.program @mixed
// CHECK-NOT: nn.take_rows
nn.program @mixed(%x: tensor<128x4xf32>, %w: tensor<4x40xf32>) -> tensor<40x1xf32> {
  // expected-remark @+1 {{its result of 128 rows of 40 numbers is stored whole: node 'across' (nn.transpose) needs more than one row at a time}}
  %y = nn.matmul %x, %w : tensor<128x4xf32>, tensor<4x40xf32> -> tensor<128x40xf32>
  %t = nn.transpose %y [1, 0] : tensor<128x40xf32> -> tensor<40x128xf32> loc("across")
  %p = nn.softmax %t : tensor<40x128xf32>
  %sum = nn.reduce sum %p [1] : tensor<40x128xf32> -> tensor<40x1xf32>
  nn.return %sum : tensor<40x1xf32>
}
