// RUN: zerograph-opt %s --pass-pipeline='builtin.module(nn.program(nn-pad-rows{alignment=16},nn-verify-kernels))' | FileCheck %s
// RUN: zerograph-opt %s --pass-pipeline='builtin.module(nn.program(nn-pad-rows))' | FileCheck %s --check-prefix=PLAIN

// A target that asks for nothing leaves all as it is.
// PLAIN-NOT: row_stride

// Logits, and their gradient, which a kernel makes: rows of 1,000 bytes begin
// at lines of 128.
// CHECK-LABEL: nn.program @head
// CHECK: %[[Y:.*]] = nn.matmul %x, %w transpose_b : tensor<6x64xf32>, tensor<250x64xf32> -> tensor<6x250xf32, #nn.row_stride<256>>
// CHECK: %[[G:.*]] = nn.kernel rows (%{{.*}} = %[[Y]]) : (tensor<6x250xf32, #nn.row_stride<256>>) -> tensor<6x250xf32, #nn.row_stride<256>>
// CHECK-NEXT: nn.unary exp %{{.*}} : tensor<6x250xf32>
// CHECK: nn.matmul %[[G]], %x transpose_a : tensor<6x250xf32, #nn.row_stride<256>>, tensor<6x64xf32> -> tensor<250x64xf32>
nn.program @head(%x: tensor<6x64xf32>, %w: tensor<250x64xf32>) -> tensor<250x64xf32> {
  %y = nn.matmul %x, %w transpose_b : tensor<6x64xf32>, tensor<250x64xf32> -> tensor<6x250xf32>
  %g = nn.kernel rows (%a = %y) : (tensor<6x250xf32>) -> tensor<6x250xf32> {
    %0 = nn.unary exp %a : tensor<6x250xf32> -> tensor<6x250xf32>
    nn.yield %0 : tensor<6x250xf32>
  }
  %d = nn.matmul %g, %x transpose_a : tensor<6x250xf32>, tensor<6x64xf32> -> tensor<250x64xf32>
  nn.return %d : tensor<250x64xf32>
}

// Another name for the same rows is padded with them; rows of another length
// keep the buffer dense.
// CHECK-LABEL: nn.program @names
// CHECK: nn.reshape {{.*}} : tensor<6x250xf32, #nn.row_stride<256>> -> tensor<2x3x250xf32, #nn.row_stride<256>>
// CHECK: nn.matmul {{.*}} -> tensor<6x250xf32>
// CHECK: nn.reshape {{.*}} : tensor<6x250xf32> -> tensor<3x500xf32>
nn.program @names(%x: tensor<6x64xf32>, %w: tensor<250x64xf32>) -> (tensor<2x3x1xf32>, tensor<3x1xf32>) {
  %y = nn.matmul %x, %w transpose_b : tensor<6x64xf32>, tensor<250x64xf32> -> tensor<6x250xf32>
  %z = nn.reshape %y : tensor<6x250xf32> -> tensor<2x3x250xf32>
  %g = nn.kernel rows (%a = %z) : (tensor<2x3x250xf32>) -> tensor<2x3x1xf32> {
    %0 = nn.reduce sum %a [2] : tensor<2x3x250xf32> -> tensor<2x3x1xf32>
    nn.yield %0 : tensor<2x3x1xf32>
  }
  %x2 = nn.kernel rows (%a = %x) : (tensor<6x64xf32>) -> tensor<6x64xf32> {
    %0 = nn.unary exp %a : tensor<6x64xf32> -> tensor<6x64xf32>
    nn.yield %0 : tensor<6x64xf32>
  }
  %y2 = nn.matmul %x2, %w transpose_b : tensor<6x64xf32>, tensor<250x64xf32> -> tensor<6x250xf32>
  %z2 = nn.reshape %y2 : tensor<6x250xf32> -> tensor<3x500xf32>
  %g2 = nn.kernel rows (%a = %z2) : (tensor<3x500xf32>) -> tensor<3x1xf32> {
    %0 = nn.reduce sum %a [1] : tensor<3x500xf32> -> tensor<3x1xf32>
    nn.yield %0 : tensor<3x1xf32>
  }
  nn.return %g, %g2 : tensor<2x3x1xf32>, tensor<3x1xf32>
}

// Rows of 180 bytes begin at multiples of 16; of 40 they stay, as 48 would be
// a fifth more; of 192 they are aligned already.
// CHECK-LABEL: nn.program @sizes
// CHECK: nn.matmul {{.*}} -> tensor<4x45xf32, #nn.row_stride<48>>
// CHECK: nn.matmul {{.*}} -> tensor<4x10xf32>
// CHECK: nn.matmul {{.*}} -> tensor<4x48xf32>
nn.program @sizes(%x: tensor<4x8xf32>, %a: tensor<8x45xf32>, %b: tensor<8x10xf32>, %c: tensor<8x48xf32>) -> (tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>) {
  %0 = nn.matmul %x, %a : tensor<4x8xf32>, tensor<8x45xf32> -> tensor<4x45xf32>
  %1 = nn.matmul %x, %b : tensor<4x8xf32>, tensor<8x10xf32> -> tensor<4x10xf32>
  %2 = nn.matmul %x, %c : tensor<4x8xf32>, tensor<8x48xf32> -> tensor<4x48xf32>
  %s0 = nn.kernel rows (%v = %0) : (tensor<4x45xf32>) -> tensor<4x1xf32> {
    %s = nn.reduce sum %v [1] : tensor<4x45xf32> -> tensor<4x1xf32>
    nn.yield %s : tensor<4x1xf32>
  }
  %s1 = nn.kernel rows (%v = %1) : (tensor<4x10xf32>) -> tensor<4x1xf32> {
    %s = nn.reduce sum %v [1] : tensor<4x10xf32> -> tensor<4x1xf32>
    nn.yield %s : tensor<4x1xf32>
  }
  %s2 = nn.kernel rows (%v = %2) : (tensor<4x48xf32>) -> tensor<4x1xf32> {
    %s = nn.reduce sum %v [1] : tensor<4x48xf32> -> tensor<4x1xf32>
    nn.yield %s : tensor<4x1xf32>
  }
  nn.return %s0, %s1, %s2 : tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>
}

// Arguments and results of a program stay dense, and so does what a kernel
// reads or makes by rows of another length, or by a form that knows no rows.
// CHECK-LABEL: nn.program @dense
// CHECK-NOT: row_stride
// CHECK: nn.return
nn.program @dense(%x: tensor<6x250xf32>, %w: tensor<250x250xf32>, %r: tensor<1500xf32>) -> (tensor<6x250xf32>, tensor<1500xf32>, tensor<6x250xf32>) {
  %0 = nn.matmul %x, %w : tensor<6x250xf32>, tensor<250x250xf32> -> tensor<6x250xf32>
  %1 = nn.matmul %x, %w transpose_b : tensor<6x250xf32>, tensor<250x250xf32> -> tensor<6x250xf32>
  %2 = nn.kernel rows (%a = %1, %b = %r) : (tensor<6x250xf32>, tensor<1500xf32>) -> tensor<1500xf32> {
    %3 = nn.reshape %a : tensor<6x250xf32> -> tensor<1500xf32>
    %4 = nn.binary add %3, %b : tensor<1500xf32>
    nn.yield %4 : tensor<1500xf32>
  }
  %5:2 = nn.kernel rows (%a = %r) : (tensor<1500xf32>) -> (tensor<1500xf32>, tensor<6x250xf32>) {
    %6 = nn.unary exp %a : tensor<1500xf32> -> tensor<1500xf32>
    %7 = nn.reshape %a : tensor<1500xf32> -> tensor<6x250xf32>
    nn.yield %6, %7 : tensor<1500xf32>, tensor<6x250xf32>
  }
  %8 = nn.matmul %5#1, %w : tensor<6x250xf32>, tensor<250x250xf32> -> tensor<6x250xf32>
  %9 = nn.kernel scan (%a = %8) : (tensor<6x250xf32>) -> tensor<6x250xf32> {
    %10 = nn.cumsum %a dim 1 : tensor<6x250xf32>
    nn.yield %10 : tensor<6x250xf32>
  }
  nn.return %0, %2, %9 : tensor<6x250xf32>, tensor<1500xf32>, tensor<6x250xf32>
}
