// RUN: zerograph-opt %s --split-input-file --sched-lower | FileCheck %s

// Optimizer states are updated where they are kept, as a kernel that reads
// element by element allows; the gradient is packed where it is computed, its
// gap is filled; equal kernels are one; constants that reset a state are fills.

#unit = #zero.unit<"fc", f32, elements = 1024, trainable = true, persistent = false, reason = "r", axes = ["data"], segments = [512, 512], states = [<"param", f32, sharded = false>], placements = [<<"w", module = "fc", trainable = true, init = normal>, tensor<16x32xf32>, offset = 256>]>
module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  zero.layout units [#unit]
  // CHECK-LABEL: module attributes
  // CHECK: sched.program @step
  nn.program @step(
      %x: tensor<16x32xf32> {nn.input = #nn.input<"x", per_sample = true>},
      %w: tensor<1024xf32> {zero.state = #zero.state<unit = 0, segment = -1, "param", sharded = false>},
      %m: tensor<256xf32> {zero.state = #zero.state<unit = 0, segment = 1, "exp_avg", sharded = true>})
      -> (tensor<256xf32> {zero.updates = #zero.state<unit = 0, segment = 1, "exp_avg", sharded = true>},
          tensor<1024xf32> {zero.updates = #zero.state<unit = 0, segment = -1, "param", sharded = false>},
          tensor<256xf32> {zero.updates = #zero.state<unit = 0, segment = 0, "grad", sharded = true>}) {
    %v = zero.view %w[256] : tensor<1024xf32> -> tensor<16x32xf32>
    // CHECK: sched.launch @k0 on(compute) (read %x[0 for 2048], read %fc.param[1024 for 2048], write %zero.pack[1024 for 2048])
    %g = nn.kernel rows (%a = %x, %b = %v) : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32> {
      %0 = nn.binary mul %a, %b : tensor<16x32xf32>
      nn.yield %0 : tensor<16x32xf32>
    }
    // CHECK: sched.fill on(compute) (write %zero.pack[0 for 1024])
    // CHECK: sched.fill on(compute) (write %zero.pack[3072 for 1024])
    %p = zero.pack %g at [256] unit 0 : tensor<16x32xf32> -> tensor<1024xf32>
    // CHECK: sched.reduce_scatter on(scatter) (read %zero.pack[2048 for 2048], write %zero.pack[2048 for 1024 by 1024], write %staging_of_zero.reduce_scatter[0 for 2048])
    // CHECK-SAME: unit 0 segment 1 chunk 1024 : f32 to f32 group ["data"] sequence 0
    %s = zero.reduce_scatter %p unit 0 segment 1 group ["data"] reason "r" in_place : tensor<1024xf32> -> tensor<256xf32>
    // CHECK: sched.launch @k1 on(compute) (read %fc.exp_avg.1[0 for 1024], read %zero.pack[2048 for 1024 by 1024], write %fc.exp_avg.1[0 for 1024])
    %m2 = nn.kernel rows (%a = %m, %b = %s) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32> {
      %0 = nn.binary sub %a, %b : tensor<256xf32>
      nn.yield %0 : tensor<256xf32>
    }
    %w0 = zero.shard %w unit 0 segment 0 : tensor<1024xf32> -> tensor<256xf32>
    %w1 = zero.shard %w unit 0 segment 1 : tensor<1024xf32> -> tensor<256xf32>
    // CHECK: sched.launch @k1 on(compute) (read %fc.param[2048 for 1024 by 1024], read %fc.exp_avg.1[0 for 1024], write %fc.param[2048 for 1024 by 1024])
    %u1 = nn.kernel rows (%a = %w1, %b = %m2) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32> {
      %0 = nn.binary sub %a, %b : tensor<256xf32>
      nn.yield %0 : tensor<256xf32>
    }
    // CHECK-NEXT: sched.all_gather on(gather) (read %fc.param[0 for 1024 by 1024], write %fc.param[0 for 2048], read %fc.param[2048 for 1024 by 1024], write %fc.param[2048 for 2048])
    %all = zero.all_gather %w0, %u1 unit 0 group ["data"] reason "r" in_place : tensor<256xf32>, tensor<256xf32> -> tensor<1024xf32>
    // CHECK-NEXT: sched.fill on(compute) (write %fc.grad.0[0 for 1024])
    // CHECK-NEXT: }
    %zero = nn.constant dense<0.0> : tensor<256xf32>
    nn.return %m2, %all, %zero : tensor<256xf32>, tensor<1024xf32>, tensor<256xf32>
  }
  // CHECK-DAG: %x = sched.slice "x" input in device bytes 2048 {
  // CHECK-DAG: %fc.param = sched.slice "fc param" param_shard in device bytes 4096 carried
  // CHECK-DAG: %fc.exp_avg.1 = sched.slice "fc exp_avg" optimizer in device bytes 1024 carried
  // CHECK-DAG: %fc.grad.0 = sched.slice "fc grad" grad_shard in device bytes 1024 carried
  // CHECK-DAG: %zero.pack = sched.slice "zero.pack" grad in device bytes 4096 holds <0, "grad", 0 for 1024>
  // CHECK-DAG: %staging_of_zero.reduce_scatter = sched.slice "staging of {{.*}}" staging in device bytes 2048
  // CHECK: sched.kernel @k0
  // CHECK-NOT: sched.kernel @k2
}

// -----

// Where the old value of a state is read after the new one is computed, or not
// element by element, the new one gets bytes of its own and is copied at the
// end.

module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  // CHECK-LABEL: module attributes
  // CHECK: sched.program @step
  nn.program @step(
      %a: tensor<4xf32> {zero.state = #zero.state<unit = -1, segment = -1, "a", sharded = false>},
      %b: tensor<4xf32> {zero.state = #zero.state<unit = -1, segment = -1, "b", sharded = false>})
      -> (tensor<4xf32> {zero.updates = #zero.state<unit = -1, segment = -1, "a", sharded = false>},
          tensor<4xf32> {zero.updates = #zero.state<unit = -1, segment = -1, "b", sharded = false>}) {
    // CHECK: sched.launch @k0 on(compute) (read %a[0 for 16], write %[[NEW:.+]][0 for 16])
    %n = nn.kernel rows (%x = %a) : (tensor<4xf32>) -> tensor<4xf32> {
      %0 = nn.unary neg %x : tensor<4xf32> -> tensor<4xf32>
      nn.yield %0 : tensor<4xf32>
    }
    // CHECK: sched.launch @k1 on(compute) (read %a[0 for 16], read %b[0 for 16], write %[[SUM:.+]][0 for 16])
    %s = nn.kernel rows (%x = %a, %y = %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
      %r = nn.slice %y [3] step [-1] : tensor<4xf32> -> tensor<4xf32>
      %0 = nn.binary add %x, %r : tensor<4xf32>
      nn.yield %0 : tensor<4xf32>
    }
    // CHECK: sched.copy on(compute) (read %[[NEW]][0 for 16], write %a[0 for 16]) "a"
    // CHECK: sched.copy on(compute) (read %[[SUM]][0 for 16], write %b[0 for 16]) "b"
    nn.return %n, %s : tensor<4xf32>, tensor<4xf32>
  }
  // CHECK-DAG: %a = sched.slice "a" scalar in device bytes 16 carried
  // CHECK-DAG: %b = sched.slice "b" scalar in device bytes 16 carried
}

// -----

// A kernel may write where it reads a tensor of another shape: the second has the
// bytes of what the first made.

module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  // CHECK-LABEL: module attributes
  // CHECK: sched.program @step
  nn.program @step(
      %a: tensor<4xf32> {zero.state = #zero.state<unit = -1, segment = -1, "a", sharded = false>},
      %b: tensor<4xf32> {zero.state = #zero.state<unit = -1, segment = -1, "b", sharded = false>})
      -> (tensor<4xf32> {zero.updates = #zero.state<unit = -1, segment = -1, "a", sharded = false>}) {
    // CHECK: sched.launch @k0 on(compute) (read %b[0 for 16], write %[[N:.+]][0 for 16])
    %n = nn.kernel rows (%x = %b) : (tensor<4xf32>) -> tensor<1x4xf32> {
      %0 = nn.unary neg %x : tensor<4xf32> -> tensor<4xf32>
      %1 = nn.reshape %0 : tensor<4xf32> -> tensor<1x4xf32>
      nn.yield %1 : tensor<1x4xf32>
    }
    // CHECK: sched.launch @k1 on(compute) (read %[[N]][0 for 16], write %[[N]][0 for 16])
    %m = nn.kernel rows (%x = %n) : (tensor<1x4xf32>) -> tensor<2x2xf32> {
      %0 = nn.unary exp %x : tensor<1x4xf32> -> tensor<1x4xf32>
      %1 = nn.reshape %0 : tensor<1x4xf32> -> tensor<2x2xf32>
      nn.yield %1 : tensor<2x2xf32>
    }
    // CHECK: sched.launch @k2 on(compute) (read %[[N]][0 for 16], read %a[0 for 16], write %a[0 for 16])
    %s = nn.kernel rows (%x = %m, %y = %a) : (tensor<2x2xf32>, tensor<4xf32>) -> tensor<4xf32> {
      %0 = nn.reshape %x : tensor<2x2xf32> -> tensor<4xf32>
      %1 = nn.binary add %0, %y : tensor<4xf32>
      nn.yield %1 : tensor<4xf32>
    }
    nn.return %s : tensor<4xf32>
  }
}

// -----

// A value that two packs want is copied into the second; one that is read after
// an in-place reduction has taken its bytes, too. Sums without an accumulator
// begin at zero. Inputs, then scalars, come through the program's two slots.

#unit = #zero.unit<"fc", f32, elements = 256, trainable = true, persistent = false, reason = "r", axes = ["data"], segments = [256], states = [<"param", f32, sharded = false>], placements = [<<"w", module = "fc", trainable = true, init = normal>, tensor<16x16xf32>, offset = 0>]>
module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  zero.layout units [#unit]
  // CHECK-LABEL: module attributes
  // CHECK: sched.program @step slots(%slot_0_of_step, %slot_1_of_step)
  // CHECK-NEXT: sched.copy_in on(compute) (read %slot_0_of_step[0 for 1088], read %slot_1_of_step[0 for 1088], write %x[0 for 1024], write %stop[0 for 4]) "inputs and scalars" from [0, 1024]
  nn.program @step(%x: tensor<256xf32> {nn.input = #nn.input<"x", per_sample = false>}, %s: tensor<1xf32> {nn.scalar = #nn.scalar<"stop">})
      -> (tensor<256xf32> {zero.updates = #zero.state<unit = 0, segment = 0, "param", sharded = true>}, tensor<1xf32> {zero.updates = #zero.state<unit = -1, segment = -1, "stop", sharded = false>}) {
    // CHECK: sched.launch @k0 {{.*}}, write %[[OWN:.+]][0 for 1024])
    %g = nn.kernel rows (%a = %x) : (tensor<256xf32>) -> tensor<256xf32> {
      %0 = nn.unary neg %a : tensor<256xf32> -> tensor<256xf32>
      nn.yield %0 : tensor<256xf32>
    }
    // CHECK: sched.copy on(compute) (read %[[OWN]][0 for 1024], write %[[P:.+]][0 for 1024])
    %p = zero.pack %g at [0] unit 0 : tensor<256xf32> -> tensor<256xf32>
    // CHECK: sched.reduce_scatter on(scatter) (read %[[P]][0 for 1024], write %[[P]][0 for 1024 by 1024]
    %r = zero.reduce_scatter %p unit 0 segment 0 group ["data"] reason "r" in_place : tensor<256xf32> -> tensor<256xf32>
    // CHECK: sched.launch @k1 {{.*}}read %[[OWN]][0 for 1024]
    %u = nn.kernel rows (%a = %r, %b = %g) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32> {
      %0 = nn.binary sub %a, %b : tensor<256xf32>
      nn.yield %0 : tensor<256xf32>
    }
    // CHECK: sched.fill on(compute) (write %[[STOP:.+]][0 for 4])
    // CHECK: sched.all_reduce on(scatter) (read %{{.+}}[0 for 4], read_write %[[STOP]][0 for 4])
    %t = zero.all_reduce %s group ["data"] reason "r" : tensor<1xf32> -> tensor<1xf32>
    nn.return %u, %t : tensor<256xf32>, tensor<1xf32>
  }
  // CHECK-DAG: %x = sched.slice "x" input in device bytes 1024 {
  // CHECK-DAG: %stop = sched.slice "stop" scalar in device bytes 4 {
  // CHECK-DAG: %slot_0_of_step = sched.slice "slot 0 of step" staging in pinned bytes 1088 carried
  // CHECK-DAG: %slot_1_of_step = sched.slice "slot 1 of step" staging in pinned bytes 1088 carried
}

// -----

// Rows are added into a table where it lies: the product that begins a tied
// gradient lands where the gradient is packed.

#unit = #zero.unit<"fc", f32, elements = 256, trainable = true, persistent = false, reason = "r", axes = ["data"], segments = [256], states = [<"param", f32, sharded = false>], placements = [<<"w", module = "fc", trainable = true, init = normal>, tensor<16x16xf32>, offset = 0>]>
module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  zero.layout units [#unit]
  // CHECK-LABEL: module attributes
  // CHECK: sched.program @step
  nn.program @step(%i: tensor<4xi64> {nn.input = #nn.input<"i", per_sample = false>}, %x: tensor<4x16xf32> {nn.input = #nn.input<"x", per_sample = false>})
      -> (tensor<256xf32> {zero.updates = #zero.state<unit = 0, segment = 0, "grad", sharded = true>}) {
    // CHECK-NEXT: sched.copy_in
    // CHECK-NEXT: sched.matmul on(compute) (read %x[0 for 256], read %x[0 for 256], write %[[FLAT:.+]][0 for 1024])
    %0 = nn.matmul %x, %x transpose_a : tensor<4x16xf32>, tensor<4x16xf32> -> tensor<16x16xf32>
    %1 = nn.reshape %0 : tensor<16x16xf32> -> tensor<256xf32>
    // CHECK-NEXT: sched.launch @k0 on(compute) (read %i[0 for 32], read %x[0 for 256], read %[[FLAT]][0 for 1024], write %[[FLAT]][0 for 1024])
    %2 = nn.kernel scatter (%a = %i, %b = %x, %c = %1) : (tensor<4xi64>, tensor<4x16xf32>, tensor<256xf32>) -> tensor<16x16xf32> {
      %t = nn.reshape %c : tensor<256xf32> -> tensor<16x16xf32>
      %r = nn.scatter sum %a, %b into %t : tensor<4xi64>, tensor<4x16xf32> -> tensor<16x16xf32>
      nn.yield %r : tensor<16x16xf32>
    }
    // CHECK-NEXT: sched.reduce_scatter
    %p = zero.pack %2 at [0] unit 0 : tensor<16x16xf32> -> tensor<256xf32>
    %g = zero.reduce_scatter %p unit 0 segment 0 group ["data"] reason "r" in_place : tensor<256xf32> -> tensor<256xf32>
    nn.return %g : tensor<256xf32>
  }
  // CHECK-DAG: %i = sched.slice "i"
  // CHECK-DAG: %x = sched.slice "x"
}

// -----

// A table that is read later, or of which the rows are made, keeps its bytes:
// the kernel copies it. A state that is added to stays where it is.

module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  // CHECK-LABEL: module attributes
  // CHECK: sched.program @step
  nn.program @step(
      %i: tensor<4xi64> {nn.input = #nn.input<"i", per_sample = false>},
      %s: tensor<4x4xf32> {zero.state = #zero.state<unit = -1, segment = -1, "s", sharded = false>})
      -> (tensor<4x4xf32> {zero.updates = #zero.state<unit = -1, segment = -1, "s", sharded = false>},
          tensor<4x4xf32> {zero.updates = #zero.state<unit = -1, segment = -1, "a", sharded = false>},
          tensor<4x4xf32> {zero.updates = #zero.state<unit = -1, segment = -1, "b", sharded = false>},
          tensor<4x4xf32> {zero.updates = #zero.state<unit = -1, segment = -1, "c", sharded = false>}) {
    // CHECK-NEXT: sched.copy_in
    // CHECK-NEXT: sched.launch @k0 on(compute) (read %s[0 for 64], write %[[U:.+]][0 for 64])
    %u = nn.kernel rows (%x = %s) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
      %0 = nn.unary neg %x : tensor<4x4xf32> -> tensor<4x4xf32>
      nn.yield %0 : tensor<4x4xf32>
    }
    // The rows are made of the table in the kernel.
    // CHECK-NEXT: sched.launch @k1 on(compute) (read %i[0 for 32], read %[[U]][0 for 64], write %c[0 for 64])
    %c = nn.kernel scatter (%x = %i, %z = %u) : (tensor<4xi64>, tensor<4x4xf32>) -> tensor<4x4xf32> {
      %0 = nn.unary exp %z : tensor<4x4xf32> -> tensor<4x4xf32>
      %1 = nn.scatter sum %x, %0 into %z : tensor<4xi64>, tensor<4x4xf32> -> tensor<4x4xf32>
      nn.yield %1 : tensor<4x4xf32>
    }
    // CHECK-NEXT: sched.launch @k0 on(compute) (read %s[0 for 64], write %[[T:.+]][0 for 64])
    %t = nn.kernel rows (%x = %s) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
      %0 = nn.unary neg %x : tensor<4x4xf32> -> tensor<4x4xf32>
      nn.yield %0 : tensor<4x4xf32>
    }
    // Read later.
    // CHECK-NEXT: sched.launch @k2 on(compute) (read %i[0 for 32], read %s[0 for 64], read %[[T]][0 for 64], write %a[0 for 64])
    %a = nn.kernel scatter (%x = %i, %y = %s, %z = %t) : (tensor<4xi64>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> {
      %0 = nn.scatter sum %x, %y into %z : tensor<4xi64>, tensor<4x4xf32> -> tensor<4x4xf32>
      nn.yield %0 : tensor<4x4xf32>
    }
    // The rows too.
    // CHECK-NEXT: sched.launch @k2 on(compute) (read %i[0 for 32], read %[[T]][0 for 64], read %[[T]][0 for 64], write %b[0 for 64])
    %b = nn.kernel scatter (%x = %i, %y = %t, %z = %t) : (tensor<4xi64>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> {
      %0 = nn.scatter sum %x, %y into %z : tensor<4xi64>, tensor<4x4xf32> -> tensor<4x4xf32>
      nn.yield %0 : tensor<4x4xf32>
    }
    // CHECK-NEXT: sched.launch @k2 on(compute) (read %i[0 for 32], read %b[0 for 64], read %s[0 for 64], write %s[0 for 64])
    %n = nn.kernel scatter (%x = %i, %y = %b, %z = %s) : (tensor<4xi64>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> {
      %0 = nn.scatter sum %x, %y into %z : tensor<4xi64>, tensor<4x4xf32> -> tensor<4x4xf32>
      nn.yield %0 : tensor<4x4xf32>
    }
    // CHECK-NEXT: }
    nn.return %n, %a, %b, %c : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
  }
  // CHECK-DAG: %i = sched.slice "i" input
  // CHECK-DAG: %s = sched.slice "s" scalar
  // CHECK-DAG: %c = sched.slice "c" scalar
  // CHECK-DAG: %a = sched.slice "a" scalar
  // CHECK-DAG: %b = sched.slice "b" scalar
}

// -----

// An element that reaches another place is read after that place is written:
// the transposition gets bytes of its own and is copied.

module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  // CHECK-LABEL: module attributes
  // CHECK: sched.program @step
  nn.program @step(
      %m: tensor<16x16xf32> {zero.state = #zero.state<unit = -1, segment = -1, "m", sharded = false>})
      -> (tensor<16x16xf32> {zero.updates = #zero.state<unit = -1, segment = -1, "m", sharded = false>}) {
    // CHECK: sched.launch @k0 on(compute) (read %m[0 for 1024], write %[[T:.+]][0 for 1024])
    // CHECK: sched.copy on(compute) (read %[[T]][0 for 1024], write %m[0 for 1024])
    %t = nn.kernel rows (%a = %m) : (tensor<16x16xf32>) -> tensor<16x16xf32> {
      %0 = nn.unary neg %a : tensor<16x16xf32> -> tensor<16x16xf32>
      %1 = nn.transpose %0 [1, 0] : tensor<16x16xf32> -> tensor<16x16xf32>
      nn.yield %1 : tensor<16x16xf32>
    }
    nn.return %t : tensor<16x16xf32>
  }
  // CHECK-DAG: %m = sched.slice "m" scalar in device bytes 1024 carried
}

// -----

// A convolution is one library call on the buffers of its operands, and its
// result lands where it is packed.

#unit = #zero.unit<"fc", f32, elements = 256, trainable = true, persistent = false, reason = "r", axes = ["data"], segments = [256], states = [<"param", f32, sharded = false>], placements = [<<"w", module = "fc", trainable = true, init = normal>, tensor<16x16xf32>, offset = 0>]>
module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  zero.layout units [#unit]
  // CHECK-LABEL: module attributes
  // CHECK: sched.program @step
  nn.program @step(%x: tensor<2x4x10xf32> {nn.input = #nn.input<"x", per_sample = false>}, %y: tensor<2x16x7xf32> {nn.input = #nn.input<"y", per_sample = false>})
      -> (tensor<256xf32> {zero.updates = #zero.state<unit = 0, segment = 0, "grad", sharded = true>}) {
    // CHECK-NEXT: sched.copy_in
    // CHECK-NEXT: sched.convolution on(compute) (read %x[0 for 320], read %y[0 for 896], write %[[FLAT:.+]][0 for 1024]) {{.*}} weights strides [1] low [0] dilations [1] groups 1 : tensor<2x4x10xf32>, tensor<2x16x7xf32> -> tensor<16x4x4xf32>
    %0 = nn.convolution weights %x, %y strides [1] low [0] dilations [1] groups 1 : tensor<2x4x10xf32>, tensor<2x16x7xf32> -> tensor<16x4x4xf32>
    // CHECK-NEXT: sched.reduce_scatter
    %p = zero.pack %0 at [0] unit 0 : tensor<16x4x4xf32> -> tensor<256xf32>
    %g = zero.reduce_scatter %p unit 0 segment 0 group ["data"] reason "r" in_place : tensor<256xf32> -> tensor<256xf32>
    nn.return %g : tensor<256xf32>
  }
  // CHECK-DAG: %x = sched.slice "x"
  // CHECK-DAG: %y = sched.slice "y"
}

// -----

// Rows are read where they lie, and made where they belong; products are added
// to what is there.

module {
  // CHECK-LABEL: sched.program @rows
  nn.program @rows(
      %x: tensor<128x16xf32> {nn.input = #nn.input<"x", per_sample = true>},
      %w: tensor<16x16xf32> {nn.input = #nn.input<"w", per_sample = false>})
      -> (tensor<16x16xf32> {zero.output = #zero.output<"dw", per_sample = false>},
          tensor<128x16xf32> {zero.output = #zero.output<"y", per_sample = false>}) {
    %x0 = nn.take_rows %x from 0 : tensor<128x16xf32> -> tensor<64x16xf32>
    // CHECK: sched.matmul on(compute) (read %x[0 for 4096], read %w[0 for 1024], write %y[0 for 4096])
    %y0 = nn.matmul %x0, %w : tensor<64x16xf32>, tensor<16x16xf32> -> tensor<64x16xf32>
    // CHECK: sched.matmul on(compute) (read %y[0 for 4096], read %x[0 for 4096], write %dw[0 for 1024])
    %d0 = nn.matmul %y0, %x0 transpose_a : tensor<64x16xf32>, tensor<64x16xf32> -> tensor<16x16xf32>
    %x1 = nn.take_rows %x from 64 : tensor<128x16xf32> -> tensor<64x16xf32>
    // CHECK: sched.matmul on(compute) (read %x[4096 for 4096], read %w[0 for 1024], write %y[4096 for 4096])
    %y1 = nn.matmul %x1, %w : tensor<64x16xf32>, tensor<16x16xf32> -> tensor<64x16xf32>
    // CHECK: sched.matmul on(compute) (read %y[4096 for 4096], read %x[4096 for 4096], read_write %dw[0 for 1024])
    // CHECK-SAME: accumulate batch 1 m 16 n 16 k 64 : f32 transpose_a
    %d1 = nn.matmul %y1, %x1 transpose_a into %d0 : tensor<16x16xf32> : tensor<64x16xf32>, tensor<64x16xf32> -> tensor<16x16xf32>
    %y = nn.join_rows %y0, %y1 : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<128x16xf32>
    nn.return %d1, %y : tensor<16x16xf32>, tensor<128x16xf32>
  }
}

// -----

// A library reads the bias after the result, and its scratch follows.

module {
  // CHECK-LABEL: sched.program @biased
  nn.program @biased(
      %x: tensor<64x16xf32> {nn.input = #nn.input<"x", per_sample = true>},
      %b: tensor<16xf32> {nn.input = #nn.input<"b", per_sample = false>})
      -> (tensor<16x16xf32> {zero.output = #zero.output<"y", per_sample = false>}) {
    // CHECK: sched.matmul on(compute) (read %x[0 for 4096], read %x[0 for 4096], write %y[0 for 1024], read %b[0 for 64])
    // CHECK-SAME: bias batch 1 m 16 n 16 k 64 : f32 transpose_a
    %0 = nn.matmul %x, %x transpose_a bias %b : tensor<16xf32> : tensor<64x16xf32>, tensor<64x16xf32> -> tensor<16x16xf32>
    nn.return %0 : tensor<16x16xf32>
  }
}

// -----

// A sum that is read later is copied before products are added to it.

module {
  // CHECK-LABEL: sched.program @copied
  nn.program @copied(
      %x: tensor<64x16xf32> {nn.input = #nn.input<"x", per_sample = true>},
      %c: tensor<16x16xf32> {nn.input = #nn.input<"c", per_sample = false>})
      -> (tensor<16x16xf32> {zero.output = #zero.output<"sum", per_sample = false>}) {
    // CHECK: sched.copy on(compute) (read %c[0 for 1024], write %sum[0 for 1024])
    // CHECK: sched.matmul on(compute) (read %x[0 for 4096], read %x[0 for 4096], read_write %sum[0 for 1024])
    %0 = nn.matmul %x, %x transpose_a into %c : tensor<16x16xf32> : tensor<64x16xf32>, tensor<64x16xf32> -> tensor<16x16xf32>
    nn.return %0 : tensor<16x16xf32>
  }
}

// -----

// A part of joined rows that is read after their sum over ranks replaced them
// lies elsewhere and is copied.

#unit = #zero.unit<"fc", f32, elements = 512, trainable = true, persistent = false, reason = "r", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"w", module = "fc", trainable = true, init = normal>, tensor<32x16xf32>, offset = 0>]>
module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  zero.layout units [#unit]
  // CHECK-LABEL: sched.program @late
  nn.program @late(
      %x: tensor<16x16xf32> {nn.input = #nn.input<"x", per_sample = true>},
      %y: tensor<16x16xf32> {nn.input = #nn.input<"y", per_sample = true>})
      -> (tensor<256xf32> {zero.updates = #zero.state<unit = 0, segment = 0, "grad", sharded = true>},
          tensor<16x16xf32> {zero.output = #zero.output<"z", per_sample = false>}) {
    // CHECK: sched.launch @[[K:.+]] on(compute) (read %x[0 for 1024], write %[[G:nn.kernel]][0 for 1024])
    %g = nn.kernel rows (%a = %x) : (tensor<16x16xf32>) -> tensor<16x16xf32> {
      %0 = nn.unary exp %a : tensor<16x16xf32> -> tensor<16x16xf32>
      nn.yield %0 : tensor<16x16xf32>
    }
    // CHECK: sched.launch @[[K]] on(compute) (read %y[0 for 1024], write %zero.pack[1024 for 1024])
    %h = nn.kernel rows (%a = %y) : (tensor<16x16xf32>) -> tensor<16x16xf32> {
      %0 = nn.unary exp %a : tensor<16x16xf32> -> tensor<16x16xf32>
      nn.yield %0 : tensor<16x16xf32>
    }
    // CHECK: sched.copy on(compute) (read %[[G]][0 for 1024], write %zero.pack[0 for 1024])
    %j = nn.join_rows %g, %h : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<32x16xf32>
    %p = zero.pack %j at [0] unit 0 : tensor<32x16xf32> -> tensor<512xf32>
    // CHECK: sched.reduce_scatter
    %s = zero.reduce_scatter %p unit 0 segment 0 group ["data"] reason "r" in_place : tensor<512xf32> -> tensor<256xf32>
    // CHECK: sched.launch @{{.+}} on(compute) (read %[[G]][0 for 1024], write %z[0 for 1024])
    %z = nn.kernel rows (%a = %g) : (tensor<16x16xf32>) -> tensor<16x16xf32> {
      %0 = nn.unary tanh %a : tensor<16x16xf32> -> tensor<16x16xf32>
      nn.yield %0 : tensor<16x16xf32>
    }
    nn.return %s, %z : tensor<256xf32>, tensor<16x16xf32>
  }
}

// -----

// A kernel writes where it reads for the last time, also what depends on a whole
// row; not where another step reads later, or where it reads other rows or their
// sums.

module {
  // CHECK-LABEL: sched.program @in_place
  nn.program @in_place(
      %x: tensor<16x16xf32> {nn.input = #nn.input<"x", per_sample = true>})
      -> (tensor<16x16xf32> {zero.output = #zero.output<"y", per_sample = false>}) {
    // CHECK: sched.launch @{{k[0-9]+}} on(compute) (read %x[0 for 1024], write %[[A:.+]][0 for 1024])
    %e = nn.kernel rows (%a = %x) : (tensor<16x16xf32>) -> tensor<16x16xf32> {
      %0 = nn.unary exp %a : tensor<16x16xf32> -> tensor<16x16xf32>
      nn.yield %0 : tensor<16x16xf32>
    }
    // CHECK: sched.launch @{{k[0-9]+}} on(compute) (read %[[A]][0 for 1024], write %[[A]][0 for 1024])
    %p = nn.kernel rows (%a = %e) : (tensor<16x16xf32>) -> tensor<16x16xf32> {
      %0 = nn.reduce sum %a [1] : tensor<16x16xf32> -> tensor<16x1xf32>
      %1 = nn.broadcast %0 : tensor<16x1xf32> -> tensor<16x16xf32>
      %2 = nn.binary div %a, %1 : tensor<16x16xf32>
      nn.yield %2 : tensor<16x16xf32>
    }
    // CHECK: sched.launch @{{k[0-9]+}} on(compute) (read %[[A]][0 for 1024], write %[[A]][0 for 1024])
    %q = nn.kernel rows (%a = %p) : (tensor<16x16xf32>) -> tensor<16x16xf32> {
      %0 = nn.unary exp %a : tensor<16x16xf32> -> tensor<16x16xf32>
      nn.yield %0 : tensor<16x16xf32>
    }
    // CHECK: sched.launch @{{k[0-9]+}} on(compute) (read %[[A]][0 for 1024], write %[[C:.+]][0 for 1024])
    %c = nn.kernel rows (%a = %q) : (tensor<16x16xf32>) -> tensor<16x16xf32> {
      %0 = nn.reduce sum %a [1] : tensor<16x16xf32> -> tensor<16x1xf32>
      %1 = nn.reshape %0 : tensor<16x1xf32> -> tensor<1x16xf32>
      %2 = nn.broadcast %1 : tensor<1x16xf32> -> tensor<16x16xf32>
      %3 = nn.binary div %a, %2 : tensor<16x16xf32>
      nn.yield %3 : tensor<16x16xf32>
    }
    // CHECK: sched.launch @{{k[0-9]+}} on(compute) (read %[[C]][0 for 1024], write %[[B:.+]][0 for 1024])
    %t = nn.kernel rows (%a = %c) : (tensor<16x16xf32>) -> tensor<16x16xf32> {
      %0 = nn.transpose %a [1, 0] : tensor<16x16xf32> -> tensor<16x16xf32>
      %1 = nn.binary add %a, %0 : tensor<16x16xf32>
      nn.yield %1 : tensor<16x16xf32>
    }
    // CHECK: sched.launch @{{k[0-9]+}} on(compute) (read %[[C]][0 for 1024], read %[[B]][0 for 1024], write %y[0 for 1024])
    %y = nn.kernel rows (%a = %c, %b = %t) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> {
      %0 = nn.binary mul %a, %b : tensor<16x16xf32>
      nn.yield %0 : tensor<16x16xf32>
    }
    nn.return %y : tensor<16x16xf32>
  }
}
