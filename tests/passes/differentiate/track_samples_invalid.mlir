// RUN: zerograph-opt %s --nn-track-samples --split-input-file --verify-diagnostics

// expected-error @+1 {{has no function @forward to follow samples through}}
module {
}

// -----

// Every dropout is reported, with the op that mixed the samples.

nn.program @forward(
    %x: tensor<4x4xf32> {nn.input = #nn.input<"x", per_sample = true>},
    %w: tensor<4x4xf32> {nn.parameter = #nn.parameter<"w", module = "", trainable = true, init = normal>},
    %n: tensor<2xi64> {nn.input = #nn.input<"n", per_sample = false>}) {
  %t = nn.transpose %x [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
  %r = nn.reshape %t : tensor<4x4xf32> -> tensor<8x2xf32> loc("flat")
  // expected-error @+1 {{dropout needs the samples of its input in one dimension, so that its random numbers do not depend on how samples are divided, and they cannot be followed through node 'flat' (nn.reshape); turn dropout off (--dropout 0) or move it before that node}}
  %0, %m0 = nn.dropout %r ratio 0.1 number 0 : tensor<8x2xf32> -> tensor<8x2xi1>
  %u = nn.unary neg %r : tensor<8x2xf32> -> tensor<8x2xf32>
  // expected-error @+1 {{cannot be followed through node 'flat' (nn.reshape)}}
  %1, %m1 = nn.dropout %u ratio 0.1 number 1 : tensor<8x2xf32> -> tensor<8x2xi1>
  %g = nn.gather %x, %n : tensor<4x4xf32>, tensor<2xi64> -> tensor<2x4xf32> loc("pick")
  // expected-error @+1 {{cannot be followed through node 'pick' (nn.gather)}}
  %2, %m2 = nn.dropout %g ratio 0.1 number 2 : tensor<2x4xf32> -> tensor<2x4xi1>
  %s = nn.slice %x [1, 0] step [1, 1] : tensor<4x4xf32> -> tensor<2x4xf32> loc("some")
  // expected-error @+1 {{cannot be followed through node 'some' (nn.slice)}}
  %3, %m3 = nn.dropout %s ratio 0.1 number 3 : tensor<2x4xf32> -> tensor<2x4xi1>
  %p = nn.pad %x [1, 0] value 0.0 : f32 : tensor<4x4xf32> -> tensor<8x4xf32> loc("more")
  // expected-error @+1 {{cannot be followed through node 'more' (nn.pad)}}
  %4, %m4 = nn.dropout %p ratio 0.1 number 4 : tensor<8x4xf32> -> tensor<8x4xi1>
  %c = nn.concat %x, %x dim 0 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32> loc("joined")
  // expected-error @+1 {{cannot be followed through node 'joined' (nn.concat)}}
  %5, %m5 = nn.dropout %c ratio 0.1 number 5 : tensor<8x4xf32> -> tensor<8x4xi1>
  %q = nn.matmul %x, %x transpose_b : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32> loc("gram")
  // expected-error @+1 {{cannot be followed through node 'gram' (nn.matmul)}}
  %6, %m6 = nn.dropout %q ratio 0.1 number 6 : tensor<4x4xf32> -> tensor<4x4xi1>
  %v = nn.matmul %x, %w transpose_a : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32> loc("summed")
  // expected-error @+1 {{cannot be followed through node 'summed' (nn.matmul)}}
  %7, %m7 = nn.dropout %v ratio 0.1 number 7 : tensor<4x4xf32> -> tensor<4x4xi1>
  %k = nn.cumsum %x dim 0 : tensor<4x4xf32> loc("running")
  // expected-error @+1 {{cannot be followed through node 'running' (nn.cumsum)}}
  %8, %m8 = nn.dropout %k ratio 0.1 number 8 : tensor<4x4xf32> -> tensor<4x4xi1>
  %f = nn.pool sum %x dim 0 window 1 stride 1 dilation 1 low 0 : tensor<4x4xf32> -> tensor<4x4xf32> loc("windows")
  // expected-error @+1 {{cannot be followed through node 'windows' (nn.pool)}}
  %12, %m12 = nn.dropout %f ratio 0.1 number 12 : tensor<4x4xf32> -> tensor<4x4xi1>
  %e = nn.reduce max %x [0] : tensor<4x4xf32> -> tensor<1x4xf32> loc("best")
  // expected-error @+1 {{cannot be followed through node 'best' (nn.reduce)}}
  %9, %m9 = nn.dropout %e ratio 0.1 number 9 : tensor<1x4xf32> -> tensor<1x4xi1>
  %a = nn.binary add %x, %t : tensor<4x4xf32> loc("both")
  // expected-error @+1 {{cannot be followed through node 'both' (nn.binary)}}
  %10, %m10 = nn.dropout %a ratio 0.1 number 10 : tensor<4x4xf32> -> tensor<4x4xi1>
  %o = nn.constant dense<[3, 2, 1, 0]> : tensor<4xi64>
  %h = nn.scatter max %o, %x into %w : tensor<4xi64>, tensor<4x4xf32> -> tensor<4x4xf32> loc("spread")
  // expected-error @+1 {{cannot be followed through node 'spread' (nn.scatter)}}
  %11, %m11 = nn.dropout %h ratio 0.1 number 11 : tensor<4x4xf32> -> tensor<4x4xi1>
  nn.return
}

// -----

// Row numbers that begin with a sample's place and end in another sample's rows.

nn.program @forward(
    %x: tensor<4x5x3xf32> {nn.input = #nn.input<"x", per_sample = true>},
    %i: tensor<4xi64> {nn.input = #nn.input<"i", per_sample = true>}) {
  %t = nn.reshape %x : tensor<4x5x3xf32> -> tensor<20x3xf32>
  %n = nn.iota 0 : tensor<4xi64>
  %five = nn.constant dense<5> : tensor<4xi64>
  %b = nn.binary mul %n, %five : tensor<4xi64>
  %above = nn.constant dense<[5, 4, 0, 0]> : tensor<4xi64>
  %r0 = nn.binary add %b, %above : tensor<4xi64>
  %g0 = nn.gather %t, %r0 : tensor<20x3xf32>, tensor<4xi64> -> tensor<4x3xf32> loc("above")
  // expected-error @+1 {{cannot be followed through node 'above' (nn.gather)}}
  %0, %m0 = nn.dropout %g0 ratio 0.1 number 0 : tensor<4x3xf32> -> tensor<4x3xi1>
  %below = nn.constant dense<[0, -1, 4, 4]> : tensor<4xi64>
  %r1 = nn.binary add %below, %b : tensor<4xi64>
  %g1 = nn.gather %t, %r1 : tensor<20x3xf32>, tensor<4xi64> -> tensor<4x3xf32> loc("below")
  // expected-error @+1 {{cannot be followed through node 'below' (nn.gather)}}
  %1, %m1 = nn.dropout %g1 ratio 0.1 number 1 : tensor<4x3xf32> -> tensor<4x3xi1>
  %back = nn.binary add %b, %i : tensor<4xi64>
  %r2 = nn.binary add %back, %b : tensor<4xi64>
  %g2 = nn.gather %t, %r2 : tensor<20x3xf32>, tensor<4xi64> -> tensor<4x3xf32> loc("twice")
  // expected-error @+1 {{cannot be followed through node 'twice' (nn.gather)}}
  %2, %m2 = nn.dropout %g2 ratio 0.1 number 2 : tensor<4x3xf32> -> tensor<4x3xi1>
  %two = nn.constant dense<2> : tensor<5xi64>
  %line = nn.iota 0 : tensor<5xi64>
  %steps = nn.binary mul %line, %two : tensor<5xi64>
  %e = nn.reshape %steps : tensor<5xi64> -> tensor<1x5xi64>
  %e4 = nn.broadcast %e : tensor<1x5xi64> -> tensor<4x5xi64>
  %c = nn.reshape %b : tensor<4xi64> -> tensor<4x1xi64>
  %c5 = nn.broadcast %c : tensor<4x1xi64> -> tensor<4x5xi64>
  %r3 = nn.binary add %c5, %e4 : tensor<4x5xi64>
  %g3 = nn.gather %t, %r3 : tensor<20x3xf32>, tensor<4x5xi64> -> tensor<4x5x3xf32> loc("steps")
  // expected-error @+1 {{cannot be followed through node 'steps' (nn.gather)}}
  %3, %m3 = nn.dropout %g3 ratio 0.1 number 3 : tensor<4x5x3xf32> -> tensor<4x5x3xi1>
  nn.return
}
