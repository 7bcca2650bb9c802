// RUN: zerograph-opt %s --pass-pipeline='builtin.module(sched-place-events,sched-throttle{window=1})' | FileCheck %s
// RUN: zerograph-opt %s --pass-pipeline='builtin.module(sched-place-events,sched-throttle{window=1},sched-elide-waits,sched-pack)' | FileCheck %s --check-prefix=PACK

// Both states of a segment are read at once; those of the next one wait until
// the first two are back in the file. Then they take the same bytes, at pages,
// and so do slices of the file.

// PACK: sched.slice "m0 read" optimizer in pinned {{.*}} at [[M:[0-9]+]] live
// PACK: sched.slice "v0 read" optimizer in pinned {{.*}} at [[V:[0-9]+]] live
// PACK: sched.slice "m1 read" optimizer in pinned {{.*}} at [[M]] live
// PACK: sched.slice "v1 read" optimizer in pinned {{.*}} at [[V]] live
// PACK: sched.slice "v1" optimizer in nvme bytes 64 carried at 12288
module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  %m0r = sched.slice "m0 read" optimizer in pinned bytes 64 holds <0, "m", 0 for 16>
  %v0r = sched.slice "v0 read" optimizer in pinned bytes 64 holds <0, "v", 0 for 16>
  %m1r = sched.slice "m1 read" optimizer in pinned bytes 64 holds <0, "m", 16 for 16>
  %v1r = sched.slice "v1 read" optimizer in pinned bytes 64 holds <0, "v", 16 for 16>
  %m0 = sched.slice "m0" optimizer in nvme bytes 64 carried {state = #zero.state<unit = 0, segment = 0, "m", sharded = true>, tensor = tensor<16xf32>}
  %v0 = sched.slice "v0" optimizer in nvme bytes 64 carried {state = #zero.state<unit = 0, segment = 0, "v", sharded = true>, tensor = tensor<16xf32>}
  %m1 = sched.slice "m1" optimizer in nvme bytes 64 carried {state = #zero.state<unit = 0, segment = 1, "m", sharded = true>, tensor = tensor<16xf32>}
  %v1 = sched.slice "v1" optimizer in nvme bytes 64 carried {state = #zero.state<unit = 0, segment = 1, "v", sharded = true>, tensor = tensor<16xf32>}
  sched.program @step {
    // CHECK: sched.copy on(read) (read
    %0 = sched.copy on(read) (read %m0[0 for 64], write %m0r[0 for 64]) "m0" reason "update"
    // CHECK: sched.copy on(read) (read
    %1 = sched.copy on(read) (read %v0[0 for 64], write %v0r[0 for 64]) "v0" reason "update"
    %2 = sched.fill on(update) (write %m0r[0 for 64]) "m0"
    %3 = sched.fill on(update) (write %v0r[0 for 64]) "v0"
    // CHECK: %[[M:.+]] = sched.copy on(write)
    %4 = sched.copy on(write) (read %m0r[0 for 64], write %m0[0 for 64]) "m0" reason "update"
    // CHECK: %[[V:.+]] = sched.copy on(write)
    %5 = sched.copy on(write) (read %v0r[0 for 64], write %v0[0 for 64]) "v0" reason "update"
    // CHECK: sched.copy on(read) await({{.*}}%[[M]], %[[V]])
    %6 = sched.copy on(read) (read %m1[0 for 64], write %m1r[0 for 64]) "m1" reason "update"
    %7 = sched.copy on(read) (read %v1[0 for 64], write %v1r[0 for 64]) "v1" reason "update"
    %8 = sched.fill on(update) (write %m1r[0 for 64]) "m1"
    %9 = sched.fill on(update) (write %v1r[0 for 64]) "v1"
    %10 = sched.copy on(write) (read %m1r[0 for 64], write %m1[0 for 64]) "m1" reason "update"
    %11 = sched.copy on(write) (read %v1r[0 for 64], write %v1[0 for 64]) "v1" reason "update"
  }
}
