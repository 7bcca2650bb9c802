// RUN: zerograph-opt %s --split-input-file --verify-diagnostics --zero-verify

// An op takes values from the memory that it computes in, and leaves its results
// there; only transfers cross.

!host = tensor<256xf32, #zero<space host>>
module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  nn.program @taken(%m: !host {zero.state = #zero.state<unit = 0, segment = -1, "param", sharded = false>}) {
    // expected-error @below {{operand 0 lies in memory of the host; expected memory of the device}}
    %0 = nn.convert %m : !host -> tensor<256xf64>
    nn.return
  }
  zero.layout units [#zero.unit<"a", f32, elements = 256, trainable = false, persistent = false, reason = "module", axes = ["data"], segments = [256], states = [<"param", f32, sharded = false, space = host>], placements = [<<"w", module = "", trainable = false, init = normal>, tensor<4xf32>, offset = 0>]>]
}

// -----

!host = tensor<256xf32, #zero<space host>>
module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  nn.program @left(%x: tensor<256xf32>) {
    // expected-error @below {{makes a value in memory of the host; expected memory of the device}}
    %0 = zero.pack %x at [0] unit 0 : tensor<256xf32> -> !host
    nn.return
  }
  zero.layout units []
}

// -----

!file = tensor<256xf32, #zero<space nvme>>
module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  nn.program @fetched(%m: !file) {
    // expected-error @below {{operand 0 lies in the file; expected memory of the host}}
    %0 = zero.fetch %m bytes 1024 reason "r" : !file -> tensor<256xf32>
    nn.return
  }
  zero.layout units []
}

// -----

// A state lies where its unit declares it.

module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  // expected-error @below {{of 'tensor<256xf32>', which unit "a" does not declare}}
  nn.program @undeclared(%m: tensor<256xf32> {zero.state = #zero.state<unit = 0, segment = -1, "param", sharded = false>}) {
    nn.return
  }
  zero.layout units [#zero.unit<"a", f32, elements = 256, trainable = false, persistent = false, reason = "module", axes = ["data"], segments = [256], states = [<"param", f32, sharded = false, space = host>], placements = [<<"w", module = "", trainable = false, init = normal>, tensor<4xf32>, offset = 0>]>]
}
