// RUN: zerograph-opt %s --split-input-file --pass-pipeline='builtin.module(nn.program(nn-mark-narrow-products))' | FileCheck %s --check-prefix=MARK
// RUN: zerograph-opt %s --split-input-file --pass-pipeline='builtin.module(nn.program(nn-mark-narrow-products,nn-transpose-once))' | FileCheck %s

// A factor may be read in other ways too. What is computed again by a program of
// another stage keeps the attribute, whoever shares its factor there.

// MARK-LABEL: nn.program @recurrence
// MARK-COUNT-4: transpose_b {nn.narrow}
// MARK-NOT: nn.narrow
// CHECK-LABEL: nn.program @recurrence
// CHECK: %[[T:.+]] = nn.transpose %w [1, 0] : tensor<64x16xf32> -> tensor<16x64xf32>
// CHECK-NEXT: nn.matmul %a, %[[T]] : tensor<2x16xf32>, tensor<16x64xf32> -> tensor<2x64xf32>
// CHECK-NEXT: nn.matmul %b, %[[T]] :
// CHECK-NEXT: nn.matmul %c, %[[T]] :
// CHECK-NEXT: nn.matmul %d, %[[T]] :
// A copy of the factor takes little time beside many rows.
// CHECK-NEXT: nn.matmul %rows, %w transpose_b :
// CHECK-NEXT: nn.matmul %1, %w :
nn.program @recurrence(%a: tensor<2x16xf32>, %b: tensor<2x16xf32>, %c: tensor<2x16xf32>, %d: tensor<64x16xf32>,
                       %rows: tensor<65x16xf32>, %w: tensor<64x16xf32>)
    -> (tensor<2x64xf32>, tensor<2x64xf32>, tensor<2x64xf32>, tensor<64x64xf32>, tensor<65x64xf32>, tensor<2x16xf32>) {
  %0 = nn.matmul %a, %w transpose_b : tensor<2x16xf32>, tensor<64x16xf32> -> tensor<2x64xf32>
  %1 = nn.matmul %b, %w transpose_b : tensor<2x16xf32>, tensor<64x16xf32> -> tensor<2x64xf32>
  %2 = nn.matmul %c, %w transpose_b : tensor<2x16xf32>, tensor<64x16xf32> -> tensor<2x64xf32>
  %3 = nn.matmul %d, %w transpose_b : tensor<64x16xf32>, tensor<64x16xf32> -> tensor<64x64xf32>
  %4 = nn.matmul %rows, %w transpose_b : tensor<65x16xf32>, tensor<64x16xf32> -> tensor<65x64xf32>
  %5 = nn.matmul %1, %w : tensor<2x64xf32>, tensor<64x16xf32> -> tensor<2x16xf32>
  nn.return %0, %1, %2, %3, %4, %5 : tensor<2x64xf32>, tensor<2x64xf32>, tensor<2x64xf32>, tensor<64x64xf32>, tensor<65x64xf32>, tensor<2x16xf32>
}

// -----

// Three products take less time than the copy; the library copies halves anyway.

// MARK-LABEL: nn.program @others
// MARK-COUNT-4: transpose_b {nn.narrow} : tensor<2x16xbf16>
// CHECK-LABEL: nn.program @others
// CHECK-NOT: nn.transpose
// CHECK-NOT: nn.narrow
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
