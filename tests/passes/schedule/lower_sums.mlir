// RUN: zerograph-opt %s --sched-lower | FileCheck %s

// A sum of gradients that the host keeps is brought to where a reduction adds to
// it, and goes back from there.

// CHECK: sched.copy on(fetch) (read %fc.grad[0 for 1024], write %[[SUM:.+]][0 for 1024]) "{{.+}}" reason "sum of gradients of fc"
// CHECK-NEXT: sched.reduce_scatter on(scatter) (read %{{.+}}[0 for 2048], read_write %[[SUM]][0 for 1024],
// CHECK-NEXT: sched.copy on(offload) (read %[[SUM]][0 for 1024], write %fc.grad[0 for 1024]) "{{.+}}" reason "sum of gradients of fc"
// CHECK-NOT: sched.copy
// CHECK: %fc.grad = sched.slice "fc grad" grad_shard in pinned bytes 1024 carried
// CHECK: %[[SUM]] = sched.slice "{{.*}}" grad_shard in device bytes 1024
!host = tensor<256xf32, #zero<space host>>
#g = #zero.state<unit = 0, segment = 0, "grad", sharded = true>
module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  zero.layout units [#zero.unit<"fc", f32, elements = 512, trainable = true, persistent = false, reason = "r", axes = ["data"], segments = [512], states = [<"grad", f32, sharded = true, space = pinned>], placements = [<<"w", module = "fc", trainable = true, init = normal>, tensor<512xf32>, offset = 0>]>]
  nn.program @micro(%g: !host {zero.state = #g}, %d: tensor<512xf32> {nn.input = #nn.input<"d", per_sample = true>})
      -> (!host {zero.updates = #g}) {
    %0 = zero.fetch %g unit 0 segment 0 bytes 1024 reason "sum of gradients of fc" : !host -> tensor<256xf32>
    %1 = zero.reduce_scatter %d, %0 unit 0 segment 0 group ["data"] reason "r" : tensor<512xf32>, tensor<256xf32> -> tensor<256xf32>
    %2 = zero.offload %1 unit 0 segment 0 bytes 1024 reason "sum of gradients of fc" : tensor<256xf32> -> !host
    nn.return %2 : !host
  }
}
