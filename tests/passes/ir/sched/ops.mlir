// RUN: zerograph-opt %s | zerograph-opt | FileCheck %s --strict-whitespace

// The examples of the ops' descriptions are parsed, and printed as they were.

// CHECK: module attributes {sched.arenas = [#sched.arena<device, bytes = 16384, alignment = 64, peak = 16384, lower_bound = 128>]
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, sched.arenas = [#sched.arena<device, bytes = 16384, alignment = 64, peak = 16384, lower_bound = 128>]} {
  // CHECK: %[[X:.+]] = sched.slice "x" transient in device bytes 1024{{$}}
  %x = sched.slice "x" transient in device bytes 1024
  %y = sched.slice "y" transient in device bytes 1024 at 64 live [0, 3]
  // CHECK: sched.slice "fc1 param" param_shard in device bytes 4096 carried at 64 {state = #zero.state<unit = 0, segment = 1, "param", sharded = true>, tensor = tensor<1024xf32>}
  %w = sched.slice "fc1 param" param_shard in device bytes 4096 carried at 64 {state = #zero.state<unit = 0, segment = 1, "param", sharded = true>, tensor = tensor<1024xf32>}
  %s = sched.slice "s" grad_shard in device bytes 512
  %b = sched.slice "b" staging in device bytes 1024
  // CHECK: sched.kernel @k0(%arg0: tensor<4x8xf32>) {
  sched.kernel @k0(%0: tensor<4x8xf32>) {
    %1 = nn.kernel rows (%a = %0) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
      %2 = nn.unary neg %a : tensor<4x8xf32> -> tensor<4x8xf32>
      nn.yield %2 : tensor<4x8xf32>
    }
  }
  %s0 = sched.slice "s0" staging in pinned bytes 128 carried
  %s1 = sched.slice "s1" staging in pinned bytes 128 carried
  %i = sched.slice "i" input in device bytes 64 live [0, 1, 0, 2] {input = #nn.input<"i", per_sample = true>, tensor = tensor<16xf32>}
  // CHECK: sched.program @update slots(%[[S0:.+]], %[[S1:.+]]) {
  sched.program @update slots(%s0, %s1) {
    // CHECK: sched.copy_in on(compute) (read %[[S0]][0 for 128], read %[[S1]][0 for 128], write %{{.+}}[0 for 64]) "i" from [64]
    %0 = sched.copy_in on(compute) (read %s0[0 for 128], read %s1[0 for 128], write %i[0 for 64]) "i" from [64]
  }
  // CHECK: sched.program @step {
  sched.program @step {
    // CHECK: %[[F:.+]] = sched.fill on(compute) (write %[[X]][0 for 1024]) "x"{{$}}
    %0 = sched.fill on(compute) (write %x[0 for 1024]) "x"
    // CHECK: sched.copy on(compute) (read %[[X]][0 for 128], write %{{.+}}[64 for 128]) "fc1"
    %1 = sched.copy on(compute) (read %x[0 for 128], write %y[64 for 128]) "fc1"
    // CHECK: sched.launch @k0 on(compute) (read %{{.+}}[0 for 128], write %{{.+}}[0 for 128]) "relu"
    %2 = sched.launch @k0 on(compute) (read %x[0 for 128], write %y[0 for 128]) "relu"
    // CHECK: sched.matmul on(compute) {{.*}} "fc1" batch 1 m 4 n 8 k 8 : f32 transpose_b
    %3 = sched.matmul on(compute) (read %x[0 for 128], read %w[0 for 256], write %y[0 for 128]) "fc1" batch 1 m 4 n 8 k 8 : f32 transpose_b
    // CHECK: sched.matmul on(compute) {{.*}} "fc2" bias batch 1 m 4 n 8 k 8 : f32
    %b3 = sched.matmul on(compute) (read %x[0 for 128], read %w[0 for 256], write %y[0 for 128], read %b[0 for 32]) "fc2" bias batch 1 m 4 n 8 k 8 : f32
    // CHECK: sched.convolution on(compute) {{.*}} "conv" forward strides [1] low [0] dilations [1] groups 1 : tensor<2x4x8xf32>, tensor<8x4x3xf32> -> tensor<2x8x6xf32>
    %c = sched.convolution on(compute) (read %x[0 for 256], read %w[0 for 384], write %y[0 for 384]) "conv" forward strides [1] low [0] dilations [1] groups 1 : tensor<2x4x8xf32>, tensor<8x4x3xf32> -> tensor<2x8x6xf32>
    // CHECK: sched.all_gather on(gather) await(%[[F]]) (read %[[X]][0 for 512 by 512], write %[[X]][0 for 1024]) "h.0" unit 0 : f32 group ["data"] sequence 0 reason "forward of h.0"
    %4 = sched.all_gather on(gather) await(%0) (read %x[0 for 512 by 512], write %x[0 for 1024]) "h.0" unit 0 : f32 group ["data"] sequence 0 reason "forward of h.0"
    // CHECK: sched.reduce_scatter on(scatter) {{.*}} "h.0" unit 0 segment 0 accumulate chunk 512 : f32 to f32 group ["data"] sequence 1 reason "r"
    %5 = sched.reduce_scatter on(scatter) await(%3, %4) (read %x[0 for 1024], read_write %s[0 for 512], write %b[0 for 1024]) "h.0" unit 0 segment 0 accumulate chunk 512 : f32 to f32 group ["data"] sequence 1 reason "r"
    // CHECK: sched.all_reduce on(scatter) {{.*}} "loss" : f32 to f32 group ["data"] sequence 2 reason "the mean loss"
    %6 = sched.all_reduce on(scatter) (read %s[0 for 4], read_write %s[4 for 4]) "loss" : f32 to f32 group ["data"] sequence 2 reason "the mean loss"
    // CHECK: sched.reduce_scatter on(scatter) {{.*}} "h.0" unit 0 segment 0 any_order chunk 512 : f32 to f32 group ["data"] sequence 3 reason "r"
    %7 = sched.reduce_scatter on(scatter) (read %x[0 for 1024], write %s[0 for 512]) "h.0" unit 0 segment 0 any_order chunk 512 : f32 to f32 group ["data"] sequence 3 reason "r"
    // CHECK: sched.reduce_scatter on(scatter) {{.*}} "h.0" unit 0 segment 0 accumulate any_order chunk 512 : f32 to f32 group ["data"] sequence 4 reason "r"
    %8 = sched.reduce_scatter on(scatter) (read %x[0 for 1024], read_write %s[0 for 512], write %b[0 for 512]) "h.0" unit 0 segment 0 accumulate any_order chunk 512 : f32 to f32 group ["data"] sequence 4 reason "r"
    // CHECK: sched.all_reduce on(scatter) (read {{.*}}, read_write {{.*}}, write {{.*}}[0 for 8]) "loss" : f32 to f32 group ["data"] sequence 5 reason "the mean loss"
    %9 = sched.all_reduce on(scatter) (read %s[0 for 4], read_write %s[4 for 4], write %b[0 for 8]) "loss" : f32 to f32 group ["data"] sequence 5 reason "the mean loss"
  }
}
