// RUN: zerograph-opt %s --nn-decompose-composites | FileCheck %s

// Composites and pools become core ops; what ONNX has as it is stays.

// CHECK-LABEL: nn.program @composites
// CHECK-NOT: nn.softmax
// CHECK-NOT: nn.pool
// CHECK: nn.reduce max %{{.*}} [2] : tensor<2x3x8xf32> -> tensor<2x3x1xf32>
// CHECK: nn.unary exp
// CHECK: nn.reduce sum %{{.*}} [2] : tensor<2x3x8xf32> -> tensor<2x3x1xf32>
nn.program @composites(%x: tensor<2x3x8xf32>) -> tensor<2x3x4xf32> {
  %0 = nn.softmax %x : tensor<2x3x8xf32>
  %1 = nn.pool sum %0 dim 2 window 2 stride 2 dilation 1 low 0
      : tensor<2x3x8xf32> -> tensor<2x3x4xf32>
  nn.return %1 : tensor<2x3x4xf32>
}

// CHECK-LABEL: nn.program @core
// CHECK-NEXT: nn.concat
// CHECK-NEXT: nn.reduce sum %{{.*}} [0, 2]
// CHECK-NEXT: nn.dropout
nn.program @core(%x: tensor<2x3x8xf32>) -> tensor<1x3x1xf32> {
  %0 = nn.concat %x, %x dim 2
      : tensor<2x3x8xf32>, tensor<2x3x8xf32> -> tensor<2x3x16xf32>
  %1 = nn.reduce sum %0 [0, 2] : tensor<2x3x16xf32> -> tensor<1x3x1xf32>
  %2:2 = nn.dropout %1 ratio 0.5 number 0 samples []
      : tensor<1x3x1xf32> -> tensor<1x3x1xi1>
  nn.return %2#0 : tensor<1x3x1xf32>
}
