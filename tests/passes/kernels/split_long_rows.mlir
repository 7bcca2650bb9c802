// RUN: zerograph-opt %s --pass-pipeline='builtin.module(nn.program(nn-split-long-rows))' | FileCheck %s
// RUN: zerograph-opt %s --pass-pipeline='builtin.module(nn.program(nn-split-long-rows,canonicalize,cse,nn-form-kernels,cse,nn-verify-kernels))' | FileCheck %s --check-prefix=KERNELS

// Whole segments side by side, folded in order, then what is left.
// CHECK-LABEL: nn.program @sum
// CHECK: %[[X:.*]] = nn.reshape %{{.*}} : tensor<2x300x128xf32> -> tensor<2x38400xf32>
// CHECK: %[[W:.*]] = nn.slice %[[X]] [0, 0] step [1, 1] : tensor<2x38400xf32> -> tensor<2x36864xf32>
// CHECK: %[[S:.*]] = nn.reshape %[[W]] : tensor<2x36864xf32> -> tensor<2x9x4096xf32>
// CHECK: %[[P:.*]] = nn.reduce sum %[[S]] [2] : tensor<2x9x4096xf32> -> tensor<2x9x1xf32>
// CHECK: %[[Q:.*]] = nn.reshape %[[P]]
// CHECK: %[[C:.*]] = nn.cumsum %[[Q]] dim 1 : tensor<2x9xf32>
// CHECK: %[[F:.*]] = nn.slice %[[C]] [0, 8] step [1, 1]
// CHECK: %[[R:.*]] = nn.slice %[[X]] [0, 36864] step [1, 1] : tensor<2x38400xf32> -> tensor<2x1536xf32>
// CHECK: %[[L:.*]] = nn.reduce sum %[[R]] [1]
// CHECK: %[[T:.*]] = nn.binary add %[[F]], %[[L]]
// CHECK: nn.reshape %[[T]] : tensor<2x1xf32> -> tensor<2x1x1xf32>

// The square is computed where it is read; nothing of its size is stored.
// KERNELS-LABEL: nn.program @sum
// KERNELS-NEXT: nn.kernel rows (%{{.*}} = %x) : (tensor<2x300x128xf32>) -> tensor<2x9x1xf32>
// KERNELS: nn.kernel scan
// KERNELS: nn.kernel rows (%{{.*}} = %x, %{{.*}} = %{{.*}}) : (tensor<2x300x128xf32>, tensor<2x9xf32>) -> tensor<2x1xf32>
// KERNELS-NOT: nn.kernel
// KERNELS: nn.return
nn.program @sum(%x: tensor<2x300x128xf32>) -> tensor<2x1x1xf32> {
  %square = nn.binary mul %x, %x : tensor<2x300x128xf32>
  %0 = nn.reduce sum %square [1, 2] : tensor<2x300x128xf32> -> tensor<2x1x1xf32>
  nn.return %0 : tensor<2x1x1xf32>
}

// No order to keep, and nothing left over.
// CHECK-LABEL: nn.program @max
// CHECK: nn.reduce max %{{.*}} [2] : tensor<1x16x4096xf32> -> tensor<1x16x1xf32>
// CHECK: nn.reduce max %{{.*}} [1] : tensor<1x16xf32> -> tensor<1x1xf32>
// CHECK-NOT: nn.slice
nn.program @max(%x: tensor<65536xf32>) -> tensor<1xf32> {
  %0 = nn.reduce max %x [0] : tensor<65536xf32> -> tensor<1xf32>
  nn.return %0 : tensor<1xf32>
}

// Many rows, short rows, products and columns stay.
// CHECK-LABEL: nn.program @others
// CHECK: nn.reduce
// CHECK-NEXT: nn.reduce
// CHECK-NEXT: nn.reduce
// CHECK-NEXT: nn.reduce
// CHECK-NEXT: nn.return
nn.program @others(%a: tensor<9x65536xf32>, %b: tensor<8x32767xf32>,
                  %c: tensor<1x65536xf32>, %d: tensor<65536x2xf32>)
    -> (tensor<9x1xf32>, tensor<8x1xf32>, tensor<1x1xf32>, tensor<1x2xf32>) {
  %0 = nn.reduce sum %a [1] : tensor<9x65536xf32> -> tensor<9x1xf32>
  %1 = nn.reduce sum %b [1] : tensor<8x32767xf32> -> tensor<8x1xf32>
  %2 = nn.reduce prod %c [1] : tensor<1x65536xf32> -> tensor<1x1xf32>
  %3 = nn.reduce sum %d [0] : tensor<65536x2xf32> -> tensor<1x2xf32>
  nn.return %0, %1, %2, %3
      : tensor<9x1xf32>, tensor<8x1xf32>, tensor<1x1xf32>, tensor<1x2xf32>
}
