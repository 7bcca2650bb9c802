// RUN: zerograph-opt %s --split-input-file --pass-pipeline='builtin.module(sched-throttle{window=1})' | FileCheck %s
// RUN: zerograph-opt %s --split-input-file --pass-pipeline='builtin.module(sched-place-events,sched-throttle{window=1},sched-elide-waits,sched-pack)' | FileCheck %s --check-prefix=PACK

// A gather waits for the compute step before it; the second unit's gradients
// wait for the reduction of the first's. Then both take the same bytes.

// PACK: sched.slice "g0" {{.*}} at [[G:[0-9]+]] live
// PACK: sched.slice "g1" {{.*}} at [[G]] live
module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  %w = sched.slice "w" param_shard in device bytes 64 carried {state = #zero.state<unit = 0, segment = 0, "param", sharded = true>, tensor = tensor<16xf32>}
  %a = sched.slice "a" gathered in device bytes 64
  %g0 = sched.slice "g0" grad in device bytes 4096
  %g1 = sched.slice "g1" grad in device bytes 4096
  %s0 = sched.slice "s0" grad_shard in device bytes 4096
  %s1 = sched.slice "s1" grad_shard in device bytes 4096
  %b0 = sched.slice "b0" staging in device bytes 64
  %b1 = sched.slice "b1" staging in device bytes 64
  sched.program @step {
    // CHECK: sched.fill on(compute) (write
    %0 = sched.fill on(compute) (write %g0[0 for 4096]) "g0"
    // CHECK: %[[R:.+]] = sched.reduce_scatter
    %1 = sched.reduce_scatter on(scatter) (read %g0[0 for 4096], write %s0[0 for 4096], write %b0[0 for 64]) "g0" unit 0 segment 0 chunk 64 : f32 to f32 group ["data"] sequence 0 reason "r"
    // CHECK: %[[F:.+]] = sched.fill on(compute) await(%[[R]])
    %2 = sched.fill on(compute) (write %g1[0 for 4096]) "g1"
    // CHECK: sched.all_gather on(gather) await(%[[F]])
    %3 = sched.all_gather on(gather) (read %w[0 for 64], write %a[0 for 64]) "a" unit 0 : f32 group ["data"] sequence 1 reason "r"
    %4 = sched.reduce_scatter on(scatter) (read %g1[0 for 4096], write %s1[0 for 4096], write %b1[0 for 64]) "g1" unit 0 segment 0 chunk 64 : f32 to f32 group ["data"] sequence 2 reason "r"
  }
}

// -----

// Pinned buffers that the device fills are filled again when the host has read
// them, and those that the host fills when they have been copied.

// PACK: sched.slice "d0" {{.*}} at [[D:[0-9]+]] live
// PACK: sched.slice "d1" {{.*}} at [[D]] live
module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  %w = sched.slice "w" param_shard in device bytes 4096 carried {state = #zero.state<unit = 0, segment = 0, "param", sharded = true>, tensor = tensor<1024xf32>}
  %m0 = sched.slice "m0" transient in host bytes 4096
  %m1 = sched.slice "m1" transient in host bytes 4096
  %d0 = sched.slice "d0" grad_shard in pinned bytes 4096
  %d1 = sched.slice "d1" grad_shard in pinned bytes 4096
  sched.program @step {
    %0 = sched.copy on(offload) (read %w[0 for 4096], write %d0[0 for 4096]) "d0" reason "r"
    // CHECK: %[[U:.+]] = sched.copy on(update)
    %1 = sched.copy on(update) await(%0) (read %d0[0 for 4096], write %m0[0 for 4096]) "m0"
    // CHECK: sched.copy on(offload) await(%[[U]])
    %2 = sched.copy on(offload) (read %w[0 for 4096], write %d1[0 for 4096]) "d1" reason "r"
    %3 = sched.copy on(update) await(%2) (read %d1[0 for 4096], write %m1[0 for 4096]) "m1"
  }
}

// -----

// A unit has two segments, which are offloaded before either is used: those of
// the next unit wait for the first unit's, not for their own unit's, which are
// read later than they are filled.

// PACK: #sched.arena<pinned, bytes = 8192,
module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  %w = sched.slice "w" param_shard in device bytes 4096 carried {state = #zero.state<unit = 0, segment = 0, "param", sharded = true>, tensor = tensor<1024xf32>}
  %m = sched.slice "m" transient in host bytes 4096
  %d0 = sched.slice "d0" grad_shard in pinned bytes 4096
  %d1 = sched.slice "d1" grad_shard in pinned bytes 4096
  %e0 = sched.slice "e0" grad_shard in pinned bytes 4096
  %e1 = sched.slice "e1" grad_shard in pinned bytes 4096
  sched.program @step {
    %0 = sched.copy on(offload) (read %w[0 for 4096], write %d0[0 for 4096]) "d0" reason "r"
    // CHECK: sched.copy on(offload) (read
    %1 = sched.copy on(offload) (read %w[0 for 4096], write %d1[0 for 4096]) "d1" reason "r"
    // CHECK: sched.copy on(update)
    %2 = sched.copy on(update) await(%0) (read %d0[0 for 4096], write %m[0 for 4096]) "m"
    // CHECK: %[[U:.+]] = sched.copy on(update)
    %3 = sched.copy on(update) await(%1) (read %d1[0 for 4096], write %m[0 for 4096]) "m"
    // CHECK: sched.copy on(offload) await(%[[U]])
    %4 = sched.copy on(offload) (read %w[0 for 4096], write %e0[0 for 4096]) "e0" reason "r"
    // CHECK: sched.copy on(offload) await(%[[U]])
    %5 = sched.copy on(offload) (read %w[0 for 4096], write %e1[0 for 4096]) "e1" reason "r"
    %6 = sched.copy on(update) await(%4) (read %e0[0 for 4096], write %m[0 for 4096]) "m"
    %7 = sched.copy on(update) await(%5) (read %e1[0 for 4096], write %m[0 for 4096]) "m"
  }
}

// -----

// An activation that the host keeps is made when the one before has gone there.
// In pinned memory each has bytes of its own: backward needs all.

// PACK: #sched.arena<pinned, bytes = 8192,
// PACK: sched.slice "a0" {{.*}} at [[A:[0-9]+]] live
// PACK: sched.slice "a1" {{.*}} at [[A]] live
module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  %a0 = sched.slice "a0" transient in device bytes 4096
  %a1 = sched.slice "a1" transient in device bytes 4096
  %k0 = sched.slice "k0" activation in pinned bytes 4096
  %k1 = sched.slice "k1" activation in pinned bytes 4096
  %b0 = sched.slice "b0" activation in device bytes 4096
  %b1 = sched.slice "b1" activation in device bytes 4096
  sched.program @step {
    %0 = sched.fill on(compute) (write %a0[0 for 4096]) "a0"
    // CHECK: %[[K:.+]] = sched.copy on(offload)
    %1 = sched.copy on(offload) await(%0) (read %a0[0 for 4096], write %k0[0 for 4096]) "k0" reason "r"
    // CHECK: sched.fill on(compute) await(%[[K]])
    %2 = sched.fill on(compute) (write %a1[0 for 4096]) "a1"
    %3 = sched.copy on(offload) await(%2) (read %a1[0 for 4096], write %k1[0 for 4096]) "k1" reason "r"
    %4 = sched.copy on(fetch) await(%3) (read %k1[0 for 4096], write %b1[0 for 4096]) "b1" reason "r"
    %5 = sched.copy on(fetch) await(%1) (read %k0[0 for 4096], write %b0[0 for 4096]) "b0" reason "r"
  }
}
