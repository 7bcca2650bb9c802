// RUN: zerograph-opt %s --zg-zero="ranks=2 zero=3 optimizer=sgd" --mlir-print-debuginfo | FileCheck %s
// RUN: zerograph-opt %s --zg-zero="ranks=2 zero=3 optimizer=sgd units=1048576" --mlir-print-debuginfo | FileCheck %s --check-prefix=BYTES

// A unit is used where the module is that all of its parameters are in, in the
// line of the first op of that module. The unit's own name is not said twice.
// What is about the unit is there too.

// CHECK: zero.all_gather %h.0.shard {{.*}} loc([[H0:#loc[0-9]*]])
// CHECK: zero.all_gather %h.1.shard {{.*}} loc([[H1:#loc[0-9]*]])
// CHECK: zero.reduce_scatter %h.0.grad {{.*}} loc([[H0]])
// CHECK: #zero.unit<"h.0", {{.*}}
// CHECK: "h.0.b"{{.*}} place = "model.py:20">
// CHECK: #zero.unit<"h.1", {{.*}}
// No line is known of h.1.
// CHECK: "h.1.fc.c"{{[^>]*>, [^>]*>}}, offset = 0>]>
// CHECK: [[PLACE:#loc[0-9]*]] = loc(fused<"model.py:20">
// CHECK: [[H1]] = loc("h.1"(
// CHECK: [[H0]] = loc("h.0"([[PLACE]]))
// BYTES: #zero.unit<"group.0", {{.*}}
// BYTES: place = "h (model.py:5)">
nn.program @micro(
    %a: tensor<257xf32> {nn.parameter = #nn.parameter<"h.0.fc.a", module = "h.0.fc", trainable = true, init = normal>},
    %b: tensor<257xf32> {nn.parameter = #nn.parameter<"h.0.b", module = "h.0", trainable = true, init = normal>},
    %c: tensor<257xf32> {nn.parameter = #nn.parameter<"h.1.fc.c", module = "h.1.fc", trainable = true, init = normal>})
    -> (tensor<1xf32> {nn.output = "loss"}, tensor<257xf32> {nn.gradient = "h.0.fc.a"},
        tensor<257xf32> {nn.gradient = "h.0.b"}, tensor<257xf32> {nn.gradient = "h.1.fc.c"}) {
  %0 = nn.binary mul %a, %a : tensor<257xf32> loc("mul"(fused<"h.0.fc">["model.py":10:0]))
  %1 = nn.binary add %0, %b : tensor<257xf32> loc("add"(fused<"h.0">["model.py":20:0]))
  %2 = nn.binary add %1, %1 : tensor<257xf32> loc("add_1"(fused<"h.0">["model.py":30:0]))
  %3 = nn.binary mul %2, %c : tensor<257xf32> loc("mul_1"(fused<"h.1.fc">["model.py":10:0]))
  %loss = nn.reduce sum %3 [0] : tensor<257xf32> -> tensor<1xf32> loc("sum"(fused<"h">["model.py":5:0]))
  %g = nn.constant dense<1.0> : tensor<257xf32>
  %g1 = nn.binary add %g, %g : tensor<257xf32>
  nn.return %loss, %g1, %g1, %g1 : tensor<1xf32>, tensor<257xf32>, tensor<257xf32>, tensor<257xf32>
}
