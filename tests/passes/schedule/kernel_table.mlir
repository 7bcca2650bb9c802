// RUN: zerograph-opt %s --sched-lower | FileCheck %s
// RUN: zerograph-opt %s --sched-lower --mlir-print-debuginfo | FileCheck %s
// RUN: zerograph-opt %s --sched-lower --mlir-elide-elementsattrs-if-larger=1 | FileCheck %s

// Kernels are one where they compute the same, wherever they come from; others
// are not, however little of them an option of zerograph-opt lets be printed.

module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  zero.layout units []
  // CHECK: sched.launch @k0 {{.*}} "a"
  // CHECK: sched.launch @k0 {{.*}} "b"
  // CHECK: sched.launch @k1 {{.*}} "c"
  // CHECK: sched.kernel @k0
  // CHECK: sched.kernel @k1
  // CHECK-NOT: sched.kernel
  nn.program @step(%x: tensor<4xf32> {nn.input = #nn.input<"x", per_sample = true>})
      -> (tensor<4xf32> {zero.updates = #zero.state<unit = -1, segment = -1, "loss", sharded = false>}) {
    %a = nn.kernel rows (%0 = %x) : (tensor<4xf32>) -> tensor<4xf32> {
      %1 = nn.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32> loc("a")
      %2 = nn.binary add %0, %1 : tensor<4xf32> loc("a")
      nn.yield %2 : tensor<4xf32> loc("a")
    } loc("a")
    %b = nn.kernel rows (%0 = %a) : (tensor<4xf32>) -> tensor<4xf32> {
      %1 = nn.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32> loc("b")
      %2 = nn.binary add %0, %1 : tensor<4xf32> loc("b")
      nn.yield %2 : tensor<4xf32> loc("b")
    } loc("b")
    %c = nn.kernel rows (%0 = %b) : (tensor<4xf32>) -> tensor<4xf32> {
      %1 = nn.constant dense<[1.0, 2.0, 3.0, 5.0]> : tensor<4xf32> loc("c")
      %2 = nn.binary add %0, %1 : tensor<4xf32> loc("c")
      nn.yield %2 : tensor<4xf32> loc("c")
    } loc("c")
    nn.return %c : tensor<4xf32>
  }
}
