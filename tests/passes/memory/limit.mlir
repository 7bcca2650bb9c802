// RUN: not zerograph-opt %s --pass-pipeline='builtin.module(sched-pack,sched-limit-memory{device=200})' 2>&1 | FileCheck %s

// A limit that the arena exceeds is an error that says where most is live, and
// what.

// CHECK: error: a rank needs 256 bytes of device memory (256 B), but the limit is 200 (200 B); 64 B of them live across programs
module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  %w = sched.slice "w" param_shard in device bytes 64 carried {state = #zero.state<unit = 0, segment = 0, "param", sharded = true>, tensor = tensor<16xf32>}
  %a = sched.slice "a" gathered in device bytes 64
  %t = sched.slice "t" transient in device bytes 128
  sched.program @step {
    %0 = sched.fill on(compute) (write %a[0 for 64]) "a"
    // CHECK: note: most is live at 'use': 64 B of gathered, 128 B of transient
    %1 = sched.copy on(compute) (read %a[0 for 64], write %t[0 for 64]) "use"
  }
}
