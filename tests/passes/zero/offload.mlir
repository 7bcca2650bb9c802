// RUN: zerograph-opt %s --split-input-file --zero-offload --zero-verify | FileCheck %s

// The host computes what is made of its memory, and what is made for that
// alone: the mean gradient. Scalars go down at the beginning, a gradient as
// soon as it is reduced. Only what the device keeps comes up again.

// CHECK-LABEL: nn.program @step
// CHECK: %[[RATE:.+]] = zero.offload %lr bytes 4 reason "for updates on the host"
// CHECK-NEXT: %[[G:.+]] = zero.reduce_scatter %{{.+}} unit 0 segment 0
// CHECK-NEXT: %[[DOWN:.+]] = zero.offload %[[G]] unit 0 segment 0 bytes 1024 reason "gradients of a, for the update on the host"
// CHECK-NEXT: nn.unary neg %x
// CHECK-NEXT: %[[MEAN:.+]] = nn.unary neg %[[DOWN]]
// CHECK-NEXT: nn.broadcast %[[RATE]]
// CHECK-NEXT: %[[STEP:.+]] = nn.binary mul %[[MEAN]]
// CHECK-NEXT: %[[NEW:.+]] = nn.binary add %a.master, %[[STEP]]
// CHECK-NEXT: %[[UP:.+]] = zero.fetch %[[NEW]] unit 0 segment 0 bytes 1024 reason "updated parameters of a"
// CHECK-NEXT: %[[WHOLE:.+]] = zero.all_gather %[[UP]] unit 0
// CHECK-NEXT: nn.return %[[NEW]], %[[WHOLE]]
#p = #zero.state<unit = 0, segment = -1, "param", sharded = false>
#m = #zero.state<unit = 0, segment = 0, "master", sharded = true>
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 1 : i64, zero.accumulate = 1 : i64} {
  nn.program @step(%a.master: tensor<256xf32> {zero.state = #m}, %a: tensor<512xf32> {zero.state = #p},
                   %g: tensor<512xf32> {nn.input = #nn.input<"g", per_sample = true>},
                   %x: tensor<4xf32> {nn.input = #nn.input<"x", per_sample = true>},
                   %lr: tensor<1xf32> {nn.scalar = #nn.scalar<"lr">})
      -> (tensor<256xf32> {zero.updates = #m}, tensor<512xf32> {zero.updates = #p}) {
    %0 = zero.reduce_scatter %g unit 0 segment 0 group ["data"] reason "r" : tensor<512xf32> -> tensor<256xf32>
    %used = nn.unary neg %x : tensor<4xf32> -> tensor<4xf32>
    %1 = nn.unary neg %0 : tensor<256xf32> -> tensor<256xf32>
    %2 = nn.broadcast %lr : tensor<1xf32> -> tensor<256xf32>
    %3 = nn.binary mul %1, %2 : tensor<256xf32>
    %4 = nn.binary add %a.master, %3 : tensor<256xf32>
    %5 = zero.all_gather %4 unit 0 group ["data"] reason "updated parameters of a" in_place : tensor<256xf32> -> tensor<512xf32>
    nn.return %4, %5 : tensor<256xf32>, tensor<512xf32>
  }
  zero.layout units [
    #zero.unit<"a", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>, <"grad", f32, sharded = true>, <"master", f32, sharded = true, space = pinned>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
}

// -----

// A shard that the host keeps is brought for each gather, and a sum that is
// carried goes down in front of its update. What the device makes of the same
// gradient, it makes of its own.

// CHECK-LABEL: nn.program @evaluate
// CHECK-NEXT: %[[ONE:.+]] = zero.fetch %a unit 0 segment 0 bytes 1024 reason "forward of a"
// CHECK-NEXT: zero.all_gather %[[ONE]] unit 0
// CHECK-NEXT: %[[TWO:.+]] = zero.fetch %a unit 0 segment 0 bytes 1024 reason "backward of a"
// CHECK-NEXT: zero.all_gather %[[TWO]] unit 0
// CHECK-LABEL: nn.program @update
// CHECK-NEXT: %[[NORM:.+]] = nn.sum_squares %a.grad
// CHECK-NEXT: %[[DOWN:.+]] = zero.offload %a.grad unit 0 segment 0 bytes 1024
// CHECK-NEXT: %[[NEW:.+]] = nn.binary sub %a, %[[DOWN]]
// CHECK: nn.return %[[NEW]], %{{.+}}, %[[NORM]]
#s = #zero.state<unit = 0, segment = 0, "param", sharded = true>
#g = #zero.state<unit = 0, segment = 0, "grad", sharded = true>
#norm = #zero.state<unit = -1, segment = -1, "gradient_norm", sharded = false>
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 3 : i64, zero.accumulate = 2 : i64} {
  nn.program @evaluate(%a: tensor<256xf32> {zero.state = #s}) {
    %0 = zero.all_gather %a unit 0 group ["data"] reason "forward of a" : tensor<256xf32> -> tensor<512xf32>
    %1 = zero.all_gather %a unit 0 group ["data"] reason "backward of a" : tensor<256xf32> -> tensor<512xf32>
    nn.return
  }
  nn.program @micro(%a.grad: tensor<256xf32> {zero.state = #g}, %d: tensor<512xf32> {nn.input = #nn.input<"d", per_sample = true>})
      -> (tensor<256xf32> {zero.updates = #g}) {
    %0 = zero.reduce_scatter %d, %a.grad unit 0 segment 0 group ["data"] reason "r" : tensor<512xf32>, tensor<256xf32> -> tensor<256xf32>
    nn.return %0 : tensor<256xf32>
  }
  nn.program @update(%a: tensor<256xf32> {zero.state = #s}, %a.grad: tensor<256xf32> {zero.state = #g})
      -> (tensor<256xf32> {zero.updates = #s}, tensor<256xf32> {zero.updates = #g}, tensor<33xf64> {zero.updates = #norm}) {
    %0 = nn.sum_squares %a.grad : tensor<256xf32> -> tensor<33xf64>
    %1 = nn.binary sub %a, %a.grad : tensor<256xf32>
    %zero = nn.constant dense<0.0> : tensor<256xf32>
    nn.return %1, %zero, %0 : tensor<256xf32>, tensor<256xf32>, tensor<33xf64>
  }
  zero.layout units [
    #zero.unit<"a", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = true, space = pinned>, <"grad", f32, sharded = true>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
}

// -----

// Where the host keeps sums of gradients, each micro-batch brings one, adds to
// it and takes it back. The update reads it where it is, and zeros need not
// cross.

// CHECK-LABEL: nn.program @micro
// CHECK-NEXT: %[[SUM:.+]] = zero.fetch %a.grad unit 0 segment 0 bytes 1024 reason "sum of gradients of a"
// CHECK-NEXT: %[[NEW:.+]] = zero.reduce_scatter %d, %[[SUM]] unit 0 segment 0
// CHECK-NEXT: %[[DOWN:.+]] = zero.offload %[[NEW]] unit 0 segment 0 bytes 1024 reason "sum of gradients of a"
// CHECK-NEXT: nn.return %[[DOWN]]
// CHECK-LABEL: nn.program @update
// CHECK: %[[PARAM:.+]] = nn.binary sub %a.param, %a.grad : tensor<256xf32, #zero<space host>>
// CHECK-NEXT: %[[ZERO:.+]] = nn.constant dense<0.0
// CHECK-NEXT: nn.return %[[PARAM]], %[[ZERO]]
#g = #zero.state<unit = 0, segment = 0, "grad", sharded = true>
#p = #zero.state<unit = 0, segment = 0, "param", sharded = true>
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 3 : i64, zero.accumulate = 2 : i64} {
  nn.program @micro(%a.grad: tensor<256xf32> {zero.state = #g}, %d: tensor<512xf32> {nn.input = #nn.input<"d", per_sample = true>})
      -> (tensor<256xf32> {zero.updates = #g}) {
    %0 = zero.reduce_scatter %d, %a.grad unit 0 segment 0 group ["data"] reason "r" : tensor<512xf32>, tensor<256xf32> -> tensor<256xf32>
    nn.return %0 : tensor<256xf32>
  }
  nn.program @update(%a.param: tensor<256xf32> {zero.state = #p}, %a.grad: tensor<256xf32> {zero.state = #g})
      -> (tensor<256xf32> {zero.updates = #p}, tensor<256xf32> {zero.updates = #g}) {
    %0 = nn.binary sub %a.param, %a.grad : tensor<256xf32>
    %zero = nn.constant dense<0.0> : tensor<256xf32>
    nn.return %0, %zero : tensor<256xf32>, tensor<256xf32>
  }
  zero.layout units [
    #zero.unit<"a", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = true, space = pinned>, <"grad", f32, sharded = true, space = pinned>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
}

// -----

// One rank's gradient, which was made to be sent in 16 bits, goes down as it is
// and by its unit's name: both sides widen it, for the norm and for the update.
// So does a number that both take wide.

// CHECK-LABEL: nn.program @step
// CHECK: %[[SCALE:.+]] = zero.offload %scale bytes 4 reason "for updates on the host"
// CHECK: %[[G:.+]] = zero.pack
// CHECK-NEXT: %[[DOWN:.+]] = zero.offload %[[G]] unit 0 bytes 1024 reason "gradients of a, for the update on the host"
// CHECK-NEXT: %[[WIDE:.+]] = nn.convert %[[G]]
// CHECK: nn.sum_squares %[[WIDE]]
// CHECK: %[[BELOW:.+]] = nn.convert %[[DOWN]] : tensor<512xbf16, #zero<space host>> -> tensor<512xf32, #zero<space host>>
// CHECK-NOT: zero.offload
// CHECK: nn.binary sub %a.param, %[[BELOW]]
// CHECK: nn.convert %[[SCALE]]
// CHECK-NOT: zero.offload
#whole = #zero.state<unit = 0, segment = -1, "param", sharded = false>
#norm = #zero.state<unit = -1, segment = -1, "gradient_norm", sharded = false>
module attributes {zero.mesh = #zero.mesh<["data" = 1]>, zero.stage = 0 : i64, zero.accumulate = 1 : i64} {
  nn.program @step(%a.param: tensor<512xf32> {zero.state = #whole},
                   %d: tensor<512xbf16> {nn.input = #nn.input<"d", per_sample = true>},
                   %scale: tensor<1xf32> {nn.scalar = #nn.scalar<"scale">})
      -> (tensor<512xf32> {zero.updates = #whole}, tensor<33xf64> {zero.updates = #norm}) {
    %g = zero.pack %d at [0] unit 0 : tensor<512xbf16> -> tensor<512xbf16>
    %0 = nn.convert %g : tensor<512xbf16> -> tensor<512xf32>
    %1 = nn.sum_squares %0 : tensor<512xf32> -> tensor<33xf64>
    %wide = nn.convert %scale : tensor<1xf32> -> tensor<1xf64>
    %numbers = nn.broadcast %wide : tensor<1xf64> -> tensor<33xf64>
    %2 = nn.binary mul %1, %numbers : tensor<33xf64>
    %3 = nn.binary sub %a.param, %0 : tensor<512xf32>
    %4 = nn.convert %wide : tensor<1xf64> -> tensor<1xf32>
    %5 = nn.broadcast %4 : tensor<1xf32> -> tensor<512xf32>
    %6 = nn.binary mul %3, %5 : tensor<512xf32>
    nn.return %6, %2 : tensor<512xf32>, tensor<33xf64>
  }
  zero.layout units [
    #zero.unit<"a", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false, space = pinned>, <"grad", f32, sharded = false>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<512xf32>, offset = 0>]>]
}

// -----

// A value that is made of literals goes nowhere: device and host each make their
// own, which their types keep apart.

// CHECK-LABEL: nn.program @step
// CHECK-NOT: zero.offload
// CHECK: nn.iota 0 : tensor<256xi64>{{$}}
// CHECK: nn.iota 0 : tensor<256xi64, #zero<space host>>
// CHECK: zero.offload %a.grad unit 0 {{.*}} : tensor<256xf32> -> tensor<256xf32, #zero<space host>>
// CHECK-NOT: zero.offload
// CHECK: nn.return
#s = #zero.state<unit = 0, segment = 0, "param", sharded = false>
module attributes {zero.mesh = #zero.mesh<["data" = 1]>, zero.stage = 0 : i64, zero.accumulate = 1 : i64} {
  nn.program @step(%a: tensor<256xf32> {zero.state = #s}, %x: tensor<256xf32> {nn.input = #nn.input<"x", per_sample = true>})
      -> (tensor<256xf32> {zero.updates = #s}) {
    %place = nn.iota 0 : tensor<256xi64>
    %number = nn.convert %place : tensor<256xi64> -> tensor<256xf32>
    %device = nn.binary mul %x, %number : tensor<256xf32>
    %grad = zero.pack %device at [0] unit 0 : tensor<256xf32> -> tensor<256xf32>
    %host = nn.binary mul %a, %number : tensor<256xf32>
    %new = nn.binary sub %host, %grad : tensor<256xf32>
    nn.return %new : tensor<256xf32>
  }
  zero.layout units [
    #zero.unit<"a", f32, elements = 256, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [256], states = [<"param", f32, sharded = false, space = pinned>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<256xf32>, offset = 0>]>]
}
