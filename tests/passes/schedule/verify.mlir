// RUN: zerograph-opt %s --split-input-file --verify-diagnostics --sched-verify
// One case a message of sched-verify.

module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  %w = sched.slice "w" param_shard in device bytes 64 carried unit 0 segment 0 {state = #zero.state<unit = 0, segment = 0, "param", sharded = true>, tensor = tensor<16xf32>}
  %a = sched.slice "a" gathered in device bytes 64
  %t = sched.slice "t" gathered in device bytes 64
  sched.program @step {
    // expected-note @below {{the other step is here}}
    %0 = sched.all_gather on(gather) (read %w[0 for 64], write %a[0 for 64]) "gather a" unit 0 : f32 group ["data"] sequence 0 reason "r"
    // expected-error @below {{'copy t' may run beside 'gather a' and reads bytes of 'a' that the other writes}}
    %1 = sched.copy on(compute) (read %a[0 for 64], write %t[0 for 64]) "copy t"
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  %w = sched.slice "w" param_shard in device bytes 64 carried unit 0 segment 0 {state = #zero.state<unit = 0, segment = 0, "param", sharded = true>, tensor = tensor<16xf32>}
  %a = sched.slice "a" gathered in device bytes 64
  sched.program @step {
    // expected-note @below {{the other step is here}}
    %0 = sched.fill on(compute) (write %w[0 for 64]) "fill w"
    // expected-error @below {{'gather a' may run beside 'fill w' and reads bytes of 'w' that the other writes}}
    %1 = sched.all_gather on(gather) (read %w[0 for 64], write %a[0 for 64]) "gather a" unit 0 : f32 group ["data"] sequence 0 reason "r"
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  %w = sched.slice "w" param_shard in device bytes 64 carried unit 0 segment 0 {state = #zero.state<unit = 0, segment = 0, "param", sharded = true>, tensor = tensor<16xf32>}
  %a = sched.slice "a" gathered in device bytes 64
  %t = sched.slice "t" gathered in device bytes 64
  sched.program @step {
    // expected-error @below {{'copy t' reads bytes [0, 64) of 'a' on rank 0, which nothing wrote}}
    %0 = sched.copy on(compute) (read %a[0 for 64], write %t[0 for 64]) "copy t"
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  %w = sched.slice "w" param_shard in device bytes 64 carried unit 0 segment 0 {state = #zero.state<unit = 0, segment = 0, "param", sharded = true>, tensor = tensor<16xf32>}
  %a = sched.slice "a" gathered in device bytes 64
  sched.program @step {
    // expected-error @below {{has sequence 1, but is collective 0 of @step}}
    %0 = sched.all_gather on(gather) (read %w[0 for 64], write %a[0 for 64]) "gather a" unit 0 : f32 group ["data"] sequence 1 reason "r"
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  %a = sched.slice "a" gathered in device bytes 64
  %t = sched.slice "t" gathered in device bytes 64
  sched.program @micro {
    %0 = sched.fill on(compute) (write %a[0 for 64]) "fill a"
  }
  sched.program @update {
    // expected-error @below {{'copy t' reads bytes [0, 64) of 'a' on rank 0, which nothing wrote}}
    %0 = sched.copy on(compute) (read %a[0 for 64], write %t[0 for 64]) "copy t"
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 1]>, sched.arenas = [#sched.arena<device, bytes = 256, alignment = 64, peak = 256, lower_bound = 64>]} {
  // expected-error @below {{'a' is in pinned, which has no arena in 'sched.arenas'}}
  %a = sched.slice "a" gathered in pinned bytes 64 at 0
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 1]>, sched.arenas = [#sched.arena<device, bytes = 256, alignment = 64, peak = 256, lower_bound = 64>]} {
  %a = sched.slice "a" gathered in device bytes 64 at 0
  // expected-error @below {{'b' has no offset, but others have}}
  %b = sched.slice "b" gathered in device bytes 64
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 1]>, sched.arenas = [#sched.arena<device, bytes = 256, alignment = 64, peak = 256, lower_bound = 64>]} {
  // expected-error @below {{'a' lies at 32, not at a multiple of 64}}
  %a = sched.slice "a" gathered in device bytes 64 at 32
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 1]>, sched.arenas = [#sched.arena<device, bytes = 256, alignment = 64, peak = 256, lower_bound = 64>]} {
  // expected-error @below {{'a' ends at 320, beyond the arena's 256 bytes}}
  %a = sched.slice "a" gathered in device bytes 64 at 256
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 1]>, sched.arenas = [#sched.arena<device, bytes = 256, alignment = 64, peak = 256, lower_bound = 64>]} {
  %a = sched.slice "a" gathered in device bytes 64 at 0
  // expected-error @below {{'b' overlaps 'a', and a carried slice shares no bytes}}
  %b = sched.slice "b" gathered in device bytes 64 carried at 0
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 1]>, sched.arenas = [#sched.arena<device, bytes = 256, alignment = 64, peak = 256, lower_bound = 64>]} {
  %w = sched.slice "w" param_shard in device bytes 64 carried unit 0 segment 0 at 0 {state = #zero.state<unit = 0, segment = 0, "param", sharded = true>, tensor = tensor<16xf32>}
  %a = sched.slice "a" gathered in device bytes 64 at 64 live [0, 1]
  %b = sched.slice "b" gathered in device bytes 64 at 64 live [2, 2]
  %t = sched.slice "t" gathered in device bytes 64 at 128 live [1, 1]
  sched.program @step {
    %0 = sched.all_gather on(gather) (read %w[0 for 64], write %a[0 for 64]) "gather a" unit 0 : f32 group ["data"] sequence 0 reason "r"
    // expected-note @below {{the other step is here}}
    %1 = sched.copy on(compute) await(%0) (read %a[0 for 64], write %t[0 for 64]) "copy t"
    // expected-error @below {{'gather b' may run beside 'copy t' and writes bytes of 'b' that the other reads as 'a'}}
    %2 = sched.all_gather on(gather) (read %w[0 for 64], write %b[0 for 64]) "gather b" unit 0 : f32 group ["data"] sequence 1 reason "r"
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 1]>, sched.arenas = [#sched.arena<device, bytes = 256, alignment = 64, peak = 256, lower_bound = 64>]} {
  // expected-note @below {{the other slice is here}}
  %a = sched.slice "a" gathered in device bytes 64 at 64 live [0, 2]
  // expected-error @below {{'b' shares bytes with 'a' while both are in use in @step}}
  %b = sched.slice "b" gathered in device bytes 64 at 64 live [1, 1]
  sched.program @step {
    %0 = sched.fill on(compute) (write %a[0 for 64]) "fill a"
    %1 = sched.fill on(compute) (write %b[0 for 64]) "fill b"
    %2 = sched.fill on(compute) (write %a[0 for 64]) "fill a"
  }
}
