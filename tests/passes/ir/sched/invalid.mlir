// RUN: zerograph-opt %s --split-input-file --verify-diagnostics
// One case a message of the sched dialect's verifiers.

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  %x = sched.slice "x" transient in device bytes 1024
  %y = sched.slice "y" transient in device bytes 1024
  sched.program @step {
    // expected-error @below {{'sched.fill' op access 0 ends at byte 1088 of 'x', which has 1024}}
    %0 = sched.fill on(compute) (write %x[64 for 1024]) "f"
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  %x = sched.slice "x" transient in device bytes 1024
  %y = sched.slice "y" transient in device bytes 1024
  sched.program @step {
    // expected-error @below {{'sched.fill' op access 0 ends at byte 1536 of 'x', which has 1024}}
    %0 = sched.fill on(compute) (write %x[0 for 512 by 1024]) "f"
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  %x = sched.slice "x" transient in device bytes 1024
  %y = sched.slice "y" transient in device bytes 1024
  sched.program @step {
    // expected-error @below {{'sched.fill' op access 0 of 'x' is empty or negative}}
    %0 = sched.fill on(compute) (write %x[0 for 0]) "f"
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  %x = sched.slice "x" transient in device bytes 1024
  %y = sched.slice "y" transient in device bytes 1024
  sched.program @step {
    // expected-error @below {{'sched.fill' op needs 1 accesses, not 2}}
    %0 = sched.fill on(compute) (write %x[0 for 4], write %y[0 for 4]) "f"
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  %x = sched.slice "x" transient in device bytes 1024
  %y = sched.slice "y" transient in device bytes 1024
  sched.program @step {
    // expected-error @below {{'sched.fill' op access 0 must be write, not read}}
    %0 = sched.fill on(compute) (read %x[0 for 4]) "f"
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  %x = sched.slice "x" transient in device bytes 1024
  %y = sched.slice "y" transient in device bytes 1024
  sched.program @step {
    // expected-error @below {{expected read, write or read_write, not 'peek'}}
    %0 = sched.fill on(compute) (peek %x[0 for 4]) "f"
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  %x = sched.slice "x" transient in device bytes 1024
  %y = sched.slice "y" transient in device bytes 1024
  sched.program @step {
    // expected-error @below {{'sched.copy' op access 1 has 8 bytes, but the source has 4}}
    %0 = sched.copy on(compute) (read %x[0 for 4], write %y[0 for 8]) "c"
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  %x = sched.slice "x" transient in device bytes 1024
  %y = sched.slice "y" transient in device bytes 1024
  sched.program @step {
    // expected-error @below {{'sched.fill' op has 1 slices but 2 accesses}}
    %0 = "sched.fill"(%x) {operandSegmentSizes = array<i32: 0, 1>, stream = #sched<stream compute>, label = "f", accesses = [#sched.access<write, 0 for 4 by 0>, #sched.access<write, 0 for 4 by 0>]} : (!sched.slice) -> !sched.timepoint
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  %x = sched.slice "x" transient in device bytes 1024
  %y = sched.slice "y" transient in device bytes 1024
  sched.program @step {
    // expected-error @below {{'sched.launch' op launches @k9, which is no kernel}}
    %0 = sched.launch @k9 on(compute) (read %x[0 for 128], write %y[0 for 128]) "l"
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  %x = sched.slice "x" transient in device bytes 1024
  %y = sched.slice "y" transient in device bytes 1024
  sched.kernel @k0(%0: tensor<4x8xf32>) {
    %1 = nn.kernel rows (%a = %0) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
      %2 = nn.unary neg %a : tensor<4x8xf32> -> tensor<4x8xf32>
      nn.yield %2 : tensor<4x8xf32>
    }
  }
  sched.program @step {
    // expected-error @below {{'sched.launch' op access 1 has 64 bytes, but the kernel's buffer has 128}}
    %0 = sched.launch @k0 on(compute) (read %x[0 for 128], write %y[0 for 64]) "l"
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  %x = sched.slice "x" transient in device bytes 1024
  %y = sched.slice "y" transient in device bytes 1024
  sched.program @step {
    // expected-error @below {{'sched.matmul' op access 3 must be write, not read}}
    %0 = sched.matmul on(compute) (read %x[0 for 128], read %x[0 for 256], write %y[0 for 128], read %x[512 for 64]) "m" batch 1 m 4 n 8 k 8 : f32
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  %x = sched.slice "x" transient in device bytes 1024
  %y = sched.slice "y" transient in device bytes 1024
  sched.program @step {
    // expected-error @below {{'sched.matmul' op access 3 has 64 bytes, but the bias has 32}}
    %0 = sched.matmul on(compute) (read %x[0 for 128], read %x[0 for 256], write %y[0 for 128], read %x[512 for 64]) "m" bias batch 1 m 4 n 8 k 8 : f32
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  %x = sched.slice "x" transient in device bytes 1024
  %y = sched.slice "y" transient in device bytes 1024
  sched.program @step {
    // expected-error @below {{'sched.matmul' op adds to what C has, and so takes no bias}}
    %0 = sched.matmul on(compute) (read %x[0 for 128], read %x[0 for 256], read_write %y[0 for 128], read %x[512 for 32]) "m" accumulate bias batch 1 m 4 n 8 k 8 : f32
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  %x = sched.slice "x" transient in device bytes 1024
  %y = sched.slice "y" transient in device bytes 1024
  sched.program @step {
    // expected-error @below {{'sched.matmul' op access 0 has 64 bytes, but A has 128}}
    %0 = sched.matmul on(compute) (read %x[0 for 64], read %x[0 for 256], write %y[0 for 128]) "m" batch 1 m 4 n 8 k 8 : f32
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  %x = sched.slice "x" transient in device bytes 1024
  %y = sched.slice "y" transient in device bytes 1024
  sched.program @step {
    // expected-error @below {{'sched.matmul' op has an empty size}}
    %0 = sched.matmul on(compute) (read %x[0 for 64], read %x[0 for 256], write %y[0 for 128]) "m" batch 1 m 0 n 8 k 8 : f32
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  %x = sched.slice "x" transient in device bytes 1024
  %y = sched.slice "y" transient in device bytes 1024
  sched.program @step {
    // expected-error @below {{'sched.matmul' op has rows of 8 elements in A, only 7 apart}}
    %0 = sched.matmul on(compute) (read %x[0 for 112], read %x[0 for 256], write %y[0 for 128]) "m" batch 1 m 4 n 8 k 8 : f32 lda 7
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  %x = sched.slice "x" transient in device bytes 1024
  %y = sched.slice "y" transient in device bytes 1024
  sched.program @step {
    // expected-error @below {{'sched.all_gather' op needs two accesses a segment, not 1 in all}}
    %0 = sched.all_gather on(gather) (read %x[0 for 4]) "g" unit 0 : f32 group ["data"] sequence 0 reason "r"
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  %x = sched.slice "x" transient in device bytes 1024
  %y = sched.slice "y" transient in device bytes 1024
  sched.program @step {
    // expected-error @below {{'sched.all_gather' op access 1 has 12 bytes, but the segment of its shard has 8}}
    %0 = sched.all_gather on(gather) (read %x[0 for 4], write %y[0 for 12]) "g" unit 0 : f32 group ["data"] sequence 0 reason "r"
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  %x = sched.slice "x" transient in device bytes 1024
  %y = sched.slice "y" transient in device bytes 1024
  sched.program @step {
    // expected-error @below {{'sched.reduce_scatter' op access 0 has 64 bytes, but the segment of its shard has 128}}
    %0 = sched.reduce_scatter on(scatter) (read %x[0 for 64], write %y[0 for 64], write %y[64 for 128]) "g" unit 0 segment 0 chunk 64 : f32 to f32 group ["data"] sequence 0 reason "r"
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  %x = sched.slice "x" transient in device bytes 1024
  %y = sched.slice "y" transient in device bytes 1024
  sched.program @step {
    // expected-error @below {{'sched.reduce_scatter' op access 2 has 64 bytes, but one chunk a rank has 128}}
    %0 = sched.reduce_scatter on(scatter) (read %x[0 for 128], write %y[0 for 64], write %y[64 for 64]) "g" unit 0 segment 0 chunk 64 : f32 to f32 group ["data"] sequence 0 reason "r"
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  %x = sched.slice "x" transient in device bytes 1024
  %y = sched.slice "y" transient in device bytes 1024
  sched.program @step {
    // expected-error @below {{'sched.reduce_scatter' op with any_order has a chunk of 32 bytes, not of its shard's 64}}
    %0 = sched.reduce_scatter on(scatter) (read %x[0 for 128], write %y[0 for 64]) "g" unit 0 segment 0 any_order chunk 32 : f32 to f32 group ["data"] sequence 0 reason "r"
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  %x = sched.slice "x" transient in device bytes 1024
  %y = sched.slice "y" transient in device bytes 1024
  sched.program @step {
    // expected-error @below {{'sched.reduce_scatter' op access 2 has 128 bytes, but one chunk has 64}}
    %0 = sched.reduce_scatter on(scatter) (read %x[0 for 128], read_write %y[0 for 64], write %y[64 for 128]) "g" unit 0 segment 0 accumulate any_order chunk 64 : f32 to f32 group ["data"] sequence 0 reason "r"
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  %x = sched.slice "x" transient in device bytes 1024
  %y = sched.slice "y" transient in device bytes 1024
  sched.program @step {
    // expected-error @below {{'sched.all_reduce' op access 2 has 4 bytes, but every rank's values together has 8}}
    %0 = sched.all_reduce on(scatter) (read %x[0 for 4], read_write %y[0 for 4], write %y[64 for 4]) "g" : f32 to f32 group ["data"] sequence 0 reason "r"
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  %x = sched.slice "x" transient in device bytes 1024
  %y = sched.slice "y" transient in device bytes 1024
  sched.program @step {
    // expected-error @below {{'sched.all_reduce' op needs pairs of accesses, not 1 in all}}
    %0 = sched.all_reduce on(scatter) (read %x[0 for 4]) "g" : f32 to f32 group ["data"] sequence 0 reason "r"
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  %x = sched.slice "x" transient in device bytes 1024
  %y = sched.slice "y" transient in device bytes 1024
  sched.program @step {
    // expected-error @below {{'sched.all_reduce' op access 1 has 8 bytes, but what is added to it has 4}}
    %0 = sched.all_reduce on(scatter) (read %x[0 for 4], read_write %y[0 for 8]) "g" : f32 to f32 group ["data"] sequence 0 reason "r"
  }
}

// -----

module {
  %x = sched.slice "x" transient in device bytes 1024
  %y = sched.slice "y" transient in device bytes 1024
  sched.program @step {
    // expected-note @below {{which is in order anyway}}
    %0 = sched.fill on(compute) (write %x[0 for 4]) "f"
    // expected-error @below {{'sched.fill' op awaits a step of its own stream compute}}
    %1 = sched.fill on(compute) await(%0) (write %x[0 for 4]) "f"
  }
}

// -----

module {
  %x = sched.slice "x" transient in device bytes 1024
  %y = sched.slice "y" transient in device bytes 1024
  sched.program @micro {
    %0 = sched.fill on(compute) (write %x[0 for 4]) "f"
    // expected-error @below {{'nn.iota' op is not a step, but stands in a sched.program}}
    %1 = nn.iota 0 : tensor<4xi64>
  }
}

// -----

// expected-error @below {{'sched.slice' op 'x' has no bytes}}
%x = sched.slice "x" transient in device bytes 0

// -----

// expected-error @below {{'sched.slice' op 'x' lies at a negative offset}}
%x = sched.slice "x" transient in device bytes 4 at -64

// -----

// expected-error @below {{'sched.slice' op 'x' must be live from one step to another}}
%x = sched.slice "x" transient in device bytes 4 live [1]

// -----

// expected-error @below {{'sched.slice' op 'x' needs to have a tensor type}}
%x = sched.slice "x" scalar in device bytes 4 {scalar = #nn.scalar<"step">}

// -----

// expected-error @below {{'sched.slice' op 'x' arrives anew in each program, and is carried}}
%x = sched.slice "x" scalar in device bytes 4 carried {scalar = #nn.scalar<"step">, tensor = tensor<1xf32>}

// -----

// expected-error @below {{'sched.slice' op 'g' must hold elements of a unit, and be no state}}
%g = sched.slice "g" grad in device bytes 64 holds <-1, "grad", 0 for 16>

// -----

// expected-error @below {{'sched.slice' op 'w' outlives programs, and is not carried}}
%w = sched.slice "w" param_shard in device bytes 64 {state = #zero.state<unit = 0, segment = 0, "param", sharded = true>, tensor = tensor<16xf32>}

// -----

// expected-error @below {{'sched.slice' op 'x' is more than one of state, input, output and scalar}}
%x = sched.slice "x" scalar in device bytes 4 carried {scalar = #nn.scalar<"step">, input = #nn.input<"x", per_sample = true>, tensor = tensor<1xf32>}

// -----

// expected-error @below {{'sched.kernel' op must hold one nn.kernel or nn.matmul}}
sched.kernel @k0(%0: tensor<4xf32>) {
  %1 = nn.unary neg %0 : tensor<4xf32> -> tensor<4xf32>
}

// -----

// expected-error @below {{'sched.kernel' op must have the operands of its op as arguments}}
sched.kernel @k0(%0: tensor<4x4xf32>) {
  %1 = nn.matmul %0, %0 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
}

// -----

%x = sched.slice "x" transient in device bytes 1024
%t = builtin.unrealized_conversion_cast to !sched.timepoint
sched.program @update {
  // expected-error @below {{'sched.fill' op awaits what is not an earlier step of the same program}}
  %1 = sched.fill on(compute) await(%t) (write %x[0 for 4]) "f"
}

// -----

%x = sched.slice "x" transient in device bytes 1024
sched.program @step {
  // expected-error @below {{'sched.fill' op awaits what is not an earlier step of the same program}}
  %0 = sched.fill on(compute) await(%1) (write %x[0 for 4]) "f"
  %1 = sched.fill on(gather) (write %x[0 for 4]) "f"
}

// -----

%x = builtin.unrealized_conversion_cast to !sched.slice
sched.program @step {
  // expected-error @below {{'sched.fill' op access 0 is not of a sched.slice}}
  %0 = sched.fill on(compute) (write %x[0 for 4]) "f"
}

// -----

// expected-error @below {{'sched.program' op has block arguments}}
sched.program @step {
^bb0(%x: !sched.slice):
  %0 = sched.fill on(compute) (write %x[0 for 4]) "f"
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  %x = sched.slice "x" transient in device bytes 4096
  %y = sched.slice "y" transient in device bytes 4096
  sched.program @step {
    // expected-error @below {{'sched.convolution' op samples differ: 'tensor<2x4x8xf32>' and 'tensor<3x8x6xf32>'}}
    %0 = sched.convolution on(compute) (read %x[0 for 256], read %x[0 for 384], write %y[0 for 576]) "c" forward strides [1] low [0] dilations [1] groups 1 : tensor<2x4x8xf32>, tensor<8x4x3xf32> -> tensor<3x8x6xf32>
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  %x = sched.slice "x" transient in device bytes 4096
  %y = sched.slice "y" transient in device bytes 4096
  sched.program @step {
    // expected-error @below {{'sched.convolution' op needs tensor types}}
    %0 = sched.convolution on(compute) (read %x[0 for 256], read %x[0 for 384], write %y[0 for 384]) "c" forward strides [1] low [0] dilations [1] groups 1 : tensor<2x4x8xf32>, f32 -> tensor<2x8x6xf32>
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  %x = sched.slice "x" transient in device bytes 4096
  %y = sched.slice "y" transient in device bytes 4096
  sched.program @step {
    // expected-error @below {{'sched.convolution' op access 1 has 256 bytes, but the right has 384}}
    %0 = sched.convolution on(compute) (read %x[0 for 256], read %x[0 for 256], write %y[0 for 384]) "c" forward strides [1] low [0] dilations [1] groups 1 : tensor<2x4x8xf32>, tensor<8x4x3xf32> -> tensor<2x8x6xf32>
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  %x = sched.slice "x" transient in device bytes 1024
  %y = sched.slice "y" transient in device bytes 1024
  sched.program @step {
    // expected-error @below {{'sched.all_reduce' op goes over axes ["tensor"], not all of them in the mesh #zero.mesh<["data" = 2]>}}
    %0 = sched.all_reduce on(scatter) (read %x[0 for 4], read_write %y[0 for 4]) "g" : f32 to f32 group ["tensor"] sequence 0 reason "r"
  }
}

// -----

%s0 = sched.slice "s0" staging in pinned bytes 128 carried
// expected-error @below {{'sched.program' op has 1 slots, not two}}
sched.program @step slots(%s0) {
}

// -----

%s0 = sched.slice "s0" staging in pinned bytes 128 carried
%s1 = sched.slice "s1" staging in device bytes 128 carried
// expected-error @below {{'sched.program' op has a slot that is no carried slice in pinned memory}}
sched.program @step slots(%s0, %s1) {
}

// -----

%s0 = sched.slice "s0" staging in pinned bytes 128 carried
%s1 = sched.slice "s1" staging in pinned bytes 64 carried
// expected-error @below {{'sched.program' op has slots of 128 and 64 bytes}}
sched.program @step slots(%s0, %s1) {
}

// -----

module {
  %s0 = sched.slice "s0" staging in pinned bytes 128 carried
  %s1 = sched.slice "s1" staging in pinned bytes 128 carried
  %x = sched.slice "x" input in device bytes 64 {input = #nn.input<"x", per_sample = true>, tensor = tensor<16xf32>}
  %r = sched.slice "r" scalar in device bytes 4 {scalar = #nn.scalar<"learning_rate">, tensor = tensor<1xf32>}
  %t = sched.slice "t" transient in device bytes 64
  sched.program @step slots(%s0, %s1) {
    // expected-error @below {{'sched.copy_in' op needs 3 accesses, not 4}}
    %0 = sched.copy_in on(compute) (read %s0[0 for 128], read %s1[0 for 128], write %x[0 for 64], write %r[0 for 4]) "c" from [0]
  }
}

// -----

module {
  %s0 = sched.slice "s0" staging in pinned bytes 128 carried
  %s1 = sched.slice "s1" staging in pinned bytes 128 carried
  %x = sched.slice "x" input in device bytes 64 {input = #nn.input<"x", per_sample = true>, tensor = tensor<16xf32>}
  %r = sched.slice "r" scalar in device bytes 4 {scalar = #nn.scalar<"learning_rate">, tensor = tensor<1xf32>}
  %t = sched.slice "t" transient in device bytes 64
  sched.program @step slots(%s0, %s1) {
    // expected-error @below {{'sched.copy_in' op does not read the slots of @step}}
    %0 = sched.copy_in on(compute) (read %s1[0 for 128], read %s0[0 for 128], write %x[0 for 64]) "c" from [0]
  }
}

// -----

module {
  %s0 = sched.slice "s0" staging in pinned bytes 128 carried
  %s1 = sched.slice "s1" staging in pinned bytes 128 carried
  %x = sched.slice "x" input in device bytes 64 {input = #nn.input<"x", per_sample = true>, tensor = tensor<16xf32>}
  %r = sched.slice "r" scalar in device bytes 4 {scalar = #nn.scalar<"learning_rate">, tensor = tensor<1xf32>}
  %t = sched.slice "t" transient in device bytes 64
  sched.program @step slots(%s0, %s1) {
    // expected-error @below {{'sched.copy_in' op writes 't', which is no input or scalar}}
    %0 = sched.copy_in on(compute) (read %s0[0 for 128], read %s1[0 for 128], write %t[0 for 64]) "c" from [0]
  }
}

// -----

module {
  %s0 = sched.slice "s0" staging in pinned bytes 128 carried
  %s1 = sched.slice "s1" staging in pinned bytes 128 carried
  %x = sched.slice "x" input in device bytes 64 {input = #nn.input<"x", per_sample = true>, tensor = tensor<16xf32>}
  %r = sched.slice "r" scalar in device bytes 4 {scalar = #nn.scalar<"learning_rate">, tensor = tensor<1xf32>}
  %t = sched.slice "t" transient in device bytes 64
  sched.program @step slots(%s0, %s1) {
    // expected-error @below {{'sched.copy_in' op access 2 has 32 bytes, but the slice has 64}}
    %0 = sched.copy_in on(compute) (read %s0[0 for 128], read %s1[0 for 128], write %x[0 for 32]) "c" from [0]
  }
}

// -----

module {
  %s0 = sched.slice "s0" staging in pinned bytes 128 carried
  %s1 = sched.slice "s1" staging in pinned bytes 128 carried
  %x = sched.slice "x" input in device bytes 64 {input = #nn.input<"x", per_sample = true>, tensor = tensor<16xf32>}
  %r = sched.slice "r" scalar in device bytes 4 {scalar = #nn.scalar<"learning_rate">, tensor = tensor<1xf32>}
  %t = sched.slice "t" transient in device bytes 64
  sched.program @step slots(%s0, %s1) {
    // expected-error @below {{'sched.copy_in' op copies 'r' from 32, not a multiple of 64 after what is before it}}
    %0 = sched.copy_in on(compute) (read %s0[0 for 128], read %s1[0 for 128], write %x[0 for 64], write %r[0 for 4]) "c" from [0, 32]
  }
}

// -----

module {
  %s0 = sched.slice "s0" staging in pinned bytes 128 carried
  %s1 = sched.slice "s1" staging in pinned bytes 128 carried
  %x = sched.slice "x" input in device bytes 64 {input = #nn.input<"x", per_sample = true>, tensor = tensor<16xf32>}
  %r = sched.slice "r" scalar in device bytes 4 {scalar = #nn.scalar<"learning_rate">, tensor = tensor<1xf32>}
  %t = sched.slice "t" transient in device bytes 64
  sched.program @step slots(%s0, %s1) {
    // expected-error @below {{'sched.copy_in' op copies 'r' from 0, not a multiple of 64 after what is before it}}
    %0 = sched.copy_in on(compute) (read %s0[0 for 128], read %s1[0 for 128], write %x[0 for 64], write %r[0 for 4]) "c" from [0, 0]
  }
}

// -----

module {
  %s0 = sched.slice "s0" staging in pinned bytes 128 carried
  %s1 = sched.slice "s1" staging in pinned bytes 128 carried
  %x = sched.slice "x" input in device bytes 64 {input = #nn.input<"x", per_sample = true>, tensor = tensor<16xf32>}
  %r = sched.slice "r" scalar in device bytes 4 {scalar = #nn.scalar<"learning_rate">, tensor = tensor<1xf32>}
  %t = sched.slice "t" transient in device bytes 64
  sched.program @step slots(%s0, %s1) {
    // expected-error @below {{'sched.copy_in' op copies 132 bytes of a slot of 128}}
    %0 = sched.copy_in on(compute) (read %s0[0 for 128], read %s1[0 for 128], write %x[0 for 64], write %r[0 for 4]) "c" from [0, 128]
  }
}
