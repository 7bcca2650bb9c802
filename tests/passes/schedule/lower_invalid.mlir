// RUN: zerograph-opt %s --split-input-file --verify-diagnostics --sched-lower
// Programs that cannot be lowered are refused, one case a message.

// expected-error @below {{argument 0 of @step is no state, input or scalar}}
nn.program @step(%a: tensor<4xf32>) {
  nn.return
}

// -----

// expected-error @below {{result 0 of @step updates no state and is no output; the plan has no place for it}}
nn.program @step(%a: tensor<4xf32> {zero.state = #zero.state<unit = -1, segment = -1, "a", sharded = false>}) -> tensor<4xf32> {
  nn.return %a : tensor<4xf32>
}

// -----

// expected-error @below {{results of @step update}}
nn.program @step(%a: tensor<4xf32> {zero.state = #zero.state<unit = -1, segment = -1, "a", sharded = false>}) -> (tensor<4xf32> {zero.updates = #zero.state<unit = -1, segment = -1, "a", sharded = false>}, tensor<4xf32> {zero.updates = #zero.state<unit = -1, segment = -1, "a", sharded = false>}) {
  nn.return %a, %a : tensor<4xf32>, tensor<4xf32>
}

// -----

nn.program @step(%a: tensor<4xf32> {zero.state = #zero.state<unit = -1, segment = -1, "a", sharded = false>}) -> (tensor<4xf32> {zero.updates = #zero.state<unit = -1, segment = -1, "a", sharded = false>}) {
  // expected-error @below {{is in no kernel; sched has no step for it}}
  %0 = nn.unary neg %a : tensor<4xf32> -> tensor<4xf32>
  nn.return %0 : tensor<4xf32>
}

// -----

nn.program @step(%a: tensor<4xf32> {zero.state = #zero.state<unit = -1, segment = -1, "a", sharded = false>}, %b: tensor<4xf32> {zero.state = #zero.state<unit = -1, segment = -1, "b", sharded = false>}) -> (tensor<4xf32> {zero.updates = #zero.state<unit = -1, segment = -1, "a", sharded = false>}, tensor<4xf32> {zero.updates = #zero.state<unit = -1, segment = -1, "b", sharded = false>}) {
  // expected-error @below {{states exchange their values; what is kept in 'b' would be lost}}
  nn.return %b, %a : tensor<4xf32>, tensor<4xf32>
}

// -----

nn.program @step(%a: tensor<4xf32> {zero.state = #zero.state<unit = -1, segment = -1, "a", sharded = false>}) -> (tensor<4xf32> {zero.updates = #zero.state<unit = -1, segment = -1, "a", sharded = false>}) {
  %0 = nn.constant dense<1.0> : tensor<4xf32>
  // expected-error @below {{result 0 is a constant other than zero}}
  nn.return %0 : tensor<4xf32>
}

// -----

nn.program @step(%a: tensor<4xf32> {zero.state = #zero.state<unit = -1, segment = -1, "a", sharded = false>}) -> (tensor<4xf32> {zero.updates = #zero.state<unit = -1, segment = -1, "a", sharded = false>}) {
  %c = nn.constant dense<1.0> : tensor<4xf32>
  // expected-error @below {{reads a constant that is in no kernel}}
  %0 = nn.kernel rows (%x = %c) : (tensor<4xf32>) -> tensor<4xf32> {
    %1 = nn.unary neg %x : tensor<4xf32> -> tensor<4xf32>
    nn.yield %1 : tensor<4xf32>
  }
  nn.return %0 : tensor<4xf32>
}

// -----

nn.program @step(%a: tensor<4xf32> {zero.state = #zero.state<unit = -1, segment = -1, "a", sharded = false>}) -> (tensor<4xf32> {zero.updates = #zero.state<unit = -1, segment = -1, "a", sharded = false>}) {
  // expected-error @below {{names unit 0, but the zero.layout has 0}}
  %0 = zero.all_gather %a unit 0 group ["data"] reason "r" : tensor<4xf32> -> tensor<4xf32>
  nn.return %0 : tensor<4xf32>
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  zero.layout units [#zero.unit<"fc", f32, elements = 256, trainable = true, persistent = false, reason = "r", axes = ["data"], segments = [256], states = [<"param", f32, sharded = false>], placements = [<<"w", module = "fc", trainable = true, init = normal>, tensor<16x16xf32>, offset = 0>]>]
  nn.program @step(%g: tensor<256xf32> {zero.state = #zero.state<unit = 0, segment = 0, "grad", sharded = true>}) -> (tensor<256xf32> {zero.updates = #zero.state<unit = 0, segment = 0, "param", sharded = true>}) {
    // expected-error @below {{in place would change an argument of the program}}
    %0 = zero.reduce_scatter %g unit 0 segment 0 group ["data"] reason "r" in_place : tensor<256xf32> -> tensor<256xf32>
    nn.return %0 : tensor<256xf32>
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  zero.layout units [#zero.unit<"fc", f32, elements = 256, trainable = true, persistent = false, reason = "r", axes = ["data"], segments = [256], states = [<"param", f32, sharded = false>], placements = [<<"w", module = "fc", trainable = true, init = normal>, tensor<16x16xf32>, offset = 0>]>]
  nn.program @step(%g: tensor<256xf32> {zero.state = #zero.state<unit = 0, segment = 0, "grad", sharded = true>}) -> (tensor<256xf32> {zero.updates = #zero.state<unit = 0, segment = 0, "param", sharded = true>}) {
    %p = zero.pack %g at [0] unit 0 : tensor<256xf32> -> tensor<256xf32>
    // expected-error @below {{in place overwrites what is read later}}
    %0 = zero.reduce_scatter %p unit 0 segment 0 group ["data"] reason "r" in_place : tensor<256xf32> -> tensor<256xf32>
    // expected-note @below {{the read is here}}
    %1 = nn.kernel rows (%a = %p, %b = %0) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32> {
      %2 = nn.binary add %a, %b : tensor<256xf32>
      nn.yield %2 : tensor<256xf32>
    }
    nn.return %1 : tensor<256xf32>
  }
}

// -----

// The same bytes under another shape.
module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  zero.layout units [#zero.unit<"fc", f32, elements = 256, trainable = true, persistent = false, reason = "r", axes = ["data"], segments = [256], states = [<"param", f32, sharded = false>], placements = [<<"w", module = "fc", trainable = true, init = normal>, tensor<16x16xf32>, offset = 0>]>]
  nn.program @step(%g: tensor<256xf32> {zero.state = #zero.state<unit = 0, segment = 0, "grad", sharded = true>}) -> (tensor<256xf32> {zero.updates = #zero.state<unit = 0, segment = 0, "param", sharded = true>}) {
    %p = zero.pack %g at [0] unit 0 : tensor<256xf32> -> tensor<256xf32>
    %s = nn.reshape %p : tensor<256xf32> -> tensor<16x16xf32>
    // expected-error @below {{in place overwrites what is read later}}
    %0 = zero.reduce_scatter %p unit 0 segment 0 group ["data"] reason "r" in_place : tensor<256xf32> -> tensor<256xf32>
    // expected-note @below {{the read is here}}
    %1 = nn.kernel rows (%a = %s, %b = %0) : (tensor<16x16xf32>, tensor<256xf32>) -> tensor<256xf32> {
      %2 = nn.reshape %a : tensor<16x16xf32> -> tensor<256xf32>
      %3 = nn.binary add %2, %b : tensor<256xf32>
      nn.yield %3 : tensor<256xf32>
    }
    nn.return %1 : tensor<256xf32>
  }
}

// -----

// The other way round: what is reduced is the other shape.
module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  zero.layout units [#zero.unit<"fc", f32, elements = 256, trainable = true, persistent = false, reason = "r", axes = ["data"], segments = [256], states = [<"param", f32, sharded = false>], placements = [<<"w", module = "fc", trainable = true, init = normal>, tensor<16x16xf32>, offset = 0>]>]
  nn.program @step(%g: tensor<256xf32> {zero.state = #zero.state<unit = 0, segment = 0, "grad", sharded = true>}) -> (tensor<256xf32> {zero.updates = #zero.state<unit = 0, segment = 0, "param", sharded = true>}) {
    %s = nn.kernel rows (%a = %g) : (tensor<256xf32>) -> tensor<16x16xf32> {
      %5 = nn.reshape %a : tensor<256xf32> -> tensor<16x16xf32>
      %6 = nn.binary add %5, %5 : tensor<16x16xf32>
      nn.yield %6 : tensor<16x16xf32>
    }
    %p = nn.reshape %s : tensor<16x16xf32> -> tensor<256xf32>
    // expected-error @below {{in place overwrites what is read later}}
    %0 = zero.reduce_scatter %p unit 0 segment 0 group ["data"] reason "r" in_place : tensor<256xf32> -> tensor<256xf32>
    // expected-note @below {{the read is here}}
    %1 = nn.kernel rows (%a = %s, %b = %0) : (tensor<16x16xf32>, tensor<256xf32>) -> tensor<256xf32> {
      %2 = nn.reshape %a : tensor<16x16xf32> -> tensor<256xf32>
      %3 = nn.binary add %2, %b : tensor<256xf32>
      nn.yield %3 : tensor<256xf32>
    }
    nn.return %1 : tensor<256xf32>
  }
}
