// RUN: zerograph-opt %s --split-input-file --verify-diagnostics --zero-verify

// A value that is computed on one side takes no memory of the other, and is not
// kept there.

module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  nn.program @mixed(%m: tensor<256xf32> {zero.state = #zero.state<unit = 0, segment = -1, "param", sharded = false>}, %x: tensor<256xf32>) {
    // expected-error @below {{operand 1 lies in memory of the device, and another side takes it; run zero-offload}}
    %0 = nn.binary add %m, %x : tensor<256xf32>
    nn.return
  }
  zero.layout units [#zero.unit<"a", f32, elements = 256, trainable = false, persistent = false, reason = "module", axes = ["data"], segments = [256], states = [<"param", f32, sharded = false, space = host>], placements = [<<"w", module = "", trainable = false, init = normal>, tensor<4xf32>, offset = 0>]>]
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  nn.program @kept(%m: tensor<256xf32> {zero.state = #zero.state<unit = 0, segment = -1, "param", sharded = false>}, %x: tensor<256xf32>)
      -> (tensor<256xf32> {zero.updates = #zero.state<unit = 0, segment = -1, "param", sharded = false>}) {
    %0 = nn.unary neg %x : tensor<256xf32> -> tensor<256xf32>
    // expected-error @below {{operand 0 lies in memory of the device, and another side takes it; run zero-offload}}
    nn.return %0 : tensor<256xf32>
  }
  zero.layout units [#zero.unit<"a", f32, elements = 256, trainable = false, persistent = false, reason = "module", axes = ["data"], segments = [256], states = [<"param", f32, sharded = false, space = host>], placements = [<<"w", module = "", trainable = false, init = normal>, tensor<4xf32>, offset = 0>]>]
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  nn.program @unread(%m: tensor<256xf32> {zero.state = #zero.state<unit = 0, segment = -1, "param", sharded = false>}) {
    // expected-error @below {{operand 0 lies in the file, and another side takes it; run zero-file-states}}
    %0 = nn.unary neg %m : tensor<256xf32> -> tensor<256xf32>
    nn.return
  }
  zero.layout units [#zero.unit<"a", f32, elements = 256, trainable = false, persistent = false, reason = "module", axes = ["data"], segments = [256], states = [<"param", f32, sharded = false, space = nvme>], placements = [<<"w", module = "", trainable = false, init = normal>, tensor<4xf32>, offset = 0>]>]
}
