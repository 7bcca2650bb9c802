// RUN: zerograph-opt %s --pass-pipeline='builtin.module(sched-place-events,sched-throttle{window=1})' | FileCheck %s
// RUN: zerograph-opt %s --pass-pipeline='builtin.module(sched-place-events,sched-throttle{window=1},sched-elide-waits,sched-pack)' | FileCheck %s --check-prefix=PACK

// A sum of gradients is brought to the device when the one before it has gone
// back, and takes its bytes.

// PACK: sched.slice "a" grad_shard in device {{.*}} at [[A:[0-9]+]] live
// PACK: sched.slice "b" grad_shard in device {{.*}} at [[A]] live
#a = #zero.state<unit = 0, segment = 0, "grad", sharded = true>
#b = #zero.state<unit = 0, segment = 1, "grad", sharded = true>
module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  %a = sched.slice "a" grad_shard in device bytes 64 holds <0, "grad", 0 for 16>
  %b = sched.slice "b" grad_shard in device bytes 64 holds <0, "grad", 16 for 16>
  %ga = sched.slice "a grad" grad_shard in pinned bytes 64 carried {state = #a, tensor = tensor<16xf32>}
  %gb = sched.slice "b grad" grad_shard in pinned bytes 64 carried {state = #b, tensor = tensor<16xf32>}
  sched.program @micro {
    %0 = sched.copy on(fetch) (read %ga[0 for 64], write %a[0 for 64]) "a" reason "sum"
    %1 = sched.fill on(compute) (write %a[0 for 64]) "a"
    // CHECK: %[[BACK:.+]] = sched.copy on(offload)
    %2 = sched.copy on(offload) (read %a[0 for 64], write %ga[0 for 64]) "a" reason "sum"
    // CHECK: sched.copy on(fetch) await({{.*}}%[[BACK]]
    %3 = sched.copy on(fetch) (read %gb[0 for 64], write %b[0 for 64]) "b" reason "sum"
    %4 = sched.fill on(compute) (write %b[0 for 64]) "b"
    %5 = sched.copy on(offload) (read %b[0 for 64], write %gb[0 for 64]) "b" reason "sum"
  }
}
