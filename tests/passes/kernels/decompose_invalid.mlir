// RUN: zerograph-opt %s --nn-decompose --verify-diagnostics

nn.program @untracked(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{nothing says which samples it has; run nn-track-samples}}
  %y, %m = nn.dropout %x ratio 0.25 number 7 : tensor<4xf32> -> tensor<4xi1>
  // expected-error @+1 {{nothing says which samples it has; run nn-track-samples}}
  %u = nn.random_like %x number 7 : tensor<4xf32> -> tensor<4xf32>
  %z = nn.binary mul %y, %u : tensor<4xf32>
  nn.return %z : tensor<4xf32>
}
