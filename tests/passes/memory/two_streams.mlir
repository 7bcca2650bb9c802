// RUN: zerograph-opt %s --sched-pack | FileCheck %s

// The counter-example to packing by order in the block: B is gathered after the
// last use of A in the block, but nothing makes the gather wait for it, so A
// and B must not share bytes. C is written by a step that awaits the last use
// of A, and takes its place.

// CHECK: sched.arenas = [#sched.arena<device, bytes = 256, alignment = 64, peak = 256, lower_bound = 192>]
module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  // CHECK: sched.slice "w" {{.*}} carried at 0
  %w = sched.slice "w" param_shard in device bytes 64 carried {state = #zero.state<unit = 0, segment = 0, "param", sharded = true>, tensor = tensor<16xf32>}
  // CHECK: sched.slice "a" {{.*}} at [[A:[0-9]+]] live [0, 1]
  %a = sched.slice "a" gathered in device bytes 64
  // CHECK-NOT: sched.slice "b" {{.*}} at [[A]] live
  // CHECK: sched.slice "b" {{.*}} live [2, 3]
  %b = sched.slice "b" gathered in device bytes 64
  // CHECK: sched.slice "c" {{.*}} at [[A]] live [4, 4]
  %c = sched.slice "c" gathered in device bytes 64
  // CHECK: sched.slice "t" {{.*}} live [1, 3]
  %t = sched.slice "t" transient in device bytes 64
  // CHECK-NOT: unused
  %u = sched.slice "unused" transient in device bytes 64
  sched.program @step {
    %0 = sched.all_gather on(gather) (read %w[0 for 64], write %a[0 for 64]) "a" unit 0 : f32 group ["data"] sequence 0 reason "r"
    %1 = sched.copy on(compute) await(%0) (read %a[0 for 64], write %t[0 for 64]) "use a"
    %2 = sched.all_gather on(gather) (read %w[0 for 64], write %b[0 for 64]) "b" unit 0 : f32 group ["data"] sequence 1 reason "r"
    %3 = sched.copy on(compute) await(%2) (read %b[0 for 64], write %t[0 for 64]) "use b"
    %4 = sched.all_gather on(gather) await(%1) (read %w[0 for 64], write %c[0 for 64]) "c" unit 0 : f32 group ["data"] sequence 2 reason "r"
  }
}
