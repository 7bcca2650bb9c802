// RUN: zerograph-opt %s | FileCheck %s --strict-whitespace --match-full-lines
// RUN: zerograph-opt %s | zerograph-opt | FileCheck %s --strict-whitespace --match-full-lines

// The meaning of arguments and results may stand in the signature, and is
// printed after the body, an entry a line. A long signature is broken.

//      CHECK:  nn.program @forward(%x: tensor<4x8xf32>, %plain: tensor<4x8xf32>) {
// CHECK-NEXT:    nn.return %x : tensor<4x8xf32>
// CHECK-NEXT:  } where (
// CHECK-NEXT:    %x {nn.input = #nn.input<"x", per_sample = true>}
// CHECK-NEXT:  ) -> (
// CHECK-NEXT:    tensor<4x8xf32> {nn.output = "y"}
// CHECK-NEXT:  )
nn.program @forward(%x: tensor<4x8xf32> {nn.input = #nn.input<"x", per_sample = true>}, %plain: tensor<4x8xf32>)
    -> (tensor<4x8xf32> {nn.output = "y"}) {
  nn.return %x : tensor<4x8xf32>
}

// CHECK-NEXT:  nn.program @plain(%a: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:    nn.return %a : tensor<4xf32>
// CHECK-NEXT:  }
nn.program @plain(%a: tensor<4xf32>) -> tensor<4xf32> {
  nn.return %a : tensor<4xf32>
}

// CHECK-NEXT:  nn.program @long(%transformer.h.0.shard: tensor<99584xf32>,
// CHECK-NEXT:      %transformer.h.1.shard: tensor<99584xf32>, %transformer.h.2.shard: tensor<99584xf32>) {
// CHECK-NEXT:    nn.return
// CHECK-NEXT:  } where (
// CHECK-NEXT:    %transformer.h.1.shard {nn.scalar = #nn.scalar<"s">}
// CHECK-NEXT:  )
nn.program @long(%transformer.h.0.shard: tensor<99584xf32>, %transformer.h.1.shard: tensor<99584xf32>, %transformer.h.2.shard: tensor<99584xf32>) {
  nn.return
} where (
  %transformer.h.1.shard {nn.scalar = #nn.scalar<"s">}
)
