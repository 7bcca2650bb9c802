// RUN: zerograph-opt %s --pass-pipeline='builtin.module(sched-place-events,sched-throttle{window=1})' | FileCheck %s

// Parameters that are read to be fetched are counted by themselves: the second
// read waits until the first has been fetched, though an update of the same
// segment begins in between and ends later.

module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  %f = sched.slice "forward" param_shard in pinned bytes 64 holds <0, "param", 0 for 16>
  %b = sched.slice "backward" param_shard in pinned bytes 64 holds <0, "param", 0 for 16>
  %u = sched.slice "update" param_shard in pinned bytes 64 holds <0, "param", 0 for 16>
  %mr = sched.slice "m read" optimizer in pinned bytes 64 holds <0, "m", 0 for 16>
  %d = sched.slice "on device" param_shard in device bytes 64 holds <0, "param", 0 for 16>
  %e = sched.slice "again" param_shard in device bytes 64 holds <0, "param", 0 for 16>
  %p = sched.slice "p" param_shard in nvme bytes 64 carried {state = #zero.state<unit = 0, segment = 0, "param", sharded = true>, tensor = tensor<16xf32>}
  %m = sched.slice "m" optimizer in nvme bytes 64 carried {state = #zero.state<unit = 0, segment = 0, "m", sharded = true>, tensor = tensor<16xf32>}
  sched.program @step {
    // CHECK: sched.copy on(read) (read
    %0 = sched.copy on(read) (read %p[0 for 64], write %f[0 for 64]) "p" reason "forward"
    // CHECK: %[[FORWARD:.+]] = sched.copy on(fetch)
    %1 = sched.copy on(fetch) (read %f[0 for 64], write %d[0 for 64]) "p" reason "forward"
    // CHECK: sched.copy on(read) await(%[[FORWARD]])
    %2 = sched.copy on(read) (read %p[0 for 64], write %b[0 for 64]) "p" reason "backward"
    // CHECK: %[[BACKWARD:.+]] = sched.copy on(fetch)
    %3 = sched.copy on(fetch) (read %b[0 for 64], write %e[0 for 64]) "p" reason "backward"
    // CHECK: sched.copy on(read) await(%[[BACKWARD]])
    %4 = sched.copy on(read) (read %p[0 for 64], write %u[0 for 64]) "p" reason "update"
    // CHECK: sched.copy on(read) await(%[[BACKWARD]])
    %5 = sched.copy on(read) (read %m[0 for 64], write %mr[0 for 64]) "m" reason "update"
    %6 = sched.fill on(update) (write %u[0 for 64]) "p"
    %7 = sched.fill on(update) (write %mr[0 for 64]) "m"
    %8 = sched.copy on(write) (read %u[0 for 64], write %p[0 for 64]) "p" reason "update"
    %9 = sched.copy on(write) (read %mr[0 for 64], write %m[0 for 64]) "m" reason "update"
  }
}
