// RUN: zerograph-opt %s --split-input-file --pass-pipeline='builtin.module(nn.program(nn-form-kernels,nn-verify-kernels))' | FileCheck %s

// An operand that a product needs transposed is a kernel of views alone; a
// reshape of a buffer stays outside.
// CHECK-LABEL: nn.program @copies
// CHECK: %[[Q:.*]] = nn.kernel rows
// CHECK-NEXT: nn.transpose
// CHECK-NEXT: nn.yield
// CHECK: nn.reshape %[[Q]]
// CHECK: nn.matmul
nn.program @copies(%q: tensor<2x5x3x4xf32>, %k: tensor<6x4x5xf32>) -> tensor<6x5x5xf32> {
  %0 = nn.transpose %q [0, 2, 1, 3] : tensor<2x5x3x4xf32> -> tensor<2x3x5x4xf32>
  %1 = nn.reshape %0 : tensor<2x3x5x4xf32> -> tensor<6x5x4xf32>
  %2 = nn.matmul %1, %k : tensor<6x5x4xf32>, tensor<6x4x5xf32> -> tensor<6x5x5xf32>
  nn.return %2 : tensor<6x5x5xf32>
}

// -----

// Two gradients that sum the same rows share a columns kernel, and what only
// they need is computed in it.
// CHECK-LABEL: nn.program @columns
// CHECK-NEXT: %{{.*}}:2 = nn.kernel columns (%{{.*}} = %dy, %{{.*}} = %x)
// CHECK-NEXT: nn.reduce sum
// CHECK-NEXT: nn.binary mul
// CHECK-NEXT: nn.reduce sum
// CHECK-NOT: nn.kernel
nn.program @columns(%dy: tensor<16x8xf32>, %x: tensor<16x8xf32>) -> (tensor<1x8xf32>, tensor<1x8xf32>) {
  %0 = nn.reduce sum %dy [0] : tensor<16x8xf32> -> tensor<1x8xf32>
  %1 = nn.binary mul %dy, %x : tensor<16x8xf32>
  %2 = nn.reduce sum %1 [0] : tensor<16x8xf32> -> tensor<1x8xf32>
  nn.return %0, %2 : tensor<1x8xf32>, tensor<1x8xf32>
}

// -----

// A value and a product of it do not come back together: the first kernel is
// before the product, the second behind it.
// CHECK-LABEL: nn.program @diamond
// CHECK: nn.kernel rows
// CHECK: nn.matmul
// CHECK: nn.kernel rows
// CHECK-NOT: nn.kernel
nn.program @diamond(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = nn.unary exp %x : tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = nn.matmul %0, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %2 = nn.binary add %0, %1 : tensor<4x4xf32>
  nn.return %2 : tensor<4x4xf32>
}

// -----

// The same without a product: the transposed value is computed again, so there
// is one kernel.
// CHECK-LABEL: nn.program @transposed
// CHECK: nn.kernel rows (%{{.*}} = %x)
// CHECK: nn.transpose
// CHECK: nn.yield
// CHECK-NOT: nn.kernel
nn.program @transposed(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = nn.unary exp %x : tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = nn.transpose %0 [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
  %2 = nn.binary add %0, %1 : tensor<4x4xf32>
  nn.return %2 : tensor<4x4xf32>
}

// -----

// Values are computed again after the product rather than kept, also an
// expensive one.
// CHECK-LABEL: nn.program @again
// CHECK: %{{[^:]*}} = nn.kernel rows (%{{.*}} = %x) :
// CHECK: nn.matmul
// CHECK: nn.kernel rows
// CHECK-DAG: nn.compare
// CHECK-DAG: nn.unary exp
// CHECK: nn.yield
nn.program @again(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %zero = nn.constant dense<0.0> : tensor<4x4xf32>
  %e = nn.unary exp %x : tensor<4x4xf32> -> tensor<4x4xf32>
  %mask = nn.compare gt %x, %zero : tensor<4x4xf32> -> tensor<4x4xi1>
  %r = nn.select %mask, %e, %zero : tensor<4x4xi1>, tensor<4x4xf32>
  %p = nn.matmul %r, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %g = nn.select %mask, %p, %x : tensor<4x4xi1>, tensor<4x4xf32>
  %s = nn.binary mul %g, %e : tensor<4x4xf32>
  nn.return %s : tensor<4x4xf32>
}

// -----

// A constant that is returned fills a buffer; running sums and the gradient of
// a gather are alone.
// CHECK-LABEL: nn.program @alone
// CHECK: nn.kernel scan
// CHECK: nn.kernel scatter
// CHECK: nn.kernel rows ()
// CHECK-NEXT: nn.constant
nn.program @alone(%i: tensor<4xi64>, %x: tensor<4x2xf32>) -> (tensor<8x2xf32>, tensor<3xf32>) {
  %c = nn.constant dense<1.0> : tensor<3xf32>
  %0 = nn.cumsum %i dim 0 : tensor<4xi64>
  %1 = nn.scatter sum %0, %x : tensor<4xi64>, tensor<4x2xf32> -> tensor<8x2xf32>
  nn.return %1, %c : tensor<8x2xf32>, tensor<3xf32>
}

// -----

// The table that rows are added into comes from a buffer, whatever makes it;
// the rows may be made in the kernel.
// CHECK-LABEL: nn.program @table
// CHECK: %[[T:.*]] = nn.kernel rows (%{{.*}} = %t)
// CHECK: nn.unary neg
// CHECK: nn.kernel scatter ({{.*}}%[[ARG:[^ ]*]] = %[[T]])
// CHECK: nn.unary neg
// CHECK: %[[AS:.*]] = nn.reshape %[[ARG]] : tensor<16xf32> -> tensor<8x2xf32>
// CHECK: nn.scatter sum %{{.*}}, %{{.*}} into %[[AS]]
nn.program @table(%i: tensor<4xi64>, %x: tensor<4x2xf32>, %t: tensor<16xf32>) -> tensor<8x2xf32> {
  %0 = nn.unary neg %x : tensor<4x2xf32> -> tensor<4x2xf32>
  %1 = nn.unary neg %t : tensor<16xf32> -> tensor<16xf32>
  %2 = nn.reshape %1 : tensor<16xf32> -> tensor<8x2xf32>
  %3 = nn.scatter sum %i, %0 into %2 : tensor<4xi64>, tensor<4x2xf32> -> tensor<8x2xf32>
  nn.return %3 : tensor<8x2xf32>
}

// -----

// A table of constants and a transposed one are copied first.
// CHECK-LABEL: nn.program @copied_table
// CHECK: %[[C:.*]] = nn.kernel rows ()
// CHECK: nn.kernel scatter ({{.*}} = %[[C]])
// CHECK: %[[T:.*]] = nn.kernel rows (%{{.*}} = %t)
// CHECK: nn.transpose
// CHECK: nn.kernel scatter ({{.*}} = %[[T]])
nn.program @copied_table(%i: tensor<4xi64>, %x: tensor<4x2xf32>, %t: tensor<2x8xf32>) -> (tensor<8x2xf32>, tensor<8x2xf32>) {
  %0 = nn.constant dense<1.0> : tensor<8x2xf32>
  %1 = nn.scatter sum %i, %x into %0 : tensor<4xi64>, tensor<4x2xf32> -> tensor<8x2xf32>
  %2 = nn.transpose %t [1, 0] : tensor<2x8xf32> -> tensor<8x2xf32>
  %3 = nn.scatter sum %i, %x into %2 : tensor<4xi64>, tensor<4x2xf32> -> tensor<8x2xf32>
  nn.return %1, %3 : tensor<8x2xf32>, tensor<8x2xf32>
}

// -----

// A release follows the last kernel that reads the buffer; the gather that was
// to begin after it still does.
#unit = #zero.unit<"b", f32, elements = 256, trainable = true, persistent = false, reason = "r", axes = ["data"], segments = [256], states = [<"param", f32, sharded = false>], placements = [<<"w", module = "b", trainable = true, init = normal>, tensor<16x16xf32>, offset = 0>]>
// CHECK-LABEL: nn.program @release
// CHECK: nn.kernel rows
// CHECK: nn.yield
// CHECK: zero.release
// CHECK-NEXT: zero.prefetch
// CHECK: zero.await
module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  zero.layout units [#unit]
  nn.program @release(%flat: tensor<256xf32>, %next: tensor<256xf32>, %x: tensor<16xf32>) -> (tensor<16xf32>, tensor<256xf32>) {
    %w = zero.view %flat[0] : tensor<256xf32> -> tensor<16xf32>
    %0 = nn.binary mul %w, %x : tensor<16xf32>
    zero.release %flat unit 0 : tensor<256xf32>
    %p = zero.prefetch %next unit 0 group ["data"] reason "r" : tensor<256xf32> -> <tensor<256xf32>>
    %1 = nn.unary exp %0 : tensor<16xf32> -> tensor<16xf32>
    %a = zero.await %p : <tensor<256xf32>> -> tensor<256xf32>
    nn.return %1, %a : tensor<16xf32>, tensor<256xf32>
  }
}

// -----

// A chain of views that no single copy can read is copied in three parts.
// CHECK-LABEL: nn.program @spread
// CHECK: nn.kernel
// CHECK: nn.kernel
// CHECK: nn.kernel
// CHECK: nn.return
nn.program @spread(%x: tensor<1x2x2xf32>) -> tensor<1x5x5xf32> {
  %0 = nn.reshape %x : tensor<1x2x2xf32> -> tensor<1x2x2x1xf32>
  %1 = nn.pad %0 [0, 0, 0, 0] value 0.000000e+00 : f32 : tensor<1x2x2x1xf32> -> tensor<1x2x2x2xf32>
  %2 = nn.reshape %1 : tensor<1x2x2x2xf32> -> tensor<1x2x4xf32>
  %3 = nn.slice %2 [0, 0, 0] step [1, 1, 1] : tensor<1x2x4xf32> -> tensor<1x2x3xf32>
  %4 = nn.reshape %3 : tensor<1x2x3xf32> -> tensor<1x2x1x3xf32>
  %5 = nn.pad %4 [0, 0, 0, 0] value 0.000000e+00 : f32 : tensor<1x2x1x3xf32> -> tensor<1x2x2x3xf32>
  %6 = nn.reshape %5 : tensor<1x2x2x3xf32> -> tensor<1x4x3xf32>
  %7 = nn.slice %6 [0, 0, 0] step [1, 1, 1] : tensor<1x4x3xf32> -> tensor<1x3x3xf32>
  %8 = nn.pad %7 [0, 1, 1] value 0.000000e+00 : f32 : tensor<1x3x3xf32> -> tensor<1x5x5xf32>
  nn.return %8 : tensor<1x5x5xf32>
}

// -----

// Labels that are moved by one position are copied before they are repeated,
// and what is compared with them is compared again: no buffer is as large as
// the logits.
// CHECK-LABEL: nn.program @shifted
// CHECK: %[[S:.*]] = nn.kernel rows ({{.*}} = %labels) : (tensor<2x4xi64>) -> tensor<2x4xi64>
// CHECK: %[[L:.*]] = nn.kernel rows ({{.*}} = %[[S]]) : (tensor<2x4xi64>) -> tensor<8x1xi64>
// CHECK: nn.kernel rows ({{.*}} = %[[L]], {{.*}} = %x) : (tensor<8x1xi64>, tensor<8x10xf32>) -> tensor<8x1xf32>
// CHECK: nn.matmul
// CHECK: nn.kernel rows ({{.*}} = %[[L]], {{.*}}) : (tensor<8x1xi64>, tensor<8x10xf32>) -> tensor<8x10xf32>
nn.program @shifted(%labels: tensor<2x4xi64>, %x: tensor<8x10xf32>, %y: tensor<1x10xf32>) -> tensor<8x10xf32> {
  %0 = nn.pad %labels [0, 0] value -100 : i64 : tensor<2x4xi64> -> tensor<2x5xi64>
  %1 = nn.slice %0 [0, 1] step [1, 1] : tensor<2x5xi64> -> tensor<2x4xi64>
  %2 = nn.reshape %1 : tensor<2x4xi64> -> tensor<8x1xi64>
  %3 = nn.broadcast %2 : tensor<8x1xi64> -> tensor<8x10xi64>
  %4 = nn.iota 1 : tensor<8x10xi64>
  %5 = nn.compare eq %4, %3 : tensor<8x10xi64> -> tensor<8x10xi1>
  %zero = nn.constant dense<0.0> : tensor<8x10xf32>
  %6 = nn.select %5, %x, %zero : tensor<8x10xi1>, tensor<8x10xf32>
  %7 = nn.reduce sum %6 [1] : tensor<8x10xf32> -> tensor<8x1xf32>
  %8 = nn.matmul %7, %y : tensor<8x1xf32>, tensor<1x10xf32> -> tensor<8x10xf32>
  %9 = nn.select %5, %8, %zero : tensor<8x10xi1>, tensor<8x10xf32>
  nn.return %9 : tensor<8x10xf32>
}

// -----

// One operand is cut where the other, which passes there, is read as before;
// whichever comes first.
// CHECK-LABEL: nn.program @crossing
// CHECK: nn.binary sub
// CHECK: nn.binary sub
// CHECK: nn.return
nn.program @crossing(%r: tensor<3x3xf32>) -> (tensor<6x4xf32>, tensor<6x4xf32>) {
  %0 = nn.transpose %r [1, 0] : tensor<3x3xf32> -> tensor<3x3xf32>
  %1 = nn.slice %0 [0, 0] step [1, 1] : tensor<3x3xf32> -> tensor<3x2xf32>
  %2 = nn.reshape %1 : tensor<3x2xf32> -> tensor<3x2x1xf32>
  %3 = nn.broadcast %2 : tensor<3x2x1xf32> -> tensor<3x2x4xf32>
  %4 = nn.reshape %3 : tensor<3x2x4xf32> -> tensor<6x4xf32>
  %5 = nn.transpose %2 [1, 0, 2] : tensor<3x2x1xf32> -> tensor<2x3x1xf32>
  %6 = nn.broadcast %5 : tensor<2x3x1xf32> -> tensor<2x3x4xf32>
  %7 = nn.reshape %6 : tensor<2x3x4xf32> -> tensor<6x4xf32>
  %8 = nn.binary sub %7, %4 : tensor<6x4xf32>
  %9 = nn.unary exp %8 : tensor<6x4xf32> -> tensor<6x4xf32>
  %10 = nn.matmul %9, %9 transpose_b : tensor<6x4xf32>, tensor<6x4xf32> -> tensor<6x6xf32>
  %11 = nn.matmul %10, %9 : tensor<6x6xf32>, tensor<6x4xf32> -> tensor<6x4xf32>
  %12 = nn.binary sub %4, %7 : tensor<6x4xf32>
  %13 = nn.binary add %12, %11 : tensor<6x4xf32>
  nn.return %9, %13 : tensor<6x4xf32>, tensor<6x4xf32>
}

// -----

// A mask of a padded value is computed again from what was padded, though a
// product needs a copy; of few classes it is smaller than the labels, and kept.
// CHECK-LABEL: nn.program @padded
// CHECK: nn.kernel rows ({{.*}} = %x{{.*}}) : {{.*}} -> tensor<8x1xf32>
// CHECK: nn.matmul
// CHECK: nn.kernel rows ({{.*}} = %x{{.*}}) : {{.*}} -> tensor<8x8xf32>
nn.program @padded(%x: tensor<8x6xf32>, %w: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = nn.pad %x [0, 2] value 0.0 : f32 : tensor<8x6xf32> -> tensor<8x8xf32>
  %1 = nn.matmul %0, %w : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %zero = nn.constant dense<0.0> : tensor<8x8xf32>
  %2 = nn.compare gt %0, %zero : tensor<8x8xf32> -> tensor<8x8xi1>
  %3 = nn.select %2, %w, %zero : tensor<8x8xi1>, tensor<8x8xf32>
  %4 = nn.reduce sum %3 [1] : tensor<8x8xf32> -> tensor<8x1xf32>
  %5 = nn.matmul %4, %4 transpose_b : tensor<8x1xf32>, tensor<8x1xf32> -> tensor<8x8xf32>
  %6 = nn.select %2, %5, %zero : tensor<8x8xi1>, tensor<8x8xf32>
  nn.return %6, %1 : tensor<8x8xf32>, tensor<8x8xf32>
}

// CHECK-LABEL: nn.program @few_classes
// CHECK: nn.kernel rows {{.*}} -> (tensor<8x2xi1>, tensor<8x1xf32>)
nn.program @few_classes(%labels: tensor<2x4xi64>, %x: tensor<8x2xf32>, %y: tensor<1x2xf32>) -> tensor<8x2xf32> {
  %0 = nn.pad %labels [0, 0] value -100 : i64 : tensor<2x4xi64> -> tensor<2x5xi64>
  %1 = nn.slice %0 [0, 1] step [1, 1] : tensor<2x5xi64> -> tensor<2x4xi64>
  %2 = nn.reshape %1 : tensor<2x4xi64> -> tensor<8x1xi64>
  %3 = nn.broadcast %2 : tensor<8x1xi64> -> tensor<8x2xi64>
  %4 = nn.iota 1 : tensor<8x2xi64>
  %5 = nn.compare eq %4, %3 : tensor<8x2xi64> -> tensor<8x2xi1>
  %zero = nn.constant dense<0.0> : tensor<8x2xf32>
  %6 = nn.select %5, %x, %zero : tensor<8x2xi1>, tensor<8x2xf32>
  %7 = nn.reduce sum %6 [1] : tensor<8x2xf32> -> tensor<8x1xf32>
  %8 = nn.matmul %7, %y : tensor<8x1xf32>, tensor<1x2xf32> -> tensor<8x2xf32>
  %9 = nn.select %5, %8, %zero : tensor<8x2xi1>, tensor<8x2xf32>
  nn.return %9 : tensor<8x2xf32>
}

// -----

// A kernel behind a release does not compute again what would need a first copy
// of what is released.
#unit = #zero.unit<"b", f32, elements = 512, trainable = true, persistent = false, reason = "r", axes = ["data"], segments = [512], states = [<"param", f32, sharded = true>], placements = [<<"w", module = "b", trainable = true, init = normal>, tensor<16x16xf32>, offset = 0>]>
// CHECK-LABEL: nn.program @released
// CHECK: nn.binary max
// CHECK: zero.release
// CHECK-NOT: nn.pad
// CHECK: nn.return
module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  zero.layout units [#unit]
  nn.program @released(%sh: tensor<256xf32>, %x: tensor<16x16xf32>, %y: tensor<16x16xf32>) -> (tensor<1x16xf32>, tensor<16x16xf32>) {
    %flat = zero.all_gather %sh unit 0 group ["data"] reason "r" : tensor<256xf32> -> tensor<512xf32>
    %0 = zero.view %flat[0] : tensor<512xf32> -> tensor<15x1xf32>
    %1 = nn.pad %0 [1, 0] value 1.0 : f32 : tensor<15x1xf32> -> tensor<16x1xf32>
    %2 = nn.pad %1 [1, 0] value 2.0 : f32 : tensor<16x1xf32> -> tensor<17x1xf32>
    %3 = nn.slice %2 [0, 0] step [1, 1] : tensor<17x1xf32> -> tensor<16x1xf32>
    %4 = nn.broadcast %3 : tensor<16x1xf32> -> tensor<16x16xf32>
    %5 = nn.binary max %4, %x : tensor<16x16xf32>
    zero.release %flat unit 0 : tensor<512xf32>
    %6 = nn.matmul %y, %y transpose_b : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    %7 = nn.matmul %6, %y transpose_b : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    %8 = nn.reduce sum %5 [0] : tensor<16x16xf32> -> tensor<1x16xf32>
    nn.return %8, %7 : tensor<1x16xf32>, tensor<16x16xf32>
  }
}

// -----

// A part of two that lie one after the other is all padding of the second,
// whose rows are then those of any shape.
// CHECK-LABEL: nn.program @partOfTwo
// CHECK-NEXT: nn.kernel rows
// CHECK-NOT: nn.kernel
nn.program @partOfTwo(%a: tensor<12x8xf32>, %b: tensor<12x8xf32>, %c: tensor<12x8xf32>) -> tensor<12x8xf32> {
  %place = nn.iota 1 : tensor<2x2x6x8xi64>
  %one = nn.constant dense<1> : tensor<2x2x6x8xi64>
  %first = nn.compare lt %place, %one : tensor<2x2x6x8xi64> -> tensor<2x2x6x8xi1>
  %0 = nn.reshape %a : tensor<12x8xf32> -> tensor<2x1x6x8xf32>
  %1 = nn.pad %0 [0, 0, 0, 0] value 0.0 : f32 : tensor<2x1x6x8xf32> -> tensor<2x2x6x8xf32>
  %2 = nn.reshape %b : tensor<12x8xf32> -> tensor<2x1x6x8xf32>
  %3 = nn.pad %2 [0, 1, 0, 0] value 0.0 : f32 : tensor<2x1x6x8xf32> -> tensor<2x2x6x8xf32>
  %both = nn.select %first, %1, %3 : tensor<2x2x6x8xi1>, tensor<2x2x6x8xf32>
  %4 = nn.slice %both [0, 0, 0, 0] step [1, 1, 1, 1] : tensor<2x2x6x8xf32> -> tensor<2x1x6x8xf32>
  %5 = nn.reshape %4 : tensor<2x1x6x8xf32> -> tensor<2x6x8xf32>
  %6 = nn.reshape %5 : tensor<2x6x8xf32> -> tensor<12x8xf32>
  %7 = nn.binary add %c, %6 : tensor<12x8xf32>
  nn.return %7 : tensor<12x8xf32>
}
