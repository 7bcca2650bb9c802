// RUN: zerograph-opt %s --split-input-file --nn-merge-products --canonicalize | FileCheck %s

// Products follow each other in the order in which they were added; what else is
// added follows.

// CHECK-LABEL: nn.program @recurrence
// CHECK-DAG: %[[G:.+]] = nn.join_rows %g0, %g1, %g2
// CHECK-DAG: %[[H:.+]] = nn.join_rows %h0, %h1, %h2
// CHECK: %[[P:.+]] = nn.matmul %[[G]], %[[H]] transpose_a : tensor<7x64xf32>, tensor<7x16xf32> -> tensor<64x16xf32>
// CHECK-NEXT: %[[S:.+]] = nn.binary add %[[P]], %other
// CHECK-NEXT: nn.return %[[S]]
nn.program @recurrence(%g0: tensor<2x64xf32>, %g1: tensor<2x64xf32>, %g2: tensor<3x64xf32>,
                       %h0: tensor<2x16xf32>, %h1: tensor<2x16xf32>, %h2: tensor<3x16xf32>,
                       %other: tensor<64x16xf32>) -> tensor<64x16xf32> {
  %0 = nn.matmul %g0, %h0 transpose_a : tensor<2x64xf32>, tensor<2x16xf32> -> tensor<64x16xf32>
  %1 = nn.matmul %g1, %h1 transpose_a : tensor<2x64xf32>, tensor<2x16xf32> -> tensor<64x16xf32>
  %2 = nn.matmul %g2, %h2 transpose_a : tensor<3x64xf32>, tensor<3x16xf32> -> tensor<64x16xf32>
  %3 = nn.binary add %0, %other : tensor<64x16xf32>
  %4 = nn.binary add %3, %1 : tensor<64x16xf32>
  %5 = nn.binary add %4, %2 : tensor<64x16xf32>
  nn.return %5 : tensor<64x16xf32>
}

// -----

// Halves are added in f32; a product of others is added to these.

// CHECK-LABEL: nn.program @half
// CHECK-DAG: %[[G:.+]] = nn.join_rows %g, %g
// CHECK-DAG: %[[H:.+]] = nn.join_rows %h, %h
// CHECK: %[[P:.+]] = nn.matmul %[[G]], %[[H]] transpose_a : tensor<4x64xbf16>, tensor<4x32xbf16> -> tensor<64x32xf32>
// CHECK: nn.binary add %[[P]], %{{.+}} : tensor<64x32xf32>
nn.program @half(%g: tensor<2x64xbf16>, %h: tensor<2x32xbf16>, %a: tensor<2x64xf32>, %b: tensor<2x32xf32>)
    -> tensor<64x32xf32> {
  %0 = nn.matmul %g, %h transpose_a : tensor<2x64xbf16>, tensor<2x32xbf16> -> tensor<64x32xf32>
  %1 = nn.matmul %a, %b transpose_a : tensor<2x64xf32>, tensor<2x32xf32> -> tensor<64x32xf32>
  %2 = nn.matmul %g, %h transpose_a : tensor<2x64xbf16>, tensor<2x32xbf16> -> tensor<64x32xf32>
  %3 = nn.binary add %0, %1 : tensor<64x32xf32>
  %4 = nn.binary add %3, %2 : tensor<64x32xf32>
  nn.return %4 : tensor<64x32xf32>
}

// -----

// Not of products with many rows or none, of rows that cannot lie one after the
// other, of one that something else reads, and of other flags.

// CHECK-LABEL: nn.program @others
// CHECK-NOT: nn.join_rows
nn.program @others(%a: tensor<8x16xf32>, %b: tensor<8x16xf32>, %odd: tensor<1x20xf32>, %c: tensor<2x64xf32>,
                   %d: tensor<2x16xf32>, %e: tensor<64x2xf32>, %f: tensor<16x2xf32>, %none: tensor<0x16xf32>)
    -> (tensor<16x16xf32>, tensor<16x16xf32>, tensor<20x20xf32>, tensor<64x16xf32>, tensor<64x16xf32>, tensor<64x16xf32>) {
  %0 = nn.matmul %a, %b transpose_a : tensor<8x16xf32>, tensor<8x16xf32> -> tensor<16x16xf32>
  %1 = nn.matmul %b, %a transpose_a : tensor<8x16xf32>, tensor<8x16xf32> -> tensor<16x16xf32>
  %2 = nn.binary add %0, %1 : tensor<16x16xf32>
  %3 = nn.matmul %odd, %odd transpose_a : tensor<1x20xf32>, tensor<1x20xf32> -> tensor<20x20xf32>
  %4 = nn.matmul %odd, %odd transpose_a : tensor<1x20xf32>, tensor<1x20xf32> -> tensor<20x20xf32>
  %5 = nn.binary add %3, %4 : tensor<20x20xf32>
  %6 = nn.matmul %c, %d transpose_a : tensor<2x64xf32>, tensor<2x16xf32> -> tensor<64x16xf32>
  %7 = nn.matmul %c, %d transpose_a : tensor<2x64xf32>, tensor<2x16xf32> -> tensor<64x16xf32>
  %8 = nn.binary add %6, %7 : tensor<64x16xf32>
  %9 = nn.matmul %e, %f transpose_b : tensor<64x2xf32>, tensor<16x2xf32> -> tensor<64x16xf32>
  %10 = nn.matmul %e, %f transpose_b : tensor<64x2xf32>, tensor<16x2xf32> -> tensor<64x16xf32>
  %11 = nn.binary add %9, %10 : tensor<64x16xf32>
  %12 = nn.matmul %none, %none transpose_a : tensor<0x16xf32>, tensor<0x16xf32> -> tensor<16x16xf32>
  %13 = nn.matmul %none, %none transpose_a : tensor<0x16xf32>, tensor<0x16xf32> -> tensor<16x16xf32>
  %14 = nn.binary add %12, %13 : tensor<16x16xf32>
  nn.return %14, %2, %5, %8, %11, %7 : tensor<16x16xf32>, tensor<16x16xf32>, tensor<20x20xf32>, tensor<64x16xf32>, tensor<64x16xf32>, tensor<64x16xf32>
}
