// RUN: zerograph-opt %s --nn-shift-moments | FileCheck %s

// As exporters write a variance, whose mean is also returned.

// CHECK-LABEL: nn.program @var_mean
// CHECK-SAME: %[[X:[^:]+]]: tensor<4x8xf32>
// CHECK: %[[FIRST:.*]] = nn.slice %[[X]] [0, 0] step [1, 1] : tensor<4x8xf32> -> tensor<4x1xf32>
// CHECK: %[[FIRSTS:.*]] = nn.broadcast %[[FIRST]]
// CHECK: %[[FROM:.*]] = nn.binary sub %[[X]], %[[FIRSTS]]
// CHECK: %[[SUM:.*]] = nn.reduce sum %[[FROM]] [1]
// CHECK: %[[SHIFT:.*]] = nn.binary mul %[[SUM]]
// CHECK: %[[NEAR:.*]] = nn.binary add %[[FIRST]], %[[SHIFT]]
// CHECK: %[[NEARS:.*]] = nn.broadcast %[[NEAR]]
// CHECK: %[[FAR:.*]] = nn.binary sub %[[X]], %[[NEARS]]
// CHECK: %[[LEFT:.*]] = nn.reduce sum %[[FAR]] [1]
// CHECK: %[[REST:.*]] = nn.binary mul %[[LEFT]]
// CHECK: %[[SQUARES:.*]] = nn.binary mul %[[FAR]], %[[FAR]]
// CHECK: %[[SUM2:.*]] = nn.reduce sum %[[SQUARES]] [1]
// CHECK: %[[SQUARE:.*]] = nn.binary mul %[[SUM2]]
// CHECK: %[[REST2:.*]] = nn.binary mul %[[REST]], %[[REST]]
// CHECK: %[[DIFFERENCE:.*]] = nn.binary sub %[[SQUARE]], %[[REST2]]
// CHECK: %[[VARIANCE:.*]] = nn.binary max %[[DIFFERENCE]]
// CHECK: %[[MEAN:.*]] = nn.binary add %[[NEAR]], %[[REST]]
// CHECK-NOT: nn.reduce
// CHECK-DAG: %[[V:.*]] = nn.reshape %[[VARIANCE]]
// CHECK-DAG: %[[M:.*]] = nn.reshape %[[MEAN]]
// CHECK: nn.return %[[V]], %[[M]]
nn.program @var_mean(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %share = nn.constant dense<0.125> : tensor<4xf32>
  %sum = nn.reduce sum %x [1] : tensor<4x8xf32> -> tensor<4x1xf32>
  %flat = nn.reshape %sum : tensor<4x1xf32> -> tensor<4xf32>
  %mean = nn.binary mul %flat, %share : tensor<4xf32>
  %column = nn.reshape %mean : tensor<4xf32> -> tensor<4x1xf32>
  %rows = nn.broadcast %column : tensor<4x1xf32> -> tensor<4x8xf32>
  %d = nn.binary sub %x, %rows : tensor<4x8xf32>
  %d2 = nn.binary mul %d, %d : tensor<4x8xf32>
  %squares = nn.reduce sum %d2 [1] : tensor<4x8xf32> -> tensor<4x1xf32>
  %flat2 = nn.reshape %squares : tensor<4x1xf32> -> tensor<4xf32>
  %variance = nn.binary mul %flat2, %share : tensor<4xf32>
  nn.return %variance, %mean : tensor<4xf32>, tensor<4xf32>
}

// Divided, centered the other way round, and a sum of squares of its own use.

// CHECK-LABEL: nn.program @written
// CHECK: %[[FIRST:.*]] = nn.slice %{{.*}} [0, 0, 0] step [1, 1, 1] : tensor<2x3x5xf32> -> tensor<1x3x1xf32>
// CHECK: nn.reduce sum %{{.*}} [0, 2]
// CHECK: %[[FAR:.*]] = nn.binary sub
// CHECK: %[[LEFT:.*]] = nn.reduce sum %[[FAR]] [0, 2]
// CHECK: %[[REST:.*]] = nn.binary mul %[[LEFT]]
// CHECK: %[[VARIANCE:.*]] = nn.binary max
// CHECK: %[[RESTS:.*]] = nn.broadcast %[[REST]]
// CHECK: %[[CENTERED:.*]] = nn.binary sub %[[FAR]], %[[RESTS]]
// CHECK-DAG: %[[TEN:.*]] = nn.constant dense<1.000000e+01>
// CHECK-DAG: %[[SQUARES:.*]] = nn.binary mul %[[VARIANCE]], %[[TEN]]
// CHECK-DAG: %[[D:.*]] = nn.unary neg %[[CENTERED]]
// CHECK: nn.return %[[D]], %[[SQUARES]]
nn.program @written(%x: tensor<2x3x5xf32>) -> (tensor<2x3x5xf32>, tensor<1x3x1xf32>) {
  %ten = nn.constant dense<10.0> : tensor<1x3x1xf32>
  %sum = nn.reduce sum %x [0, 2] : tensor<2x3x5xf32> -> tensor<1x3x1xf32>
  %mean = nn.binary div %sum, %ten : tensor<1x3x1xf32>
  %rows = nn.broadcast %mean : tensor<1x3x1xf32> -> tensor<2x3x5xf32>
  %d = nn.binary sub %rows, %x : tensor<2x3x5xf32>
  %d2 = nn.binary mul %d, %d : tensor<2x3x5xf32>
  %squares = nn.reduce sum %d2 [0, 2] : tensor<2x3x5xf32> -> tensor<1x3x1xf32>
  nn.return %d, %squares : tensor<2x3x5xf32>, tensor<1x3x1xf32>
}

// Nothing is taken from this mean; that number is no mean; and the mean of
// columns is taken from rows.

// CHECK-LABEL: nn.program @others
// CHECK-NOT: nn.slice
// CHECK: nn.return
nn.program @others(%x: tensor<8x8xf32>) -> (tensor<8x1xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %share = nn.constant dense<0.125> : tensor<8x1xf32>
  %quarter = nn.constant dense<0.25> : tensor<8x1xf32>
  %sum = nn.reduce sum %x [1] : tensor<8x8xf32> -> tensor<8x1xf32>
  %mean = nn.binary mul %sum, %share : tensor<8x1xf32>
  %large = nn.binary mul %sum, %quarter : tensor<8x1xf32>
  %rows = nn.broadcast %large : tensor<8x1xf32> -> tensor<8x8xf32>
  %d = nn.binary sub %x, %rows : tensor<8x8xf32>
  %turned = nn.reshape %mean : tensor<8x1xf32> -> tensor<1x8xf32>
  %columns = nn.broadcast %turned : tensor<1x8xf32> -> tensor<8x8xf32>
  %e = nn.binary sub %x, %columns : tensor<8x8xf32>
  nn.return %mean, %d, %e : tensor<8x1xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}
