// RUN: zerograph-opt %s --sched-place-events | FileCheck %s --check-prefixes=CHECK,PLACE
// RUN: zerograph-opt %s --sched-place-events --sched-elide-waits | FileCheck %s --check-prefixes=CHECK,ELIDE

// Awaits: read after write (the copy), write after read (the second gather),
// write after write (the fill); none between reads, none on other bytes, none
// within a stream. What follows from others is not awaited: the second copy
// awaits nothing, as the first awaited a later gather.

module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  %w = sched.slice "w" param_shard in device bytes 64 carried {state = #zero.state<unit = 0, segment = 0, "param", sharded = true>, tensor = tensor<16xf32>}
  %a = sched.slice "a" gathered in device bytes 64
  %b = sched.slice "b" gathered in device bytes 64
  %c = sched.slice "c" transient in device bytes 128
  // CHECK-LABEL: sched.program @step
  sched.program @step {
    // CHECK: %[[G0:.+]] = sched.all_gather on(gather) (
    %0 = sched.all_gather on(gather) (read %w[0 for 64], write %a[0 for 64]) "a" unit 0 : f32 group ["data"] sequence 0 reason "r"
    // CHECK: %[[G1:.+]] = sched.all_gather on(gather) (
    %1 = sched.all_gather on(gather) (read %w[0 for 64], write %b[0 for 64]) "b" unit 0 : f32 group ["data"] sequence 1 reason "r"
    // CHECK: %[[C0:.+]] = sched.copy on(compute) await(%[[G1]])
    %2 = sched.copy on(compute) (read %b[0 for 64], write %c[0 for 64]) "read b"
    // CHECK: sched.copy on(compute) (read
    %3 = sched.copy on(compute) (read %a[0 for 64], write %c[64 for 64]) "read a"
    // CHECK: %[[G2:.+]] = sched.all_gather on(gather) await(%[[C0]])
    %4 = sched.all_gather on(gather) (read %w[0 for 64], write %b[0 for 64]) "b" unit 0 : f32 group ["data"] sequence 2 reason "r"
    // CHECK: sched.fill on(compute) await(%[[G2]])
    %5 = sched.fill on(compute) (write %b[0 for 64]) "over b"
    // CHECK: sched.copy on(compute) (
    %6 = sched.copy on(compute) (read %w[0 for 64], write %c[0 for 64]) "read w"
    // CHECK: sched.all_gather on(scatter) await
    %7 = sched.all_gather on(scatter) (read %c[64 for 64], write %a[0 for 64]) "a" unit 0 : f32 group ["data"] sequence 3 reason "r"
  }
  // The latest gather wrote other bytes than the first copy reads, and an
  // earlier one those. A step that awaits a gather and then a later one needs
  // the later alone.
  // CHECK-LABEL: sched.program @halves
  sched.program @halves {
    // CHECK: %[[H0:.+]] = sched.all_gather on(gather) (
    %0 = sched.all_gather on(gather) (read %w[0 for 32], write %a[0 for 32]) "a" unit 0 : f32 group ["data"] sequence 0 reason "r"
    // CHECK: %[[H1:.+]] = sched.all_gather on(gather) (
    %1 = sched.all_gather on(gather) (read %w[32 for 32], write %a[32 for 32]) "a" unit 0 : f32 group ["data"] sequence 1 reason "r"
    // CHECK: sched.copy on(compute) await(%[[H0]])
    %2 = sched.copy on(compute) (read %a[0 for 32], write %c[0 for 32]) "first half"
    // CHECK: %[[H2:.+]] = sched.all_gather on(gather) (
    %3 = sched.all_gather on(gather) (read %w[0 for 64], write %b[0 for 64]) "b" unit 0 : f32 group ["data"] sequence 2 reason "r"
    // PLACE: sched.copy on(compute) await(%[[H1]], %[[H2]])
    // ELIDE: sched.copy on(compute) await(%[[H2]])
    %4 = sched.copy on(compute) (read %a[32 for 32], write %b[0 for 32]) "over b"
  }
}
