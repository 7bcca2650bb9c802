// RUN: zerograph-opt %s --nn-decompose --split-input-file | FileCheck %s

// CHECK-LABEL: nn.program @softmax
// CHECK-SAME: %[[X:[^:]+]]: tensor<2x3x8xf32>
// CHECK: %[[ROWS:.*]] = nn.reshape %[[X]] : tensor<2x3x8xf32> -> tensor<6x8xf32>
// CHECK: %[[MAX:.*]] = nn.reduce max %[[ROWS]] [1] : tensor<6x8xf32> -> tensor<6x1xf32>
// CHECK: nn.reshape %[[MAX]] : tensor<6x1xf32> -> tensor<2x3x1xf32>
// CHECK: nn.binary sub %[[X]]
// CHECK: %[[E:.*]] = nn.unary exp
// CHECK: nn.reduce sum %{{.*}} [1] : tensor<6x8xf32> -> tensor<6x1xf32>
// CHECK: nn.unary reciprocal %{{.*}} : tensor<2x3x1xf32> -> tensor<2x3x1xf32>
// CHECK: nn.binary mul %[[E]]
// CHECK-NOT: nn.softmax
nn.program @softmax(%x: tensor<2x3x8xf32>) -> tensor<2x3x8xf32> {
  %0 = nn.softmax %x : tensor<2x3x8xf32>
  nn.return %0 : tensor<2x3x8xf32>
}

// -----

// The mean is a sum times 1/8; the variance sums squares around it.

// The first element of a row is subtracted before they are added up, and what
// is left of the mean afterwards corrects both results.

// CHECK-LABEL: nn.program @layer_norm
// CHECK-SAME: %[[X:[^:]+]]: tensor<4x8xf32>
// CHECK-DAG: %[[C:.*]] = nn.constant dense<1.250000e-01> : tensor<4x1xf32>
// CHECK-DAG: %[[EPS:.*]] = nn.constant dense<9.99999974E-6> : tensor<4x1xf32>
// CHECK-DAG: %[[ZERO:.*]] = nn.constant dense<0.000000e+00> : tensor<4x1xf32>
// CHECK: %[[FIRST:.*]] = nn.slice %[[X]] [0, 0] step [1, 1] : tensor<4x8xf32> -> tensor<4x1xf32>
// CHECK: %[[FROM:.*]] = nn.binary sub %[[X]]
// CHECK: %[[SUM:.*]] = nn.reduce sum %[[FROM]] [1]
// CHECK: %[[SHIFT:.*]] = nn.binary mul %[[SUM]], %[[C]]
// CHECK: %[[NEAR:.*]] = nn.binary add %[[FIRST]], %[[SHIFT]]
// CHECK: %[[D:.*]] = nn.binary sub %[[X]]
// CHECK: %[[LEFT:.*]] = nn.reduce sum %[[D]] [1]
// CHECK: %[[REST:.*]] = nn.binary mul %[[LEFT]], %[[C]]
// CHECK: %[[SQUARES:.*]] = nn.binary mul %[[D]], %[[D]]
// CHECK: %[[SUM2:.*]] = nn.reduce sum %[[SQUARES]] [1]
// CHECK: %[[SQUARE:.*]] = nn.binary mul %[[SUM2]], %[[C]]
// CHECK: %[[REST2:.*]] = nn.binary mul %[[REST]], %[[REST]]
// CHECK: %[[DIFFERENCE:.*]] = nn.binary sub %[[SQUARE]], %[[REST2]]
// CHECK: %[[VAR:.*]] = nn.binary max %[[DIFFERENCE]], %[[ZERO]]
// CHECK: %[[MEAN:.*]] = nn.binary add %[[NEAR]], %[[REST]]
// CHECK: %[[SHIFTED:.*]] = nn.binary add %[[VAR]], %[[EPS]]
// CHECK: %[[ROOT:.*]] = nn.unary sqrt %[[SHIFTED]]
// CHECK: %[[RSTD:.*]] = nn.unary reciprocal %[[ROOT]]
// CHECK: nn.return %{{.*}}, %[[MEAN]], %[[RSTD]]
nn.program @layer_norm(%x: tensor<4x8xf32>, %s: tensor<8xf32>, %b: tensor<8xf32>)
    -> (tensor<4x8xf32>, tensor<4x1xf32>, tensor<4x1xf32>) {
  %0:3 = nn.layer_norm %x, %s, %b epsilon 1.0e-5
      : tensor<4x8xf32>, tensor<8xf32> -> tensor<4x1xf32>, tensor<4x1xf32>
  nn.return %0#0, %0#1, %0#2 : tensor<4x8xf32>, tensor<4x1xf32>, tensor<4x1xf32>
}

// -----

// Each operand is chosen before its end.

// CHECK-LABEL: nn.program @concat
// CHECK-SAME: %[[A:[^:]+]]: tensor<4xf32>, %[[B:[^:]+]]: tensor<2xf32>, %[[C:[^:]+]]: tensor<3xf32>
// CHECK-DAG: %[[PC:.*]] = nn.pad %[[C]] [6]
// CHECK-DAG: %[[PB:.*]] = nn.pad %[[B]] [4]
// CHECK-DAG: %[[PA:.*]] = nn.pad %[[A]] [0]
// CHECK-DAG: %[[I:.*]] = nn.iota 0 : tensor<9xi64>
// CHECK-DAG: %[[SIX:.*]] = nn.constant dense<6>
// CHECK-DAG: %[[FOUR:.*]] = nn.constant dense<4>
// CHECK-DAG: %[[LT6:.*]] = nn.compare lt %[[I]], %[[SIX]]
// CHECK-DAG: %[[BC:.*]] = nn.select %[[LT6]], %[[PB]], %[[PC]]
// CHECK-DAG: %[[LT4:.*]] = nn.compare lt %[[I]], %[[FOUR]]
// CHECK: %[[ABC:.*]] = nn.select %[[LT4]], %[[PA]], %[[BC]]
// CHECK: nn.return %[[ABC]]
nn.program @concat(%a: tensor<4xf32>, %b: tensor<2xf32>, %c: tensor<3xf32>) -> tensor<9xf32> {
  %0 = nn.concat %a, %b, %c dim 0 : tensor<4xf32>, tensor<2xf32>, tensor<3xf32> -> tensor<9xf32>
  nn.return %0 : tensor<9xf32>
}

// -----

// Reductions of trailing, leading and middle dimensions stay one reduction.

// CHECK-LABEL: nn.program @trailing
// CHECK: nn.reduce sum %{{.*}} [1] : tensor<2x24xf32> -> tensor<2x1xf32>
// CHECK-NOT: nn.reduce
nn.program @trailing(%x: tensor<2x3x1x8xf32>) -> tensor<2x1x1x1xf32> {
  %0 = nn.reduce sum %x [1, 3] : tensor<2x3x1x8xf32> -> tensor<2x1x1x1xf32>
  nn.return %0 : tensor<2x1x1x1xf32>
}

// -----

// CHECK-LABEL: nn.program @leading
// CHECK: nn.reduce sum %{{.*}} [0] : tensor<6x8xf32> -> tensor<1x8xf32>
// CHECK-NOT: nn.reduce
nn.program @leading(%x: tensor<2x3x8xf32>) -> tensor<1x1x8xf32> {
  %0 = nn.reduce sum %x [0, 1] : tensor<2x3x8xf32> -> tensor<1x1x8xf32>
  nn.return %0 : tensor<1x1x8xf32>
}

// -----

// CHECK-LABEL: nn.program @middle
// CHECK: nn.reduce max %{{.*}} [1] : tensor<2x3x8xf32> -> tensor<2x1x8xf32>
// CHECK-NOT: nn.reduce
nn.program @middle(%x: tensor<2x3x4x2xf32>) -> tensor<2x1x4x2xf32> {
  %0 = nn.reduce max %x [1] : tensor<2x3x4x2xf32> -> tensor<2x1x4x2xf32>
  nn.return %0 : tensor<2x1x4x2xf32>
}

// -----

// CHECK-LABEL: nn.program @everything
// CHECK: nn.reduce sum %{{.*}} [1] : tensor<1x48xf32> -> tensor<1x1xf32>
// CHECK-NOT: nn.reduce
nn.program @everything(%x: tensor<2x3x8xf32>) -> tensor<1x1x1xf32> {
  %0 = nn.reduce sum %x [0, 1, 2] : tensor<2x3x8xf32> -> tensor<1x1x1xf32>
  nn.return %0 : tensor<1x1x1xf32>
}

// -----

// The last of two groups is reduced first.

// CHECK-LABEL: nn.program @apart
// CHECK: nn.reduce sum %{{.*}} [1] : tensor<6x8xf32> -> tensor<6x1xf32>
// CHECK: nn.reduce sum %{{.*}} [0] : tensor<2x3xf32> -> tensor<1x3xf32>
// CHECK-NOT: nn.reduce
nn.program @apart(%x: tensor<2x3x8xf32>) -> tensor<1x3x1xf32> {
  %0 = nn.reduce sum %x [0, 2] : tensor<2x3x8xf32> -> tensor<1x3x1xf32>
  nn.return %0 : tensor<1x3x1xf32>
}

// -----

// The index counts samples first, wherever their dimension is; of a dropout
// nothing but its number tells it from another.

// CHECK-LABEL: nn.program @dropout
// CHECK-DAG: %[[RATIO:.*]] = nn.constant dense<2.500000e-01> : tensor<3x4x5xf32>
// CHECK-DAG: %[[SCALE:.*]] = nn.constant dense<1.33333337> : tensor<3x4x5xf32>
// CHECK-DAG: %[[OFONE:.*]] = nn.constant dense<30> : tensor<1xi64>
// CHECK-DAG: %[[I:.*]] = nn.iota 0 : tensor<60xi64>
// CHECK-DAG: %[[R:.*]] = nn.reshape %[[I]] : tensor<60xi64> -> tensor<2x3x10xi64>
// CHECK-DAG: %[[T:.*]] = nn.transpose %[[R]] [1, 0, 2] : tensor<2x3x10xi64> -> tensor<3x2x10xi64>
// CHECK-DAG: %[[L:.*]] = nn.reshape %[[T]] : tensor<3x2x10xi64> -> tensor<3x4x5xi64>
// CHECK-DAG: %[[BASE:.*]] = nn.scalar "sample_base" : tensor<1xi64>
// CHECK-DAG: nn.binary mul %[[BASE]], %[[OFONE]]
// CHECK: %[[INDEX:.*]] = nn.binary add %[[L]], %{{.*}} : tensor<3x4x5xi64>
// CHECK: %[[U:.*]] = nn.random_uniform %{{.*}}, %{{.*}}, %[[INDEX]] number 7 : tensor<3x4x5xi64> -> tensor<3x4x5xf32>
// CHECK: %[[KEEP:.*]] = nn.compare ge %[[U]], %[[RATIO]]
// CHECK: %[[Y:.*]] = nn.binary mul %{{.*}}, %[[SCALE]]
// CHECK: nn.select %[[KEEP]], %[[Y]]
// CHECK-NOT: nn.dropout
nn.program @dropout(%x: tensor<3x4x5xf32>) -> (tensor<3x4x5xf32>, tensor<3x4x5xi1>) {
  %y, %m = nn.dropout %x ratio 0.25 number 7 samples [1, 2] : tensor<3x4x5xf32> -> tensor<3x4x5xi1>
  nn.return %y, %m : tensor<3x4x5xf32>, tensor<3x4x5xi1>
}
