// RUN: zerograph-opt %s --split-input-file --zero-file-states --zero-offload --zero-verify | FileCheck %s

// A state that lies in the file is read in front of its first use and written
// in the end, and the host computes what is made of it.

// CHECK-LABEL: nn.program @update
// CHECK: %[[M:.+]] = zero.read %a.exp_avg unit 0 segment 0 bytes 1024 reason "update of a"
// CHECK-NEXT: %[[DOWN:.+]] = zero.offload %a.grad unit 0 segment 0 bytes 1024
// CHECK-NEXT: %[[AVG:.+]] = nn.binary add %[[M]], %[[DOWN]]
// CHECK: %[[W:.+]] = zero.read %a.master unit 0 segment 0 bytes 1024 reason "update of a"
// CHECK-NEXT: %[[NEW:.+]] = nn.binary sub %[[W]], %[[AVG]]
// CHECK-NEXT: %[[UP:.+]] = zero.fetch %[[NEW]] unit 0 segment 0 bytes 1024 reason "updated parameters of a"
// CHECK-NEXT: %[[WHOLE:.+]] = zero.all_gather %[[UP]] unit 0
// CHECK: %[[NEWLY:.+]] = zero.write %[[NEW]] unit 0 segment 0 bytes 1024 reason "update of a"
// CHECK: %[[AVGLY:.+]] = zero.write %[[AVG]] unit 0 segment 0 bytes 1024 reason "update of a"
// CHECK: nn.return %[[NEWLY]], %[[AVGLY]], %[[WHOLE]]
#p = #zero.state<unit = 0, segment = -1, "param", sharded = false>
#m = #zero.state<unit = 0, segment = 0, "master", sharded = true>
#e = #zero.state<unit = 0, segment = 0, "exp_avg", sharded = true>
#g = #zero.state<unit = 0, segment = 0, "grad", sharded = true>
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 1 : i64, zero.accumulate = 2 : i64} {
  nn.program @micro(%a.grad: tensor<256xf32> {zero.state = #g}, %d: tensor<512xf32> {nn.input = #nn.input<"d", per_sample = true>})
      -> (tensor<256xf32> {zero.updates = #g}) {
    %0 = zero.reduce_scatter %d, %a.grad unit 0 segment 0 group ["data"] reason "r" : tensor<512xf32>, tensor<256xf32> -> tensor<256xf32>
    nn.return %0 : tensor<256xf32>
  }
  nn.program @update(%a.master: tensor<256xf32> {zero.state = #m}, %a.exp_avg: tensor<256xf32> {zero.state = #e},
                     %a.grad: tensor<256xf32> {zero.state = #g})
      -> (tensor<256xf32> {zero.updates = #m}, tensor<256xf32> {zero.updates = #e},
          tensor<512xf32> {zero.updates = #p}, tensor<256xf32> {zero.updates = #g}) {
    %0 = nn.binary add %a.exp_avg, %a.grad : tensor<256xf32>
    %1 = nn.binary sub %a.master, %0 : tensor<256xf32>
    %2 = zero.all_gather %1 unit 0 group ["data"] reason "updated parameters of a" in_place : tensor<256xf32> -> tensor<512xf32>
    %zero = nn.constant dense<0.0> : tensor<256xf32>
    nn.return %1, %0, %2, %zero : tensor<256xf32>, tensor<256xf32>, tensor<512xf32>, tensor<256xf32>
  }
  zero.layout units [
    #zero.unit<"a", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>, <"grad", f32, sharded = true>, <"master", f32, sharded = true, space = nvme>, <"exp_avg", f32, sharded = true, space = nvme>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
}

// -----

// Parameters are read for each gather, and once for the update, which needs
// them in float32; then they are written once. An evaluation reads alone.

// CHECK-LABEL: nn.program @step
// CHECK: %[[R0:.+]] = zero.read %b.param unit 0 segment 0 bytes 1024 reason "forward of b"
// CHECK-NEXT: %[[F0:.+]] = zero.fetch %[[R0]] unit 0 segment 0 bytes 1024 reason "forward of b"
// CHECK-NEXT: zero.all_gather %[[F0]] unit 0 stay forward
// CHECK: %[[R1:.+]] = zero.read %b.param unit 0 segment 0 bytes 1024 reason "backward of b"
// CHECK-NEXT: %[[F1:.+]] = zero.fetch %[[R1]] unit 0 segment 0 bytes 1024 reason "backward of b"
// CHECK-NEXT: zero.all_gather %[[F1]] unit 0 stay backward
// CHECK: %[[W:.+]] = zero.read %b.param unit 0 segment 0 bytes 1024 reason "update of b"
// CHECK-NEXT: %[[NEW:.+]] = nn.binary sub %[[W]], %{{.+}}
// CHECK-NEXT: %[[AGAIN:.+]] = nn.binary sub %[[NEW]], %[[W]]
// CHECK-NEXT: %[[NEWLY:.+]] = zero.write %[[AGAIN]] unit 0 segment 0 bytes 1024 reason "update of b"
// CHECK-NEXT: nn.return %[[NEWLY]]
// CHECK-LABEL: nn.program @evaluate
// CHECK: zero.read %b.param unit 0 segment 0 bytes 1024 reason "forward of b"
// CHECK-NEXT: zero.fetch
// CHECK-NOT: zero.write
#q = #zero.state<unit = 0, segment = 0, "param", sharded = true>
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 3 : i64, zero.accumulate = 1 : i64} {
  nn.program @step(%b.param: tensor<256xf32> {zero.state = #q}, %x: tensor<512xf32> {nn.input = #nn.input<"x", per_sample = true>})
      -> (tensor<256xf32> {zero.updates = #q}) {
    %0 = zero.all_gather %b.param unit 0 stay forward group ["data"] reason "forward of b" : tensor<256xf32> -> tensor<512xf32>
    %1 = nn.binary mul %0, %x : tensor<512xf32>
    zero.release %0 unit 0 : tensor<512xf32>
    %2 = zero.all_gather %b.param unit 0 stay backward group ["data"] reason "backward of b" : tensor<256xf32> -> tensor<512xf32>
    %3 = nn.binary mul %1, %2 : tensor<512xf32>
    zero.release %2 unit 0 : tensor<512xf32>
    %4 = zero.reduce_scatter %3 unit 0 segment 0 group ["data"] reason "r" : tensor<512xf32> -> tensor<256xf32>
    %5 = nn.binary sub %b.param, %4 : tensor<256xf32>
    %6 = nn.binary sub %5, %b.param : tensor<256xf32>
    nn.return %6 : tensor<256xf32>
  }
  nn.program @evaluate(%b.param: tensor<256xf32> {zero.state = #q}, %x: tensor<512xf32> {nn.input = #nn.input<"x", per_sample = true>}) {
    %0 = zero.all_gather %b.param unit 0 stay forward group ["data"] reason "forward of b" : tensor<256xf32> -> tensor<512xf32>
    zero.release %0 unit 0 : tensor<512xf32>
    nn.return
  }
  zero.layout units [
    #zero.unit<"b", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = true, space = nvme>, <"grad", f32, sharded = true>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
}

// -----

// A file that keeps sums of gradients is read and written for each micro-batch,
// read for the update, and left zero.

// CHECK-LABEL: nn.program @micro
// CHECK-NEXT: %[[READ:.+]] = zero.read %a.grad unit 0 segment 0 bytes 1024 reason "sum of gradients of a"
// CHECK-NEXT: %[[SUM:.+]] = zero.fetch %[[READ]] unit 0 segment 0
// CHECK-NEXT: %[[NEW:.+]] = zero.reduce_scatter %d, %[[SUM]] unit 0 segment 0
// CHECK-NEXT: %[[DOWN:.+]] = zero.offload %[[NEW]] unit 0 segment 0
// CHECK-NEXT: %[[WRITTEN:.+]] = zero.write %[[DOWN]] unit 0 segment 0 bytes 1024 reason "sum of gradients of a"
// CHECK-NEXT: nn.return %[[WRITTEN]]
// CHECK-LABEL: nn.program @update
// CHECK: %[[PARAM:.+]] = zero.read %a.param
// CHECK-NEXT: %[[GRAD:.+]] = zero.read %a.grad unit 0 segment 0 bytes 1024 reason "sum of gradients of a"
// CHECK-NEXT: nn.binary sub %[[PARAM]], %[[GRAD]]
// CHECK-NEXT: %[[ZERO:.+]] = nn.constant dense<0.0
// CHECK: %[[ZEROED:.+]] = zero.write %[[ZERO]] unit 0 segment 0 bytes 1024 reason "zeros for the next sum of a"
// CHECK-NEXT: nn.return %{{.+}}, %[[ZEROED]]
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
    #zero.unit<"a", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = true, space = nvme>, <"grad", f32, sharded = true, space = nvme>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
}
