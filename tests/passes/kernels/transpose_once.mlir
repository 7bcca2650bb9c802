// RUN: zerograph-opt %s --split-input-file --nn-transpose-once | FileCheck %s

// CHECK-LABEL: nn.program @recurrence
// CHECK: %[[T:.+]] = nn.transpose %w [1, 0] : tensor<64x16xf32> -> tensor<16x64xf32>
// CHECK-NEXT: nn.matmul %a, %[[T]] : tensor<2x16xf32>, tensor<16x64xf32> -> tensor<2x64xf32>
// CHECK-NEXT: nn.matmul %b, %[[T]] :
// CHECK-NEXT: nn.matmul %c, %[[T]] :
// CHECK-NEXT: nn.matmul %d, %[[T]] :
// Where rows are many, a copy of the factor takes little time beside them.
// CHECK-NEXT: nn.matmul %rows, %w transpose_b :
nn.program @recurrence(%a: tensor<2x16xf32>, %b: tensor<2x16xf32>, %c: tensor<2x16xf32>, %d: tensor<64x16xf32>,
                       %rows: tensor<65x16xf32>, %w: tensor<64x16xf32>)
    -> (tensor<2x64xf32>, tensor<2x64xf32>, tensor<2x64xf32>, tensor<64x64xf32>, tensor<65x64xf32>) {
  %0 = nn.matmul %a, %w transpose_b : tensor<2x16xf32>, tensor<64x16xf32> -> tensor<2x64xf32>
  %1 = nn.matmul %b, %w transpose_b : tensor<2x16xf32>, tensor<64x16xf32> -> tensor<2x64xf32>
  %2 = nn.matmul %c, %w transpose_b : tensor<2x16xf32>, tensor<64x16xf32> -> tensor<2x64xf32>
  %3 = nn.matmul %d, %w transpose_b : tensor<64x16xf32>, tensor<64x16xf32> -> tensor<64x64xf32>
  %4 = nn.matmul %rows, %w transpose_b : tensor<65x16xf32>, tensor<64x16xf32> -> tensor<65x64xf32>
  nn.return %0, %1, %2, %3, %4 : tensor<2x64xf32>, tensor<2x64xf32>, tensor<2x64xf32>, tensor<64x64xf32>, tensor<65x64xf32>
}

// -----

// Three products take less time than the copy; the library copies halves anyway.

// CHECK-LABEL: nn.program @others
// CHECK-NOT: nn.transpose
nn.program @others(%a: tensor<2x16xf32>, %w: tensor<64x16xf32>, %h: tensor<2x16xbf16>, %v: tensor<64x16xbf16>)
    -> (tensor<2x64xf32>, tensor<2x64xf32>, tensor<2x64xf32>, tensor<2x64xbf16>, tensor<2x64xbf16>, tensor<2x64xbf16>, tensor<2x64xbf16>) {
  %0 = nn.matmul %a, %w transpose_b : tensor<2x16xf32>, tensor<64x16xf32> -> tensor<2x64xf32>
  %1 = nn.matmul %a, %w transpose_b : tensor<2x16xf32>, tensor<64x16xf32> -> tensor<2x64xf32>
  %2 = nn.matmul %a, %w transpose_b : tensor<2x16xf32>, tensor<64x16xf32> -> tensor<2x64xf32>
  %3 = nn.matmul %h, %v transpose_b : tensor<2x16xbf16>, tensor<64x16xbf16> -> tensor<2x64xbf16>
  %4 = nn.matmul %h, %v transpose_b : tensor<2x16xbf16>, tensor<64x16xbf16> -> tensor<2x64xbf16>
  %5 = nn.matmul %h, %v transpose_b : tensor<2x16xbf16>, tensor<64x16xbf16> -> tensor<2x64xbf16>
  %6 = nn.matmul %h, %v transpose_b : tensor<2x16xbf16>, tensor<64x16xbf16> -> tensor<2x64xbf16>
  nn.return %0, %1, %2, %3, %4, %5, %6 : tensor<2x64xf32>, tensor<2x64xf32>, tensor<2x64xf32>, tensor<2x64xbf16>, tensor<2x64xbf16>, tensor<2x64xbf16>, tensor<2x64xbf16>
}
