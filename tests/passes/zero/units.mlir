// RUN: zerograph-opt %s --zg-zero="ranks=2 zero=3 optimizer=sgd bucket-bytes=2048" | FileCheck %s
// RUN: zerograph-opt %s --zg-zero="ranks=2 zero=3 optimizer=sgd units=1048576" | FileCheck %s --check-prefix=BYTES
// RUN: zerograph-opt %s --zg-zero="ranks=2 zero=3 optimizer=sgd units=h*" | FileCheck %s --check-prefix=PATTERN

// Blocks by their number, modules by their name, frozen parameters apart.
// Parameters begin at multiples of 256 elements; segments hold at most
// bucket-bytes; the unused gradient-free unit has no optimizer.

// The frozen unit is gathered but never reduced or updated.
// CHECK-LABEL: nn.program @step
// CHECK-COUNT-3: zero.all_gather
// CHECK-NOT: zero.reduce_scatter {{.*}} unit 2
// CHECK-NOT: zero.updates = #zero.state<unit = 2

// The table of units comes after the code.
// CHECK: zero.layout units [
// CHECK-NEXT: #zero.unit<"h.0", f32, elements = 1024, trainable = true, persistent = false, reason = "block of a repeated module", axes = ["data"], segments = [512, 512]
// CHECK: "h.0.a"{{[^>]*>, [^>]*>}}, offset = 0>
// CHECK: "h.0.b"{{[^>]*>, [^>]*>}}, offset = 512>
// CHECK: #zero.unit<"h.1", f32, elements = 512
// CHECK: #zero.unit<"head", f32, elements = 512, trainable = false
// BYTES: zero.layout units [
// BYTES-NEXT: #zero.unit<"group.0", f32, elements = 1536, trainable = true, persistent = false, reason = "consecutive parameters"
// BYTES: #zero.unit<"group.0.frozen", f32, elements = 512, trainable = false
// PATTERN: zero.layout units [
// PATTERN-NEXT: #zero.unit<"h", f32, elements = 1536, {{.*}} reason = "matches 'h*'"
nn.program @micro(
    %a: tensor<257xf32> {nn.parameter = #nn.parameter<"h.0.a", module = "h.0", trainable = true, init = normal>},
    %b: tensor<257xf32> {nn.parameter = #nn.parameter<"h.0.b", module = "h.0", trainable = true, init = normal>},
    %c: tensor<257xf32> {nn.parameter = #nn.parameter<"h.1.c", module = "h.1", trainable = true, init = normal>},
    %d: tensor<257xf32> {nn.parameter = #nn.parameter<"head.d", module = "head", trainable = false, init = normal>})
    -> (tensor<1xf32> {nn.output = "loss"}, tensor<257xf32> {nn.gradient = "h.0.a"},
        tensor<257xf32> {nn.gradient = "h.0.b"}, tensor<257xf32> {nn.gradient = "h.1.c"}) {
  %0 = nn.binary mul %a, %b : tensor<257xf32>
  %1 = nn.binary mul %0, %c : tensor<257xf32>
  %2 = nn.binary mul %1, %d : tensor<257xf32>
  %loss = nn.reduce sum %2 [0] : tensor<257xf32> -> tensor<1xf32>
  %g = nn.constant dense<1.0> : tensor<257xf32>
  %g1 = nn.binary add %g, %g : tensor<257xf32>
  nn.return %loss, %g1, %g1, %g1 : tensor<1xf32>, tensor<257xf32>, tensor<257xf32>, tensor<257xf32>
}
