// RUN: zerograph-opt %s --split-input-file --verify-diagnostics

// One case a message of the verifiers of zero.

module {
  zero.layout units []
  nn.program @step(%a: tensor<256xf32>) {
    // expected-error @below {{names unit 0 of 0}}
    %0 = zero.all_gather %a unit 0 group ["data"] reason "r" : tensor<256xf32> -> tensor<512xf32>
    nn.return
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  zero.layout units [#zero.unit<"fc", f32, elements = 512, trainable = false, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"w", module = "fc", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
  nn.program @step(%a: tensor<128xf32>) {
    // expected-error @below {{has a shard of 128 elements of a segment of 512 over 2 ranks}}
    %0 = zero.all_gather %a unit 0 group ["data"] reason "r" : tensor<128xf32> -> tensor<512xf32>
    nn.return
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  zero.layout units [#zero.unit<"fc", f32, elements = 512, trainable = false, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"w", module = "fc", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
  nn.program @step(%a: tensor<256xf32>) {
    // expected-error @below {{has 2 shards, but unit 'fc' has 1 segments}}
    %0 = zero.all_gather %a, %a unit 0 group ["data"] reason "r" : tensor<256xf32>, tensor<256xf32> -> tensor<512xf32>
    nn.return
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  zero.layout units [#zero.unit<"fc", f32, elements = 512, trainable = false, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"w", module = "fc", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
  nn.program @step(%a: tensor<256xf32>) {
    // expected-error @below {{gives 1024 elements, but unit 'fc' has 512}}
    %0 = zero.all_gather %a unit 0 group ["data"] reason "r" : tensor<256xf32> -> tensor<1024xf32>
    nn.return
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  zero.layout units [#zero.unit<"fc", f32, elements = 512, trainable = false, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"w", module = "fc", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
  nn.program @step(%a: tensor<512xf32>) {
    // expected-error @below {{'zero.shard' op names unit 1 of 1}}
    %0 = zero.shard %a unit 1 segment 0 : tensor<512xf32> -> tensor<256xf32>
    nn.return
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  zero.layout units [#zero.unit<"fc", f32, elements = 512, trainable = false, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"w", module = "fc", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
  nn.program @step(%a: tensor<512xf32>) {
    // expected-error @below {{'zero.shard' op names segment 1 of 1}}
    %0 = zero.shard %a unit 0 segment 1 : tensor<512xf32> -> tensor<256xf32>
    nn.return
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  zero.layout units [#zero.unit<"fc", f32, elements = 512, trainable = false, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"w", module = "fc", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
  nn.program @step(%a: tensor<256xf32>) {
    // expected-error @below {{'zero.shard' op takes 256 elements, but unit 'fc' has 512}}
    %0 = zero.shard %a unit 0 segment 0 : tensor<256xf32> -> tensor<256xf32>
    nn.return
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  zero.layout units [#zero.unit<"fc", f32, elements = 512, trainable = false, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"w", module = "fc", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
  nn.program @step(%a: tensor<512xf32>) {
    // expected-error @below {{'zero.shard' op gives a shard of 128 elements of a segment of 512 over 2 ranks}}
    %0 = zero.shard %a unit 0 segment 0 : tensor<512xf32> -> tensor<128xf32>
    nn.return
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  zero.layout units [#zero.unit<"fc", f32, elements = 512, trainable = false, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"w", module = "fc", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
  nn.program @step(%a: tensor<512xf32>) {
    // expected-error @below {{'zero.shard' op element types differ: 'tensor<512xf32>' and 'tensor<256xf64>'}}
    %0 = zero.shard %a unit 0 segment 0 : tensor<512xf32> -> tensor<256xf64>
    nn.return
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  zero.layout units [#zero.unit<"fc", f32, elements = 512, trainable = false, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"w", module = "fc", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
  nn.program @step(%a: tensor<512xf32>) {
    // expected-error @below {{'zero.reduce_scatter' op names unit -1 of 1}}
    %0 = zero.reduce_scatter %a unit -1 segment 0 group ["data"] reason "r" : tensor<512xf32> -> tensor<256xf32>
    nn.return
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  zero.layout units [#zero.unit<"fc", f32, elements = 512, trainable = false, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"w", module = "fc", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
  nn.program @step(%a: tensor<512xf32>) {
    // expected-error @below {{'zero.reduce_scatter' op names segment 3 of 1}}
    %0 = zero.reduce_scatter %a unit 0 segment 3 group ["data"] reason "r" : tensor<512xf32> -> tensor<256xf32>
    nn.return
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  zero.layout units [#zero.unit<"fc", f32, elements = 512, trainable = false, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"w", module = "fc", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
  nn.program @step(%a: tensor<1024xf32>) {
    // expected-error @below {{'zero.reduce_scatter' op takes 1024 elements, but unit 'fc' has 512}}
    %0 = zero.reduce_scatter %a unit 0 segment 0 group ["data"] reason "r" : tensor<1024xf32> -> tensor<256xf32>
    nn.return
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  zero.layout units [#zero.unit<"fc", f32, elements = 512, trainable = false, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"w", module = "fc", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
  nn.program @step(%a: tensor<512xf32>) {
    // expected-error @below {{'zero.reduce_scatter' op gives a shard of 512 elements of a segment of 512 over 2 ranks}}
    %0 = zero.reduce_scatter %a unit 0 segment 0 group ["data"] reason "r" : tensor<512xf32> -> tensor<512xf32>
    nn.return
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  zero.layout units [#zero.unit<"fc", f32, elements = 512, trainable = false, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"w", module = "fc", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
  nn.program @step(%a: tensor<256xf32>) {
    // expected-error @below {{'zero.prefetch' op gives 1024 elements, but unit 'fc' has 512}}
    %0 = zero.prefetch %a unit 0 group ["data"] reason "r" : tensor<256xf32> -> <tensor<1024xf32>>
    nn.return
  }
}

// -----

nn.program @view(%a: tensor<256xf32>) {
  // expected-error @below {{reads elements 200 to 264 of 256}}
  %0 = zero.view %a[200] : tensor<256xf32> -> tensor<8x8xf32>
  nn.return
}

// -----

nn.program @view(%a: tensor<256xf32>) {
  // expected-error @below {{element types differ}}
  %0 = zero.view %a[0] : tensor<256xf32> -> tensor<8x8xf64>
  nn.return
}

// -----

nn.program @pack(%a: tensor<256xf32>) {
  // expected-error @below {{has 1 operands but 2 offsets}}
  %0 = zero.pack %a at [0, 256] unit 0 : tensor<256xf32> -> tensor<512xf32>
  nn.return
}

// -----

nn.program @pack(%a: tensor<256xf32>) {
  // expected-error @below {{operand at 128 overlaps the one that ends at 256}}
  %0 = zero.pack %a, %a at [0, 128] unit 0 : tensor<256xf32>, tensor<256xf32> -> tensor<512xf32>
  nn.return
}

// -----

nn.program @pack(%a: tensor<256xf32>) {
  // expected-error @below {{needs 556 elements, but the result has 512}}
  %0 = zero.pack %a at [300] unit 0 : tensor<256xf32> -> tensor<512xf32>
  nn.return
}

// -----

nn.program @await(%h: !zero.handle<tensor<512xf32>>) {
  // expected-error @below {{gives 'tensor<512xf32>', not 'tensor<256xf32>'}}
  %0 = zero.await %h : <tensor<512xf32>> -> tensor<256xf32>
  nn.return
}

// -----

nn.program @release(%a: tensor<256xf32>) -> tensor<256xf32> {
  // expected-error @below {{comes before a use of the buffer}}
  zero.release %a unit 0 : tensor<256xf32>
  // expected-note @below {{the use is here}}
  %0 = nn.binary add %a, %a : tensor<256xf32>
  nn.return %0 : tensor<256xf32>
}

// -----

nn.program @reduce(%a: tensor<512xbf16>) {
  // expected-error @below {{element types differ: 'tensor<512xbf16>' and 'tensor<256xf32>'}}
  %0 = zero.reduce_scatter %a unit 0 segment 0 group ["data"] reason "r" in_place : tensor<512xbf16> -> tensor<256xf32>
  nn.return
}

// -----

nn.program @reduce(%a: tensor<512xf32>) {
  // expected-error @below {{element types differ: 'tensor<512xf32>' and 'tensor<256xbf16>'}}
  %0 = zero.reduce_scatter %a unit 0 segment 0 group ["data"] reason "r" : tensor<512xf32> -> tensor<256xbf16>
  nn.return
}

// -----

nn.program @reduce(%a: tensor<512xf32>, %b: tensor<256xf32>) {
  // expected-error @below {{in place has no accumulator}}
  %0 = zero.reduce_scatter %a, %b unit 0 segment 0 group ["data"] reason "r" in_place : tensor<512xf32>, tensor<256xf32> -> tensor<256xf32>
  nn.return
}

// -----

nn.program @reduce(%a: tensor<512xf32>, %b: tensor<128xf32>) {
  // expected-error @below {{accumulates 'tensor<128xf32>' into 'tensor<256xf32>'}}
  %0 = zero.reduce_scatter %a, %b unit 0 segment 0 group ["data"] reason "r" : tensor<512xf32>, tensor<128xf32> -> tensor<256xf32>
  nn.return
}

// -----

nn.program @reduce(%a: tensor<512xf32>) {
  // expected-error @below {{needs one type for operand, accumulator and result}}
  %0 = zero.all_reduce %a group ["data"] reason "r" : tensor<512xf32> -> tensor<256xf32>
  nn.return
}

// -----

// expected-error @below {{a mesh needs an axis}}
module attributes {zero.mesh = #zero.mesh<[]>} {
}

// -----

// expected-error @below {{axis "data" of the mesh has 0 ranks; expected at least one}}
module attributes {zero.mesh = #zero.mesh<["data" = 0]>} {
}

// -----

// expected-error @below {{axis "data" of the mesh is there twice}}
module attributes {zero.mesh = #zero.mesh<["data" = 2, "data" = 2]>} {
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2, "tensor" = 2]>} {
  zero.layout units [#zero.unit<"fc", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"w", module = "fc", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
  nn.program @gather(%a: tensor<256xf32>) {
    // expected-error @below {{goes over axes ["tensor"], but unit 'fc' is spread over ["data"]}}
    %0 = zero.all_gather %a unit 0 group ["tensor"] reason "r" : tensor<256xf32> -> tensor<512xf32>
    nn.return
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  zero.layout units [#zero.unit<"fc", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["inner"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"w", module = "fc", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
  nn.program @shard(%a: tensor<512xf32>) {
    // expected-error @below {{is about unit 'fc', spread over ["inner"], which is not in the mesh #zero.mesh<["data" = 2]>}}
    %0 = zero.shard %a unit 0 segment 0 : tensor<512xf32> -> tensor<256xf32>
    nn.return
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  nn.program @reduce(%a: tensor<1xf32>) {
    // expected-error @below {{goes over axes ["data", "tensor"], not all of them in the mesh #zero.mesh<["data" = 2]>}}
    %0 = zero.all_reduce %a group ["data", "tensor"] reason "r" : tensor<1xf32> -> tensor<1xf32>
    nn.return
  }
}

// -----

nn.program @offload(%g: tensor<256xf32>) {
  // expected-error @below {{says that it moves 512 bytes; its operand has 1024}}
  %0 = zero.offload %g bytes 512 reason "r" : tensor<256xf32> -> tensor<256xf32>
  nn.return
}

// -----

module {
  nn.program @fetch(%p: tensor<256xf32>) {
    // expected-error @below {{names unit 1 of 0}}
    %0 = zero.fetch %p unit 1 bytes 1024 reason "r" : tensor<256xf32> -> tensor<256xf32>
    nn.return
  }
  zero.layout units []
}
