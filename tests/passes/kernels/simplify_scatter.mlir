// RUN: zerograph-opt %s --pass-pipeline='builtin.module(nn.program(nn-simplify-scatter))' | FileCheck %s

// CHECK-LABEL: nn.program @right
// CHECK-NEXT: %[[SUM:.*]] = nn.scatter sum %i, %rows into %x : tensor<4xi64>, tensor<4x2xf32> -> tensor<8x2xf32>
// CHECK-NEXT: nn.return %[[SUM]]
nn.program @right(%i: tensor<4xi64>, %rows: tensor<4x2xf32>, %x: tensor<8x2xf32>) -> tensor<8x2xf32> {
  %0 = nn.scatter sum %i, %rows : tensor<4xi64>, tensor<4x2xf32> -> tensor<8x2xf32>
  %1 = nn.binary add %x, %0 : tensor<8x2xf32>
  nn.return %1 : tensor<8x2xf32>
}

// The other summand may come after the scatter.
// CHECK-LABEL: nn.program @left
// CHECK-NEXT: %[[X:.*]] = nn.unary exp
// CHECK-NEXT: nn.scatter sum %i, %rows into %[[X]]
// CHECK-NEXT: nn.return
nn.program @left(%i: tensor<4xi64>, %rows: tensor<4x2xf32>, %x: tensor<8x2xf32>) -> tensor<8x2xf32> {
  %0 = nn.scatter sum %i, %rows : tensor<4xi64>, tensor<4x2xf32> -> tensor<8x2xf32>
  %1 = nn.unary exp %x : tensor<8x2xf32> -> tensor<8x2xf32>
  %2 = nn.binary add %0, %1 : tensor<8x2xf32>
  nn.return %2 : tensor<8x2xf32>
}

// Two look-ups in one table: the second adds into the first. A third follows.
// CHECK-LABEL: nn.program @several
// CHECK: %[[A:.*]] = nn.scatter sum %i, %a :
// CHECK-NEXT: %[[B:.*]] = nn.scatter sum %i, %b into %[[A]] :
// CHECK-NEXT: %[[C:.*]] = nn.scatter sum %i, %c into %[[B]] :
// CHECK-NEXT: nn.return %[[C]]
nn.program @several(%i: tensor<4xi64>, %a: tensor<4x2xf32>, %b: tensor<4x2xf32>, %c: tensor<4x2xf32>) -> tensor<8x2xf32> {
  %0 = nn.scatter sum %i, %a : tensor<4xi64>, tensor<4x2xf32> -> tensor<8x2xf32>
  %1 = nn.scatter sum %i, %b : tensor<4xi64>, tensor<4x2xf32> -> tensor<8x2xf32>
  %2 = nn.binary add %0, %1 : tensor<8x2xf32>
  %3 = nn.scatter sum %i, %c : tensor<4xi64>, tensor<4x2xf32> -> tensor<8x2xf32>
  %4 = nn.binary add %3, %2 : tensor<8x2xf32>
  nn.return %4 : tensor<8x2xf32>
}

// One that adds into a table already keeps it; the table is added to.
// CHECK-LABEL: nn.program @taken
// CHECK-NEXT: %[[A:.*]] = nn.scatter sum %i, %rows into %x
// CHECK-NEXT: nn.scatter sum %i, %rows into %[[A]]
// CHECK-NEXT: nn.return
nn.program @taken(%i: tensor<4xi64>, %rows: tensor<4x2xf32>, %x: tensor<8x2xf32>) -> tensor<8x2xf32> {
  %0 = nn.scatter sum %i, %rows : tensor<4xi64>, tensor<4x2xf32> -> tensor<8x2xf32>
  %1 = nn.scatter sum %i, %rows into %x : tensor<4xi64>, tensor<4x2xf32> -> tensor<8x2xf32>
  %2 = nn.binary add %0, %1 : tensor<8x2xf32>
  nn.return %2 : tensor<8x2xf32>
}

// A scatter that something else needs, another operation, and a scatter that is
// added to itself stay as they were.
// CHECK-LABEL: nn.program @kept
// CHECK-NOT: into
// CHECK: nn.return
nn.program @kept(%i: tensor<4xi64>, %rows: tensor<4x2xf32>, %x: tensor<8x2xf32>)
    -> (tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>) {
  %0 = nn.scatter sum %i, %rows : tensor<4xi64>, tensor<4x2xf32> -> tensor<8x2xf32>
  %1 = nn.binary add %x, %0 : tensor<8x2xf32>
  %2 = nn.scatter sum %i, %rows : tensor<4xi64>, tensor<4x2xf32> -> tensor<8x2xf32>
  %3 = nn.binary mul %x, %2 : tensor<8x2xf32>
  %4 = nn.scatter sum %i, %rows : tensor<4xi64>, tensor<4x2xf32> -> tensor<8x2xf32>
  %5 = nn.binary add %4, %4 : tensor<8x2xf32>
  nn.return %0, %1, %3, %5 : tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>
}
