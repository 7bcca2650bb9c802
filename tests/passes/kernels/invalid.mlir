// RUN: zerograph-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(nn.program(nn-verify-kernels))'

nn.program @loose(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{nn.unary is in no kernel}}
  %0 = nn.unary exp %x : tensor<4xf32> -> tensor<4xf32>
  nn.return %0 : tensor<4xf32>
}

// -----

nn.program @rows_dim(%x: tensor<4x2xf32>) -> tensor<1x2xf32> {
  %0 = nn.kernel rows (%a = %x) : (tensor<4x2xf32>) -> tensor<1x2xf32> {
    // expected-error@+1 {{a kernel of the form 'rows' reduces dimension 1}}
    %1 = nn.reduce sum %a [0] : tensor<4x2xf32> -> tensor<1x2xf32>
    nn.yield %1 : tensor<1x2xf32>
  }
  nn.return %0 : tensor<1x2xf32>
}

// -----

nn.program @two_shapes(%x: tensor<4x2xf32>, %y: tensor<4x3xf32>) -> (tensor<4x1xf32>, tensor<4x1xf32>) {
  %0:2 = nn.kernel rows (%a = %x, %b = %y) : (tensor<4x2xf32>, tensor<4x3xf32>) -> (tensor<4x1xf32>, tensor<4x1xf32>) {
    %1 = nn.reduce sum %a [1] : tensor<4x2xf32> -> tensor<4x1xf32>
    // expected-error@+1 {{reductions of one kernel run over one shape}}
    %2 = nn.reduce sum %b [1] : tensor<4x3xf32> -> tensor<4x1xf32>
    nn.yield %1, %2 : tensor<4x1xf32>, tensor<4x1xf32>
  }
  nn.return %0#0, %0#1 : tensor<4x1xf32>, tensor<4x1xf32>
}

// -----

nn.program @sizes(%x: tensor<4x2xf32>, %y: tensor<3xf32>) -> (tensor<4x2xf32>, tensor<3xf32>) {
  // expected-error@+1 {{a result of 3 elements is neither the whole space of 8}}
  %0:2 = nn.kernel rows (%a = %x, %b = %y) : (tensor<4x2xf32>, tensor<3xf32>) -> (tensor<4x2xf32>, tensor<3xf32>) {
    nn.yield %a, %b : tensor<4x2xf32>, tensor<3xf32>
  }
  nn.return %0#0, %0#1 : tensor<4x2xf32>, tensor<3xf32>
}

// -----

nn.program @columns_result(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  // expected-error@+1 {{a kernel of the form 'columns' has no reduction}}
  %0 = nn.kernel columns (%a = %x) : (tensor<4x2xf32>) -> tensor<4x2xf32> {
    nn.yield %a : tensor<4x2xf32>
  }
  nn.return %0 : tensor<4x2xf32>
}

// -----

nn.program @columns_use(%x: tensor<4x2xf32>) -> tensor<1x2xf32> {
  // expected-error@+1 {{a result of the form 'columns' is neither a reduction nor the whole space}}
  %0 = nn.kernel columns (%a = %x) : (tensor<4x2xf32>) -> tensor<1x2xf32> {
    %1 = nn.reduce sum %a [0] : tensor<4x2xf32> -> tensor<1x2xf32>
    // expected-error@+1 {{computes with a reduction of its own kernel}}
    %2 = nn.unary exp %1 : tensor<1x2xf32> -> tensor<1x2xf32>
    nn.yield %2 : tensor<1x2xf32>
  }
  nn.return %0 : tensor<1x2xf32>
}

// -----

nn.program @place(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nn.kernel rows (%a = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    // expected-error@+1 {{nn.softmax has no place in a kernel}}
    %1 = nn.softmax %a : tensor<4xf32>
    nn.yield %1 : tensor<4xf32>
  }
  nn.return %0 : tensor<4xf32>
}

// -----

nn.program @form(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nn.kernel rows (%a = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    // expected-error@+1 {{nn.cumsum in a kernel of the form 'rows'}}
    %1 = nn.cumsum %a dim 0 : tensor<4xf32>
    nn.yield %1 : tensor<4xf32>
  }
  nn.return %0 : tensor<4xf32>
}

// -----

nn.program @scan(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{the form 'scan' has one op and its result}}
  %0 = nn.kernel scan (%a = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    nn.yield %a : tensor<4xf32>
  }
  nn.return %0 : tensor<4xf32>
}

// -----

nn.program @scan_reduce(%x: tensor<4x2xf32>) -> tensor<4x1xf32> {
  %0 = nn.kernel scan (%a = %x) : (tensor<4x2xf32>) -> tensor<4x1xf32> {
    // expected-error@+1 {{a reduction beside the one op of the form 'scan'}}
    %1 = nn.reduce sum %a [1] : tensor<4x2xf32> -> tensor<4x1xf32>
    %2 = nn.cumsum %1 dim 0 : tensor<4x1xf32>
    nn.yield %2 : tensor<4x1xf32>
  }
  nn.return %0 : tensor<4x1xf32>
}

// -----

nn.program @view(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %0 = nn.kernel rows (%a = %x) : (tensor<4x2xf32>) -> tensor<4x2xf32> {
    %1 = nn.transpose %a [1, 0] : tensor<4x2xf32> -> tensor<2x4xf32>
    // expected-error@+1 {{a chain of views without one address formula}}
    %2 = nn.reshape %1 : tensor<2x4xf32> -> tensor<4x2xf32>
    nn.yield %2 : tensor<4x2xf32>
  }
  nn.return %0 : tensor<4x2xf32>
}

// -----

nn.program @indices(%t: tensor<4x2xf32>, %i: tensor<3xi64>) -> tensor<3x2xf32> {
  %0 = nn.kernel rows (%a = %t, %b = %i) : (tensor<4x2xf32>, tensor<3xi64>) -> tensor<3x2xf32> {
    %1 = nn.unary abs %b : tensor<3xi64> -> tensor<3xi64>
    // expected-error@+1 {{the indices of a gather are computed in its own kernel}}
    %2 = nn.gather %a, %1 : tensor<4x2xf32>, tensor<3xi64> -> tensor<3x2xf32>
    nn.yield %2 : tensor<3x2xf32>
  }
  nn.return %0 : tensor<3x2xf32>
}

// -----

nn.program @table(%i: tensor<3xi64>, %rows: tensor<3x2xf32>, %t: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %0 = nn.kernel scatter (%a = %i, %b = %rows, %c = %t) : (tensor<3xi64>, tensor<3x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32> {
    %1 = nn.unary exp %c : tensor<4x2xf32> -> tensor<4x2xf32>
    // expected-error@+1 {{goes into a table that its own kernel makes}}
    %2 = nn.scatter sum %a, %b into %1 : tensor<3xi64>, tensor<3x2xf32> -> tensor<4x2xf32>
    nn.yield %2 : tensor<4x2xf32>
  }
  nn.return %0 : tensor<4x2xf32>
}

// -----

// Results that are not packed are in their order.

nn.program @permuted(%q: tensor<2x8x3x16xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x8x3x16xf32>) {
  // expected-error@+1 {{the form 'attention' has one op and its results}}
  %0:3 = nn.kernel attention (%a = %q) : (tensor<2x8x3x16xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x8x3x16xf32>) {
    %o, %m, %i = nn.attention %a, %a, %a : (tensor<2x8x3x16xf32>, tensor<2x8x3x16xf32>, tensor<2x8x3x16xf32>) -> (tensor<2x8x3x16xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>) {
    ^bb0(%s: tensor<2x3x8x8xf32>):
      nn.yield %s : tensor<2x3x8x8xf32>
    }
    nn.yield %m, %i, %o : tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x8x3x16xf32>
  }
  nn.return %0#0, %0#1, %0#2 : tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x8x3x16xf32>
}
