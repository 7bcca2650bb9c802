// RUN: zerograph-opt %s | FileCheck %s
// RUN: zerograph-opt --mlir-print-debuginfo %s | zerograph-opt | FileCheck %s

// Values are named after the ONNX node, constants after their number; several
// results have their own names behind it. What no name can hold is replaced.

// CHECK-LABEL: nn.program @f(%x: tensor<4x8xf32>, %s: tensor<8xf32>)
// CHECK: %_block_MatMul_2 = nn.unary neg %x
// CHECK: %c-100 = nn.constant dense<-100> : tensor<4xi64>
// CHECK: %cst = nn.constant dense<5.000000e-01> : tensor<4x8xf32>
// CHECK: %norm, %norm.mean, %norm.rstd = nn.layer_norm %_block_MatMul_2, %s, %s
// CHECK: %node_add = nn.binary add %norm, %cst
// CHECK: %node_add_0 = nn.binary add %node_add, %cst
// CHECK: %node_add.gradient:2 = nn.kernel rows (%x_1 = %x, %node_add_2 = %node_add_0)
// CHECK: %0 = nn.unary neg %node_add.gradient#1
nn.program @f(%x: tensor<4x8xf32>, %s: tensor<8xf32>) {
  %0 = nn.unary neg %x : tensor<4x8xf32> -> tensor<4x8xf32> loc("/block/MatMul:2")
  %1 = nn.constant dense<-100> : tensor<4xi64> loc("node_add")
  %2 = nn.constant dense<0.5> : tensor<4x8xf32>
  %3:3 = nn.layer_norm %0, %s, %s epsilon 1.0e-5 : tensor<4x8xf32>, tensor<8xf32> -> tensor<4x1xf32>, tensor<4x1xf32> loc("norm")
  %4 = nn.binary add %3#0, %2 : tensor<4x8xf32> loc("node_add")
  %5 = nn.binary add %4, %2 : tensor<4x8xf32> loc("node_add")
  %6:2 = nn.kernel rows (%a = %x, %b = %5) : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
    nn.yield %a, %b : tensor<4x8xf32>, tensor<4x8xf32>
  } loc("node_add.gradient")
  %7 = nn.unary neg %6#1 : tensor<4x8xf32> -> tensor<4x8xf32>
  nn.return
}
