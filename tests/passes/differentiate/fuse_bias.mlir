// RUN: zerograph-opt %s --split-input-file --nn-fuse-bias --canonicalize | FileCheck %s

// A parameter that every row has, wherever it is made.

// CHECK-LABEL: nn.program @linear
// CHECK: %[[Y:.+]] = nn.matmul %{{.+}}, %{{.+}} bias %{{.+}} : tensor<6xf32> : tensor<4x8xf32>, tensor<8x6xf32> -> tensor<4x6xf32>
// CHECK-NEXT: nn.unary exp %[[Y]]
// CHECK-NOT: nn.binary
nn.program @linear(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>,
                   %b: tensor<6xf32> {nn.parameter = #nn.parameter<"b", module = "", trainable = true, init = zeros>}) -> tensor<4x6xf32> {
  %0 = nn.matmul %x, %w : tensor<4x8xf32>, tensor<8x6xf32> -> tensor<4x6xf32>
  %1 = nn.reshape %b : tensor<6xf32> -> tensor<1x6xf32>
  %2 = nn.broadcast %1 : tensor<1x6xf32> -> tensor<4x6xf32>
  %3 = nn.binary add %2, %0 : tensor<4x6xf32>
  %4 = nn.unary exp %3 : tensor<4x6xf32> -> tensor<4x6xf32>
  nn.return %4 : tensor<4x6xf32>
}

// -----

// A product of 16 bits rounds the sum, and nothing is rounded after it.

// CHECK-LABEL: nn.program @half
// CHECK: %[[B:.+]] = nn.convert %b : tensor<6xf32> -> tensor<6xbf16>
// CHECK: %[[Y:.+]] = nn.matmul %{{.+}}, %{{.+}} bias %[[B]] : tensor<6xbf16>
// CHECK-NEXT: nn.reshape %[[Y]] : tensor<4x6xbf16> -> tensor<4x3x2xbf16>
// CHECK-NEXT: nn.return
nn.program @half(%x: tensor<4x8xbf16>, %w: tensor<8x6xbf16>,
                 %b: tensor<6xf32> {nn.parameter = #nn.parameter<"b", module = "", trainable = true, init = zeros>}) -> tensor<4x3x2xbf16> {
  %0 = nn.matmul %x, %w : tensor<4x8xbf16>, tensor<8x6xbf16> -> tensor<4x6xbf16>
  %1 = nn.convert %0 : tensor<4x6xbf16> -> tensor<4x6xf32>
  %2 = nn.reshape %1 : tensor<4x6xf32> -> tensor<2x2x6xf32>
  %3 = nn.convert %b : tensor<6xf32> -> tensor<6xbf16>
  %4 = nn.reshape %3 : tensor<6xbf16> -> tensor<1x1x6xbf16>
  %5 = nn.broadcast %4 : tensor<1x1x6xbf16> -> tensor<2x2x6xbf16>
  %6 = nn.convert %5 : tensor<2x2x6xbf16> -> tensor<2x2x6xf32>
  %7 = nn.binary add %2, %6 : tensor<2x2x6xf32>
  %8 = nn.reshape %7 : tensor<2x2x6xf32> -> tensor<4x3x2xf32>
  %9 = nn.convert %8 : tensor<4x3x2xf32> -> tensor<4x3x2xbf16>
  nn.return %9 : tensor<4x3x2xbf16>
}

// -----

// Not where something else reads the product, of other numbers in each row, of
// what is no parameter, or of f32 that is added to 16 bits.

// CHECK-LABEL: nn.program @others
// CHECK-NOT: bias
nn.program @others(%x: tensor<6x8xf32>, %w: tensor<8x6xf32>, %h: tensor<6x8xbf16>, %v: tensor<8x6xbf16>,
                   %b: tensor<6xf32> {nn.parameter = #nn.parameter<"b", module = "", trainable = true, init = zeros>},
                   %data: tensor<6xf32>) -> (tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>) {
  %row = nn.reshape %b : tensor<6xf32> -> tensor<1x6xf32>
  %rows = nn.broadcast %row : tensor<1x6xf32> -> tensor<6x6xf32>
  %0 = nn.matmul %x, %w : tensor<6x8xf32>, tensor<8x6xf32> -> tensor<6x6xf32>
  %1 = nn.binary add %0, %rows : tensor<6x6xf32>
  %2 = nn.unary exp %x : tensor<6x8xf32> -> tensor<6x8xf32>
  %3 = nn.matmul %2, %w : tensor<6x8xf32>, tensor<8x6xf32> -> tensor<6x6xf32>
  %column = nn.reshape %b : tensor<6xf32> -> tensor<6x1xf32>
  %columns = nn.broadcast %column : tensor<6x1xf32> -> tensor<6x6xf32>
  %4 = nn.binary add %3, %columns : tensor<6x6xf32>
  %5 = nn.unary neg %x : tensor<6x8xf32> -> tensor<6x8xf32>
  %6 = nn.matmul %5, %w : tensor<6x8xf32>, tensor<8x6xf32> -> tensor<6x6xf32>
  %given = nn.reshape %data : tensor<6xf32> -> tensor<1x6xf32>
  %gives = nn.broadcast %given : tensor<1x6xf32> -> tensor<6x6xf32>
  %7 = nn.binary add %6, %gives : tensor<6x6xf32>
  %8 = nn.matmul %h, %v : tensor<6x8xbf16>, tensor<8x6xbf16> -> tensor<6x6xbf16>
  %9 = nn.convert %8 : tensor<6x6xbf16> -> tensor<6x6xf32>
  %10 = nn.binary add %9, %rows : tensor<6x6xf32>
  nn.return %0, %1, %4, %7, %10 : tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>
}

// -----

// The bias may be made after the product; a product has one.

// CHECK-LABEL: nn.program @two
// CHECK: %[[B:.+]] = nn.convert %b : tensor<6xf32> -> tensor<6xbf16>
// CHECK: %[[Y:.+]] = nn.matmul %{{.+}}, %{{.+}} bias %[[B]] : tensor<6xbf16>
// CHECK: %[[WIDE:.+]] = nn.convert %[[Y]]
// CHECK: nn.binary add %[[WIDE]], %{{.+}} : tensor<4x6xf32>
nn.program @two(%x: tensor<4x8xbf16>, %w: tensor<8x6xbf16>,
                %b: tensor<6xf32> {nn.parameter = #nn.parameter<"b", module = "", trainable = true, init = zeros>}) -> tensor<4x6xf32> {
  %0 = nn.matmul %x, %w : tensor<4x8xbf16>, tensor<8x6xbf16> -> tensor<4x6xbf16>
  %1 = nn.convert %0 : tensor<4x6xbf16> -> tensor<4x6xf32>
  %2 = nn.convert %b : tensor<6xf32> -> tensor<6xbf16>
  %3 = nn.reshape %2 : tensor<6xbf16> -> tensor<1x6xbf16>
  %4 = nn.broadcast %3 : tensor<1x6xbf16> -> tensor<4x6xbf16>
  %5 = nn.convert %4 : tensor<4x6xbf16> -> tensor<4x6xf32>
  %6 = nn.binary add %1, %5 : tensor<4x6xf32>
  %7 = nn.binary add %6, %5 : tensor<4x6xf32>
  nn.return %7 : tensor<4x6xf32>
}
