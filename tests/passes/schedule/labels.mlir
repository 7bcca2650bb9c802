// RUN: zerograph-opt %s --sched-lower | FileCheck %s

// What nobody named is called after the node that first reads its result, or
// else that made what it reads. A slice is called after the last that is made
// there.

module attributes {zero.mesh = #zero.mesh<["data" = 1]>} {
  zero.layout units []
  // CHECK: sched.launch @k0 {{.*}} "nn.kernel for node_add"
  // CHECK: sched.launch @k0 {{.*}} "node_add"
  // CHECK: sched.launch @k0 {{.*}} "nn.kernel after node_add"
  // CHECK: sched.slice "node_add"
  nn.program @step(%x: tensor<4xf32> {nn.input = #nn.input<"x", per_sample = true>})
      -> (tensor<4xf32> {zero.updates = #zero.state<unit = -1, segment = -1, "loss", sharded = false>}) {
    %a = nn.kernel rows (%0 = %x) : (tensor<4xf32>) -> tensor<4xf32> {
      %1 = nn.unary exp %0 : tensor<4xf32> -> tensor<4xf32>
      nn.yield %1 : tensor<4xf32>
    }
    %b = nn.kernel rows (%0 = %a) : (tensor<4xf32>) -> tensor<4xf32> {
      %1 = nn.unary exp %0 : tensor<4xf32> -> tensor<4xf32>
      nn.yield %1 : tensor<4xf32>
    } loc("node_add")
    %c = nn.kernel rows (%0 = %b) : (tensor<4xf32>) -> tensor<4xf32> {
      %1 = nn.unary exp %0 : tensor<4xf32> -> tensor<4xf32>
      nn.yield %1 : tensor<4xf32>
    }
    nn.return %c : tensor<4xf32>
  }
}
