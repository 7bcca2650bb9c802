// RUN: zerograph-opt %s --nn-decompose --verify-diagnostics

func.func @untracked(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{nothing says which samples it has; run nn-track-samples}}
  %y, %m = nn.dropout %x ratio 0.25 number 7 : tensor<4xf32> -> tensor<4xi1>
  return %y : tensor<4xf32>
}
