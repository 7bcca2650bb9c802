// RUN: zerograph-opt %s | FileCheck %s

// Slices are named after what they hold, timepoints after the step. A program
// may stand before the slices that it touches.

// CHECK: sched.program @step {
// CHECK-NEXT: %h.0.done = sched.copy on(gather) (read %h.0.shard[0 for 64], write %h.0.flat[0 for 64]) "h.0"
// CHECK-NEXT: %node_add.done = sched.fill on(compute) await(%h.0.done) (write %node_add.1[0 for 64]) "node_add"
// CHECK: %h.0.shard = sched.slice "h.0 param"
// CHECK-NEXT: %h.0.flat = sched.slice "h.0" gathered
// CHECK-NEXT: %node_add.1 = sched.slice "node_add #1"
module {
  sched.program @step {
    %0 = sched.copy on(gather) (read %p[0 for 64], write %f[0 for 64]) "h.0"
    %1 = sched.fill on(compute) await(%0) (write %a[0 for 64]) "node_add"
  }
  %p = sched.slice "h.0 param" param_shard in device bytes 64 carried {state = #zero.state<unit = 0, segment = 0, "param", sharded = true>, tensor = tensor<16xf32>}
  %f = sched.slice "h.0" gathered in device bytes 64
  %a = sched.slice "node_add #1" activation in device bytes 64
  zero.layout units [
    #zero.unit<"h.0", f32, elements = 32, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [32], states = [<"param", f32, sharded = true>], placements = []>
  ]
}
