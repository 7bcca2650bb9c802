// RUN: zerograph-opt %s --sched-pack | FileCheck %s

// Each space has an arena. A scalar that two programs copy in has one place,
// which nothing else has while either uses it: "b" takes it over once "micro"
// has read it, "c" does not while "update" still will.

// CHECK: sched.arenas = [#sched.arena<device, bytes = 192, alignment = 64, peak = 192, lower_bound = 192>, #sched.arena<pinned, bytes = 256, alignment = 64, peak = 256, lower_bound = 256>]
module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  // CHECK: sched.slice "m0" staging in pinned bytes 64 carried at 0
  %m0 = sched.slice "m0" staging in pinned bytes 64 carried
  %m1 = sched.slice "m1" staging in pinned bytes 64 carried
  %u0 = sched.slice "u0" staging in pinned bytes 64 carried
  // CHECK: sched.slice "u1" staging in pinned bytes 64 carried at 192
  %u1 = sched.slice "u1" staging in pinned bytes 64 carried
  // CHECK: sched.slice "s" scalar in device bytes 4 at [[S:[0-9]+]] live [0, 1, 0, 2]
  %s = sched.slice "s" scalar in device bytes 4 {scalar = #nn.scalar<"step">, tensor = tensor<1xf32>}
  %a = sched.slice "a" transient in device bytes 64
  // CHECK: sched.slice "b" transient in device bytes 64 at [[S]] live [2, 2]
  %b = sched.slice "b" transient in device bytes 64
  // CHECK-NOT: sched.slice "c" {{.*}} at [[S]] live
  // CHECK: sched.slice "c" transient in device bytes 128
  %c = sched.slice "c" transient in device bytes 128
  sched.program @micro slots(%m0, %m1) {
    %0 = sched.copy_in on(compute) (read %m0[0 for 64], read %m1[0 for 64], write %s[0 for 4]) "s" from [0]
    %1 = sched.copy on(compute) (read %s[0 for 4], write %a[0 for 4]) "a"
    %2 = sched.copy on(compute) (read %a[0 for 4], write %b[0 for 4]) "b"
  }
  sched.program @update slots(%u0, %u1) {
    %0 = sched.copy_in on(compute) (read %u0[0 for 64], read %u1[0 for 64], write %s[0 for 4]) "s" from [0]
    %1 = sched.fill on(compute) (write %c[0 for 128]) "c"
    %2 = sched.copy on(compute) (read %s[0 for 4], write %c[0 for 4]) "c"
  }
}
