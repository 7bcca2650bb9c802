// RUN: zerograph-opt %s --split-input-file --verify-diagnostics

// Every message about results with `nn.next_value`.

// expected-error @+1 {{result 0 is a next value of 3 : i64, not of a name}}
nn.program @no_name(%s: tensor<4xf32> {nn.parameter = #nn.parameter<"s", module = "", trainable = false, init = zeros>})
    -> (tensor<4xf32> {nn.next_value = 3 : i64}) {
  nn.return %s : tensor<4xf32>
}

// -----

// expected-error @+1 {{result 1 is a next value of "s", as result 0 is}}
nn.program @twice(%s: tensor<4xf32> {nn.parameter = #nn.parameter<"s", module = "", trainable = false, init = zeros>})
    -> (tensor<4xf32> {nn.next_value = "s"}, tensor<4xf32> {nn.next_value = "s"}) {
  nn.return %s, %s : tensor<4xf32>, tensor<4xf32>
}

// -----

// expected-error @+1 {{result 0 is a next value of "s", whose type is 'tensor<4xf32>', not 'tensor<2xf32>'}}
nn.program @type(%s: tensor<4xf32> {nn.parameter = #nn.parameter<"s", module = "", trainable = false, init = zeros>},
    %t: tensor<2xf32>) -> (tensor<2xf32> {nn.next_value = "s"}) {
  nn.return %t : tensor<2xf32>
}

// -----

// expected-error @+1 {{result 0 is a next value of "t", which is no parameter of the program}}
nn.program @unknown(%s: tensor<4xf32> {nn.parameter = #nn.parameter<"s", module = "", trainable = false, init = zeros>})
    -> (tensor<4xf32> {nn.next_value = "t"}) {
  nn.return %s : tensor<4xf32>
}
