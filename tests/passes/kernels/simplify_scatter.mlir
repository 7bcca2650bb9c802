// RUN: zerograph-opt %s --pass-pipeline='builtin.module(func.func(nn-simplify-scatter))' | FileCheck %s

// CHECK-LABEL: func.func @right
// CHECK-NEXT: %[[SUM:.*]] = nn.scatter sum %arg0, %arg1 into %arg2 : tensor<4xi64>, tensor<4x2xf32> -> tensor<8x2xf32>
// CHECK-NEXT: return %[[SUM]]
func.func @right(%i: tensor<4xi64>, %rows: tensor<4x2xf32>, %x: tensor<8x2xf32>) -> tensor<8x2xf32> {
  %0 = nn.scatter sum %i, %rows : tensor<4xi64>, tensor<4x2xf32> -> tensor<8x2xf32>
  %1 = nn.binary add %x, %0 : tensor<8x2xf32>
  return %1 : tensor<8x2xf32>
}

// The other summand may come after the scatter.
// CHECK-LABEL: func.func @left
// CHECK-NEXT: %[[X:.*]] = nn.unary exp
// CHECK-NEXT: nn.scatter sum %arg0, %arg1 into %[[X]]
// CHECK-NEXT: return
func.func @left(%i: tensor<4xi64>, %rows: tensor<4x2xf32>, %x: tensor<8x2xf32>) -> tensor<8x2xf32> {
  %0 = nn.scatter sum %i, %rows : tensor<4xi64>, tensor<4x2xf32> -> tensor<8x2xf32>
  %1 = nn.unary exp %x : tensor<8x2xf32> -> tensor<8x2xf32>
  %2 = nn.binary add %0, %1 : tensor<8x2xf32>
  return %2 : tensor<8x2xf32>
}

// Two look-ups in one table: the second adds into the first. A third follows.
// CHECK-LABEL: func.func @several
// CHECK-NEXT: %[[A:.*]] = nn.scatter sum %arg0, %arg1 :
// CHECK-NEXT: %[[B:.*]] = nn.scatter sum %arg0, %arg2 into %[[A]] :
// CHECK-NEXT: %[[C:.*]] = nn.scatter sum %arg0, %arg3 into %[[B]] :
// CHECK-NEXT: return %[[C]]
func.func @several(%i: tensor<4xi64>, %a: tensor<4x2xf32>, %b: tensor<4x2xf32>, %c: tensor<4x2xf32>) -> tensor<8x2xf32> {
  %0 = nn.scatter sum %i, %a : tensor<4xi64>, tensor<4x2xf32> -> tensor<8x2xf32>
  %1 = nn.scatter sum %i, %b : tensor<4xi64>, tensor<4x2xf32> -> tensor<8x2xf32>
  %2 = nn.binary add %0, %1 : tensor<8x2xf32>
  %3 = nn.scatter sum %i, %c : tensor<4xi64>, tensor<4x2xf32> -> tensor<8x2xf32>
  %4 = nn.binary add %3, %2 : tensor<8x2xf32>
  return %4 : tensor<8x2xf32>
}

// One that adds into a table already keeps it; the table is added to.
// CHECK-LABEL: func.func @taken
// CHECK-NEXT: %[[A:.*]] = nn.scatter sum %arg0, %arg1 into %arg2
// CHECK-NEXT: nn.scatter sum %arg0, %arg1 into %[[A]]
// CHECK-NEXT: return
func.func @taken(%i: tensor<4xi64>, %rows: tensor<4x2xf32>, %x: tensor<8x2xf32>) -> tensor<8x2xf32> {
  %0 = nn.scatter sum %i, %rows : tensor<4xi64>, tensor<4x2xf32> -> tensor<8x2xf32>
  %1 = nn.scatter sum %i, %rows into %x : tensor<4xi64>, tensor<4x2xf32> -> tensor<8x2xf32>
  %2 = nn.binary add %0, %1 : tensor<8x2xf32>
  return %2 : tensor<8x2xf32>
}

// What else needs the scatter, another operation, and one scatter that
// is added to itself: as they were.
// CHECK-LABEL: func.func @kept
// CHECK-NOT: into
// CHECK: return
func.func @kept(%i: tensor<4xi64>, %rows: tensor<4x2xf32>, %x: tensor<8x2xf32>)
    -> (tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>) {
  %0 = nn.scatter sum %i, %rows : tensor<4xi64>, tensor<4x2xf32> -> tensor<8x2xf32>
  %1 = nn.binary add %x, %0 : tensor<8x2xf32>
  %2 = nn.scatter sum %i, %rows : tensor<4xi64>, tensor<4x2xf32> -> tensor<8x2xf32>
  %3 = nn.binary mul %x, %2 : tensor<8x2xf32>
  %4 = nn.scatter sum %i, %rows : tensor<4xi64>, tensor<4x2xf32> -> tensor<8x2xf32>
  %5 = nn.binary add %4, %4 : tensor<8x2xf32>
  return %0, %1, %3, %5 : tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>
}
