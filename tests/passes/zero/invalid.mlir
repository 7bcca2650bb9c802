// RUN: zerograph-opt %s --split-input-file --verify-diagnostics --zero-verify
// One case a message of the phase's verify pass; those of the ops' verifiers are
// in tests/passes/ir/zero.

// expected-error @below {{segment 0 of unit "fc" is reduced 0 times, not once}}
// expected-error @below {{parameters of unit "fc" are updated 0 times for 1 segments}}
module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  zero.layout units [#zero.unit<"fc", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>, <"grad", f32, sharded = true>], placements = [<<"w", module = "fc", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
}

// -----

// expected-error @below {{parameters of unit "buffers" are updated 0 times for 1 segments}}
module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  zero.layout units [#zero.unit<"buffers", f32, elements = 512, trainable = false, persistent = false, reason = "made anew", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"s", module = "bn", trainable = false, init = zeros>, tensor<4xf32>, offset = 0>], local = true>]
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  zero.layout units [#zero.unit<"buffers", f32, elements = 512, trainable = false, persistent = false, reason = "made anew", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"s", module = "bn", trainable = false, init = zeros>, tensor<4xf32>, offset = 0>], local = true>]
  nn.program @micro(%s: tensor<512xf32> {zero.state = #zero.state<unit = 0, segment = -1, "param", sharded = false>}, %p: tensor<256xf32>)
      -> (tensor<512xf32> {zero.updates = #zero.state<unit = 0, segment = -1, "param", sharded = false>}) {
    // expected-error @below {{moves unit 0, which is each rank's own}}
    %0 = zero.all_gather %p unit 0 group ["data"] reason "r" : tensor<256xf32> -> tensor<512xf32>
    nn.return %0 : tensor<512xf32>
  }
}

// -----

// expected-error @below {{has no zero.layout}}
module {
}

// -----

module {
  zero.layout units []
  // expected-error @below {{still has parameter "w" as an argument}}
  nn.program @step(%w: tensor<4xf32> {nn.parameter = #nn.parameter<"w", module = "", trainable = true, init = normal>}) {
    nn.return
  }
}

// -----

// A sum that is reduced in every micro-batch is added up.

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  zero.layout units [#zero.unit<"fc", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>, <"grad", f32, sharded = true>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
  nn.program @micro(%g: tensor<512xf32>) -> (tensor<256xf32> {zero.updates = #zero.state<unit = 0, segment = 0, "grad", sharded = true>}) {
    // expected-error @below {{of every micro-batch does not add to a sum that is carried}}
    %0 = zero.reduce_scatter %g unit 0 segment 0 group ["data"] reason "r" : tensor<512xf32> -> tensor<256xf32>
    nn.return %0 : tensor<256xf32>
  }
  nn.program @update(%p: tensor<512xf32> {zero.state = #zero.state<unit = 0, segment = -1, "param", sharded = false>})
      -> (tensor<512xf32> {zero.updates = #zero.state<unit = 0, segment = -1, "param", sharded = false>}) {
    nn.return %p : tensor<512xf32>
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  zero.layout units [#zero.unit<"fc", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>, <"grad", f32, sharded = true>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
  nn.program @micro(%g: tensor<512xf32>, %sum: tensor<256xf32> {zero.state = #zero.state<unit = 0, segment = 0, "grad", sharded = true>}) -> (tensor<256xf32> {zero.updates = #zero.state<unit = 0, segment = 0, "grad", sharded = true>}) {
    // expected-error @below {{makes a sum of gradients of unit "fc" that @update does not read}}
    %0 = zero.reduce_scatter %g, %sum unit 0 segment 0 group ["data"] reason "r" : tensor<512xf32>, tensor<256xf32> -> tensor<256xf32>
    nn.return %0 : tensor<256xf32>
  }
  nn.program @update(%p: tensor<512xf32> {zero.state = #zero.state<unit = 0, segment = -1, "param", sharded = false>})
      -> (tensor<512xf32> {zero.updates = #zero.state<unit = 0, segment = -1, "param", sharded = false>}) {
    nn.return %p : tensor<512xf32>
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  zero.layout units [#zero.unit<"fc", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>, <"grad", f32, sharded = true>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
  nn.program @micro(%g: tensor<512xf32>, %sum: tensor<256xf32> {zero.state = #zero.state<unit = 0, segment = 0, "grad", sharded = true>}) -> (tensor<256xf32> {zero.updates = #zero.state<unit = 0, segment = 0, "grad", sharded = true>}) {
    // expected-error @below {{makes a sum of gradients of unit "fc" that @update does not leave zero}}
    %0 = zero.reduce_scatter %g, %sum unit 0 segment 0 group ["data"] reason "r" : tensor<512xf32>, tensor<256xf32> -> tensor<256xf32>
    nn.return %0 : tensor<256xf32>
  }
  nn.program @update(%p: tensor<512xf32> {zero.state = #zero.state<unit = 0, segment = -1, "param", sharded = false>}, %sum: tensor<256xf32> {zero.state = #zero.state<unit = 0, segment = 0, "grad", sharded = true>})
      -> (tensor<512xf32> {zero.updates = #zero.state<unit = 0, segment = -1, "param", sharded = false>}) {
    %0 = nn.unary neg %sum : tensor<256xf32> -> tensor<256xf32>
    nn.return %p : tensor<512xf32>
  }
}

// -----

// One rank packs its gradients and moves nothing.

// expected-error @below {{gradients of unit "fc" are packed 0 times, not once}}
module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  zero.layout units [#zero.unit<"fc", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>, <"grad", f32, sharded = true>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
  nn.program @step(%p: tensor<512xf32> {zero.state = #zero.state<unit = 0, segment = -1, "param", sharded = false>})
      -> (tensor<512xf32> {zero.updates = #zero.state<unit = 0, segment = -1, "param", sharded = false>}) {
    // expected-error @below {{is a collective, and there is one rank; run zero-one-rank}}
    %0 = zero.all_gather %p unit 0 group ["data"] reason "r" : tensor<512xf32> -> tensor<512xf32>
    nn.return %0 : tensor<512xf32>
  }
}

// -----

// States are what their units declare: how they are held, and of what type.

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  zero.layout units [#zero.unit<"fc", f32, elements = 512, trainable = false, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = true>], placements = [<<"w", module = "", trainable = false, init = normal>, tensor<4xf32>, offset = 0>]>]
  // expected-error @below {{has #zero.state<unit = 0, segment = -1, "param", sharded = false> of 'tensor<512xf32>', which unit "fc" does not declare}}
  nn.program @step(%p: tensor<512xf32> {zero.state = #zero.state<unit = 0, segment = -1, "param", sharded = false>}) {
    nn.return
  }
  // expected-error @below {{has #zero.state<unit = 0, segment = 0, "param", sharded = true> of 'tensor<256xf64>', which unit "fc" does not declare}}
  nn.program @other(%p: tensor<256xf64> {zero.state = #zero.state<unit = 0, segment = 0, "param", sharded = true>}) {
    nn.return
  }
  // expected-error @below {{has a state of unit 1 of 1}}
  nn.program @third(%p: tensor<256xf32> {zero.state = #zero.state<unit = 1, segment = 0, "param", sharded = true>}) {
    nn.return
  }
}
