// RUN: zerograph-opt %s --sched-pack --split-input-file | FileCheck %s

// Two products that follow each other may run at once: the second's result and
// scratch take no bytes of what the first is the last to use. What comes after
// them does. Lives are as they are.

module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  // CHECK: sched.slice "a" {{.*}} at 0 live [0, 2]
  %a = sched.slice "a" transient in device bytes 64
  // CHECK: sched.slice "x" {{.*}} at 128 live [2, 5]
  %x = sched.slice "x" transient in device bytes 64
  // CHECK: sched.slice "s" {{.*}} at 256 live [2, 2]
  %s = sched.slice "s" transient in device bytes 128
  // CHECK: sched.slice "y" {{.*}} at 192 live [3, 5]
  %y = sched.slice "y" transient in device bytes 64
  // CHECK: sched.slice "t" {{.*}} at 384 live [3, 3]
  %t = sched.slice "t" transient in device bytes 128
  // CHECK: sched.slice "c" {{.*}} at 0 live [4, 5]
  %c = sched.slice "c" transient in device bytes 128
  // CHECK: sched.slice "b" {{.*}} at 64 live [1, 3]
  %b = sched.slice "b" transient in device bytes 64
  sched.program @step {
    %0 = sched.fill on(compute) (write %a[0 for 64]) "a"
    %1 = sched.fill on(compute) (write %b[0 for 64]) "b"
    %2 = sched.matmul on(compute) (read %a[0 for 64], read %b[0 for 64], write %x[0 for 64], write %s[0 for 128]) "x" batch 1 m 4 n 4 k 4 : f32
    %3 = sched.matmul on(compute) (read %b[0 for 64], read %b[0 for 64], write %y[0 for 64], write %t[0 for 128]) "y" batch 1 m 4 n 4 k 4 : f32
    %4 = sched.fill on(compute) (write %c[0 for 128]) "c"
    %5 = sched.matmul on(compute) (read %x[0 for 64], read %y[0 for 64], write %c[0 for 64]) "c" batch 1 m 4 n 4 k 4 : f32
  }
}

// -----

// Large scratch is shared: such products are cut for all threads.

module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  // CHECK: sched.slice "large s" {{.*}} at [[S:[0-9]+]] live [1, 1]
  %s = sched.slice "large s" transient in device bytes 262208
  // CHECK: sched.slice "large t" {{.*}} at [[S]] live [2, 2]
  %t = sched.slice "large t" transient in device bytes 262208
  %a = sched.slice "a" transient in device bytes 64
  %x = sched.slice "x" transient in device bytes 64
  %y = sched.slice "y" transient in device bytes 64
  sched.program @step {
    %0 = sched.fill on(compute) (write %a[0 for 64]) "a"
    %1 = sched.matmul on(compute) (read %a[0 for 64], read %a[0 for 64], write %x[0 for 64], write %s[0 for 262208]) "x" batch 1 m 4 n 4 k 4 : f32
    %2 = sched.matmul on(compute) (read %a[0 for 64], read %x[0 for 64], write %y[0 for 64], write %t[0 for 262208]) "y" batch 1 m 4 n 4 k 4 : f32
  }
}
