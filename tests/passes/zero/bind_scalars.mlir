// RUN: zerograph-opt %s --zero-bind-scalars | FileCheck %s

// Each scalar is one argument of the program, however often it is read.

// CHECK-LABEL: nn.program @step
// CHECK-SAME: %[[BASE:[^:]+]]: tensor<1xi64>
// CHECK-SAME: %[[SEED:[^:]+]]: tensor<1xi64>
// CHECK-NEXT: %[[A:.+]] = nn.binary add %[[BASE]], %[[SEED]]
// CHECK-NEXT: nn.binary add %[[A]], %[[SEED]]
// CHECK: %[[BASE]] {nn.scalar = #nn.scalar<"sample_base">}
// CHECK: %[[SEED]] {nn.scalar = #nn.scalar<"seed">}
nn.program @step(%base: tensor<1xi64> {nn.scalar = #nn.scalar<"sample_base">}) -> tensor<1xi64> {
  %0 = nn.scalar "sample_base" : tensor<1xi64>
  %1 = nn.scalar "seed" : tensor<1xi64>
  %2 = nn.binary add %0, %1 : tensor<1xi64>
  %3 = nn.scalar "seed" : tensor<1xi64>
  %4 = nn.binary add %2, %3 : tensor<1xi64>
  nn.return %4 : tensor<1xi64>
}
