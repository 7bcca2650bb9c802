// RUN: zerograph-opt %s --pass-pipeline='builtin.module(nn.program(nn-sink-literals))' | FileCheck %s

// Constants and iota stand before the first op that reads them, those of one op
// in their order; what nothing reads stays.

// CHECK-LABEL: nn.program @f
// CHECK-NEXT: nn.constant dense<3>
// CHECK-NEXT: %[[Y:.+]] = nn.unary neg
// CHECK-NEXT: %[[ONE:.+]] = nn.constant dense<1.000000e+00>
// CHECK-NEXT: %[[TWO:.+]] = nn.constant dense<2.000000e+00>
// CHECK-NEXT: %[[Z:.+]] = nn.select %{{.+}}, %[[ONE]], %[[TWO]]
// CHECK-NEXT: nn.binary add %[[Z]], %[[ONE]]
nn.program @f(%x: tensor<4xf32>, %c: tensor<4xi1>) {
  %one = nn.constant dense<1.0> : tensor<4xf32>
  %unused = nn.constant dense<3> : tensor<4xi64>
  %two = nn.constant dense<2.0> : tensor<4xf32>
  %0 = nn.unary neg %x : tensor<4xf32> -> tensor<4xf32>
  %1 = nn.select %c, %one, %two : tensor<4xi1>, tensor<4xf32>
  %2 = nn.binary add %1, %one : tensor<4xf32>
  nn.return
}
