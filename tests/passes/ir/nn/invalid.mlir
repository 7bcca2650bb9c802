// RUN: zerograph-opt %s --split-input-file --verify-diagnostics

// Every message of the verifiers of nn, in the order of the ops; that of
// nn.constant is in constant_limit.mlir.

nn.program @iota() {
  // expected-error @+1 {{'nn.iota' op dim 2 is not a dimension of 'tensor<4x8xi64>'}}
  %0 = nn.iota 2 : tensor<4x8xi64>
  nn.return
}

// -----

nn.program @unary_test_type(%x: tensor<4xf32>) {
  // expected-error @+1 {{'nn.unary' op is_nan of 'f32' does not give 'f32'}}
  %0 = nn.unary is_nan %x : tensor<4xf32> -> tensor<4xf32>
  nn.return
}

// -----

nn.program @unary_type(%x: tensor<4xf32>) {
  // expected-error @+1 {{'nn.unary' op exp of 'f32' does not give 'f64'}}
  %0 = nn.unary exp %x : tensor<4xf32> -> tensor<4xf64>
  nn.return
}

// -----

nn.program @unary_integer(%x: tensor<4xi64>) {
  // expected-error @+1 {{'nn.unary' op exp does not take 'i64'}}
  %0 = nn.unary exp %x : tensor<4xi64> -> tensor<4xi64>
  nn.return
}

// -----

nn.program @unary_bool(%x: tensor<4xi1>) {
  // expected-error @+1 {{'nn.unary' op neg does not take 'i1'}}
  %0 = nn.unary neg %x : tensor<4xi1> -> tensor<4xi1>
  nn.return
}

// -----

nn.program @unary_not(%x: tensor<4xi64>) {
  // expected-error @+1 {{'nn.unary' op logical_not does not take 'i64'}}
  %0 = nn.unary logical_not %x : tensor<4xi64> -> tensor<4xi64>
  nn.return
}

// -----

nn.program @binary_bool(%x: tensor<4xi1>) {
  // expected-error @+1 {{'nn.binary' op add does not take 'i1'}}
  %0 = nn.binary add %x, %x : tensor<4xi1>
  nn.return
}

// -----

nn.program @binary_logical(%x: tensor<4xf32>) {
  // expected-error @+1 {{'nn.binary' op logical_and does not take 'f32'}}
  %0 = nn.binary logical_and %x, %x : tensor<4xf32>
  nn.return
}

// -----

nn.program @binary_pow(%x: tensor<4xi64>) {
  // expected-error @+1 {{'nn.binary' op pow does not take 'i64'}}
  %0 = nn.binary pow %x, %x : tensor<4xi64>
  nn.return
}

// -----

nn.program @compare_shape(%x: tensor<4xf32>) {
  // expected-error @+1 {{'nn.compare' op requires the same shape for all operands and results}}
  %0 = nn.compare lt %x, %x : tensor<4xf32> -> tensor<5xi1>
  nn.return
}

// -----

nn.program @select_shape(%c: tensor<5xi1>, %x: tensor<4xf32>) {
  // expected-error @+1 {{'nn.select' op failed to verify that all of {condition, result} have same shape}}
  %0 = nn.select %c, %x, %x : tensor<5xi1>, tensor<4xf32>
  nn.return
}

// -----

nn.program @convert_shape(%x: tensor<4xf32>) {
  // expected-error @+1 {{'nn.convert' op requires the same shape for all operands and results}}
  %0 = nn.convert %x : tensor<4xf32> -> tensor<5xf64>
  nn.return
}

// -----

nn.program @broadcast_element(%x: tensor<1xf32>) {
  // expected-error @+1 {{'nn.broadcast' op element types differ: 'tensor<1xf32>' and 'tensor<4xf64>'}}
  %0 = nn.broadcast %x : tensor<1xf32> -> tensor<4xf64>
  nn.return
}

// -----

nn.program @broadcast_rank(%x: tensor<8xf32>) {
  // expected-error @+1 {{'nn.broadcast' op ranks differ: 'tensor<8xf32>' and 'tensor<4x8xf32>'}}
  %0 = nn.broadcast %x : tensor<8xf32> -> tensor<4x8xf32>
  nn.return
}

// -----

nn.program @broadcast_size(%x: tensor<2x8xf32>) {
  // expected-error @+1 {{'nn.broadcast' op dimension 0 of size 2 cannot become 4}}
  %0 = nn.broadcast %x : tensor<2x8xf32> -> tensor<4x8xf32>
  nn.return
}

// -----

nn.program @reshape_element(%x: tensor<4xf32>) {
  // expected-error @+1 {{'nn.reshape' op element types differ: 'tensor<4xf32>' and 'tensor<4xi32>'}}
  %0 = nn.reshape %x : tensor<4xf32> -> tensor<4xi32>
  nn.return
}

// -----

nn.program @reshape_size(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.reshape' op has 32 elements, but the result has 33}}
  %0 = nn.reshape %x : tensor<4x8xf32> -> tensor<33xf32>
  nn.return
}

// -----

nn.program @transpose_permutation(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.transpose' op [1, 1] is not a permutation of the dimensions of 'tensor<4x8xf32>'}}
  %0 = nn.transpose %x [1, 1] : tensor<4x8xf32> -> tensor<8x8xf32>
  nn.return
}

// -----

nn.program @transpose_shape(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.transpose' op gives 'tensor<8x4xf32>', not 'tensor<4x8xf32>'}}
  %0 = nn.transpose %x [1, 0] : tensor<4x8xf32> -> tensor<4x8xf32>
  nn.return
}

// -----

nn.program @slice_element(%x: tensor<4xf32>) {
  // expected-error @+1 {{'nn.slice' op element types differ: 'tensor<4xf32>' and 'tensor<4xf64>'}}
  %0 = nn.slice %x [0] step [1] : tensor<4xf32> -> tensor<4xf64>
  nn.return
}

// -----

nn.program @slice_rank(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.slice' op needs a start, a step and a size for each of the 2 dimensions}}
  %0 = nn.slice %x [0] step [1, 1] : tensor<4x8xf32> -> tensor<4x8xf32>
  nn.return
}

// -----

nn.program @slice_step(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.slice' op step of dimension 1 is 0}}
  %0 = nn.slice %x [0, 0] step [1, 0] : tensor<4x8xf32> -> tensor<4x2xf32>
  nn.return
}

// -----

nn.program @slice_bounds(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.slice' op dimension 1 reads 2 to 8 of size 8}}
  %0 = nn.slice %x [0, 2] step [1, 2] : tensor<4x8xf32> -> tensor<4x4xf32>
  nn.return
}

// -----

nn.program @slice_backwards(%x: tensor<8xf32>) {
  // expected-error @+1 {{'nn.slice' op dimension 0 reads 2 to -1 of size 8}}
  %0 = nn.slice %x [2] step [-1] : tensor<8xf32> -> tensor<4xf32>
  nn.return
}

// -----

nn.program @pad_element(%x: tensor<4xf32>) {
  // expected-error @+1 {{'nn.pad' op element types differ: 'tensor<4xf32>' and 'tensor<5xf64>'}}
  %0 = nn.pad %x [1] value 0.0 : f32 : tensor<4xf32> -> tensor<5xf64>
  nn.return
}

// -----

nn.program @pad_value(%x: tensor<4xf32>) {
  // expected-error @+1 {{'nn.pad' op value has type 'f64', not 'f32'}}
  %0 = nn.pad %x [1] value 0.0 : f64 : tensor<4xf32> -> tensor<5xf32>
  nn.return
}

// -----

nn.program @pad_rank(%x: tensor<4xf32>) {
  // expected-error @+1 {{'nn.pad' op needs one low padding for each of the 1 dimensions}}
  %0 = nn.pad %x [1, 0] value 0.0 : f32 : tensor<4xf32> -> tensor<5xf32>
  nn.return
}

// -----

nn.program @pad_size(%x: tensor<4xf32>) {
  // expected-error @+1 {{'nn.pad' op dimension 0 of size 4 after 2 does not fit into 5}}
  %0 = nn.pad %x [2] value 0.0 : f32 : tensor<4xf32> -> tensor<5xf32>
  nn.return
}

// -----

nn.program @take_rows_kind(%x: tensor<64x8xf32>) {
  // expected-error @+1 {{'nn.take_rows' op needs rows of one kind, not 'tensor<16x4xf32>' and 'tensor<64x8xf32>'}}
  %0 = nn.take_rows %x from 0 : tensor<64x8xf32> -> tensor<16x4xf32>
  nn.return
}

// -----

nn.program @take_rows_beyond(%x: tensor<64x8xf32>) {
  // expected-error @+1 {{'nn.take_rows' op has rows 50 to 66 of 'tensor<64x8xf32>'}}
  %0 = nn.take_rows %x from 50 : tensor<64x8xf32> -> tensor<16x8xf32>
  nn.return
}

// -----

nn.program @take_rows_unaligned(%x: tensor<64x8xf32>) {
  // expected-error @+1 {{'nn.take_rows' op has rows from 3 on, which begin at byte 96 of 'tensor<64x8xf32>', at no multiple of 64}}
  %0 = nn.take_rows %x from 3 : tensor<64x8xf32> -> tensor<16x8xf32>
  nn.return
}

// -----

nn.program @join_rows_count(%x: tensor<64x8xf32>) {
  // expected-error @+1 {{'nn.join_rows' op joins 64 rows, not those of 'tensor<96x8xf32>'}}
  %0 = nn.join_rows %x : (tensor<64x8xf32>) -> tensor<96x8xf32>
  nn.return
}

// -----

nn.program @concat_empty() {
  // expected-error @+1 {{'nn.concat' op needs at least one operand}}
  %0 = "nn.concat"() {dim = 0 : i64} : () -> tensor<4xf32>
  nn.return
}

// -----

nn.program @concat_dim(%x: tensor<4xf32>) {
  // expected-error @+1 {{'nn.concat' op dim 1 is not a dimension of 'tensor<4xf32>'}}
  %0 = nn.concat %x dim 1 : tensor<4xf32> -> tensor<4xf32>
  nn.return
}

// -----

nn.program @concat_element(%x: tensor<4xf32>) {
  // expected-error @+1 {{'nn.concat' op element types differ: 'tensor<4xf32>' and 'tensor<4xf64>'}}
  %0 = nn.concat %x dim 0 : tensor<4xf32> -> tensor<4xf64>
  nn.return
}

// -----

nn.program @concat_shape(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.concat' op operand 'tensor<4x8xf32>' does not fit into 'tensor<4x9xf32>'}}
  %0 = nn.concat %x dim 0 : tensor<4x8xf32> -> tensor<4x9xf32>
  nn.return
}

// -----

nn.program @concat_size(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.concat' op sizes along dimension 0 add up to 8, not 9}}
  %0 = nn.concat %x, %x dim 0 : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<9x8xf32>
  nn.return
}

// -----

nn.program @reduce_dim(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.reduce' op dim 2 is not a dimension of 'tensor<4x8xf32>'}}
  %0 = nn.reduce sum %x [2] : tensor<4x8xf32> -> tensor<4x1xf32>
  nn.return
}

// -----

nn.program @reduce_order(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.reduce' op dims must be distinct and ascending}}
  %0 = nn.reduce sum %x [1, 0] : tensor<4x8xf32> -> tensor<1x1xf32>
  nn.return
}

// -----

nn.program @reduce_shape(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.reduce' op gives 'tensor<4x1xf32>', not 'tensor<4xf32>'}}
  %0 = nn.reduce sum %x [1] : tensor<4x8xf32> -> tensor<4xf32>
  nn.return
}

// -----

nn.program @reduce_first(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.reduce' op takes the first of max or min, not of sum}}
  %0 = nn.reduce sum %x [1] first : tensor<4x8xf32> -> tensor<4x1xf32>
  nn.return
}

// -----

nn.program @cumsum_dim(%x: tensor<4xf32>) {
  // expected-error @+1 {{'nn.cumsum' op dim -1 is not a dimension of 'tensor<4xf32>'}}
  %0 = nn.cumsum %x dim -1 : tensor<4xf32>
  nn.return
}

// -----

nn.program @pool_kind(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.pool' op pools by sum or max, not by min}}
  %0 = nn.pool min %x dim 1 window 2 stride 2 dilation 1 low 0 : tensor<4x8xf32> -> tensor<4x4xf32>
  nn.return
}

// -----

nn.program @pool_dim(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.pool' op dim 2 is not a dimension of 'tensor<4x8xf32>'}}
  %0 = nn.pool sum %x dim 2 window 2 stride 2 dilation 1 low 0 : tensor<4x8xf32> -> tensor<4x4xf32>
  nn.return
}

// -----

nn.program @pool_i1(%x: tensor<4x8xi1>) {
  // expected-error @+1 {{'nn.pool' op pools numbers, not 'tensor<4x8xi1>'}}
  %0 = nn.pool sum %x dim 1 window 2 stride 2 dilation 1 low 0 : tensor<4x8xi1> -> tensor<4x4xi1>
  nn.return
}

// -----

nn.program @pool_stride(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.pool' op window, stride and dilation are at least 1, low at least 0}}
  %0 = nn.pool sum %x dim 1 window 2 stride 0 dilation 1 low 0 : tensor<4x8xf32> -> tensor<4x4xf32>
  nn.return
}

// -----

nn.program @pool_shape(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.pool' op changes more than dim 1: 'tensor<4x8xf32>' to 'tensor<2x4xf32>'}}
  %0 = nn.pool sum %x dim 1 window 2 stride 2 dilation 1 low 0 : tensor<4x8xf32> -> tensor<2x4xf32>
  nn.return
}

// -----

nn.program @pool_no_places(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.pool' op needs a result for the maxima's places}}
  %0 = nn.pool max %x dim 1 window 2 stride 2 dilation 1 low 0 : tensor<4x8xf32> -> tensor<4x4xf32>
  nn.return
}

// -----

nn.program @pool_places_of_sums(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.pool' op has places of maxima, but adds}}
  %0:2 = nn.pool sum %x dim 1 window 2 stride 2 dilation 1 low 0 : tensor<4x8xf32> -> tensor<4x4xf32>, tensor<4x4xi8>
  nn.return
}

// -----

nn.program @pool_places(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.pool' op places up to 128 do not fit 'tensor<4x4xi8>'}}
  %0:2 = nn.pool max %x dim 1 window 2 stride 2 dilation 128 low 128 : tensor<4x8xf32> -> tensor<4x4xf32>, tensor<4x4xi8>
  nn.return
}

// -----

nn.program @matmul_element(%a: tensor<4x8xf32>, %b: tensor<8x3xf64>) {
  // expected-error @+1 {{'nn.matmul' op element types differ: 'tensor<4x8xf32>' and 'tensor<8x3xf64>'}}
  %0 = nn.matmul %a, %b : tensor<4x8xf32>, tensor<8x3xf64> -> tensor<4x3xf32>
  nn.return
}

// -----

// Only f32 may hold the sums of numbers of 16 bits.
nn.program @matmul_sum(%a: tensor<4x8xbf16>, %b: tensor<8x3xbf16>) {
  // expected-error @+1 {{'nn.matmul' op element types differ: 'tensor<4x8xbf16>' and 'tensor<4x3xf64>'}}
  %0 = nn.matmul %a, %b : tensor<4x8xbf16>, tensor<8x3xbf16> -> tensor<4x3xf64>
  nn.return
}

// -----

nn.program @matmul_rank(%a: tensor<2x4x8xf32>, %b: tensor<8x3xf32>) {
  // expected-error @+1 {{'nn.matmul' op operands and result need one rank, at least 2, not 'tensor<2x4x8xf32>', 'tensor<8x3xf32>', 'tensor<2x4x3xf32>'}}
  %0 = nn.matmul %a, %b : tensor<2x4x8xf32>, tensor<8x3xf32> -> tensor<2x4x3xf32>
  nn.return
}

// -----

nn.program @matmul_batch(%a: tensor<2x4x8xf32>, %b: tensor<1x8x3xf32>) {
  // expected-error @+1 {{'nn.matmul' op batch dimensions differ: 'tensor<2x4x8xf32>', 'tensor<1x8x3xf32>', 'tensor<2x4x3xf32>'}}
  %0 = nn.matmul %a, %b : tensor<2x4x8xf32>, tensor<1x8x3xf32> -> tensor<2x4x3xf32>
  nn.return
}

// -----

nn.program @matmul_inner(%a: tensor<4x8xf32>, %b: tensor<8x3xf32>) {
  // expected-error @+1 {{'nn.matmul' op inner sizes differ: 8 and 3}}
  %0 = nn.matmul %a, %b transpose_b : tensor<4x8xf32>, tensor<8x3xf32> -> tensor<4x8xf32>
  nn.return
}

// -----

nn.program @matmul_result(%a: tensor<4x8xf32>, %b: tensor<8x3xf32>) {
  // expected-error @+1 {{'nn.matmul' op gives 4x3 matrices, not 'tensor<3x4xf32>'}}
  %0 = nn.matmul %a, %b : tensor<4x8xf32>, tensor<8x3xf32> -> tensor<3x4xf32>
  nn.return
}

// -----

nn.program @matmul_bias(%a: tensor<4x8xf32>, %b: tensor<8x3xf32>, %c: tensor<4xf32>) {
  // expected-error @+1 {{'nn.matmul' op needs a bias of type 'tensor<3xf32>', and no `into` beside it, found 'tensor<4xf32>'}}
  %0 = nn.matmul %a, %b bias %c : tensor<4xf32> : tensor<4x8xf32>, tensor<8x3xf32> -> tensor<4x3xf32>
  nn.return
}

// -----

nn.program @matmul_into(%a: tensor<4x8xf32>, %b: tensor<8x3xf32>, %c: tensor<3x4xf32>) {
  // expected-error @+1 {{'nn.matmul' op adds 'tensor<4x3xf32>' to 'tensor<3x4xf32>'}}
  %0 = nn.matmul %a, %b into %c : tensor<3x4xf32> : tensor<4x8xf32>, tensor<8x3xf32> -> tensor<4x3xf32>
  nn.return
}

// -----

nn.program @gather_scalar(%t: tensor<f32>, %i: tensor<4xi64>) {
  // expected-error @+1 {{'nn.gather' op needs a table of rank 1 or more}}
  %0 = nn.gather %t, %i : tensor<f32>, tensor<4xi64> -> tensor<4xf32>
  nn.return
}

// -----

nn.program @gather_shape(%t: tensor<9x3xf32>, %i: tensor<4x2xi64>) {
  // expected-error @+1 {{'nn.gather' op gives 'tensor<4x2x3xf32>', not 'tensor<4x3xf32>'}}
  %0 = nn.gather %t, %i : tensor<9x3xf32>, tensor<4x2xi64> -> tensor<4x3xf32>
  nn.return
}

// -----

nn.program @scatter_scalar(%i: tensor<4xi64>, %u: tensor<4xf32>) {
  // expected-error @+1 {{'nn.scatter' op needs a result of rank 1 or more}}
  %0 = nn.scatter sum %i, %u : tensor<4xi64>, tensor<4xf32> -> tensor<f32>
  nn.return
}

// -----

nn.program @scatter_shape(%i: tensor<4x2xi64>, %u: tensor<4x3xf32>) {
  // expected-error @+1 {{'nn.scatter' op needs updates 'tensor<4x2x3xf32>', not 'tensor<4x3xf32>'}}
  %0 = nn.scatter sum %i, %u : tensor<4x2xi64>, tensor<4x3xf32> -> tensor<9x3xf32>
  nn.return
}

// -----

nn.program @scatter_from_zeros(%i: tensor<4xi64>, %u: tensor<4x3xf32>) {
  // expected-error @+1 {{'nn.scatter' op of the kind 'max' needs a table: only a sum begins as zeros}}
  %0 = nn.scatter max %i, %u : tensor<4xi64>, tensor<4x3xf32> -> tensor<9x3xf32>
  nn.return
}

// -----

nn.program @scatter_into(%i: tensor<4xi64>, %u: tensor<4x3xf32>, %t: tensor<8x3xf32>) {
  // expected-error @+1 {{'nn.scatter' op failed to verify that the table and the result have the same type}}
  %0 = "nn.scatter"(%i, %u, %t) {kind = #nn<scatter_kind sum>} : (tensor<4xi64>, tensor<4x3xf32>, tensor<8x3xf32>) -> tensor<9x3xf32>
  nn.return
}

// -----

nn.program @softmax_rank(%x: tensor<f32>) {
  // expected-error @+1 {{'nn.softmax' op needs rank 1 or more}}
  %0 = nn.softmax %x : tensor<f32>
  nn.return
}

// -----

nn.program @layer_norm_rank(%x: tensor<f32>, %s: tensor<1xf32>) {
  // expected-error @+1 {{'nn.layer_norm' op needs rank 1 or more}}
  %0:3 = nn.layer_norm %x, %s, %s epsilon 1.0e-5 : tensor<f32>, tensor<1xf32> -> tensor<f32>, tensor<f32>
  nn.return
}

// -----

nn.program @layer_norm_scale(%x: tensor<4x8xf32>, %s: tensor<4xf32>) {
  // expected-error @+1 {{'nn.layer_norm' op needs scale and bias 'tensor<8xf32>', not 'tensor<4xf32>'}}
  %0:3 = nn.layer_norm %x, %s, %s epsilon 1.0e-5 : tensor<4x8xf32>, tensor<4xf32> -> tensor<4x1xf32>, tensor<4x1xf32>
  nn.return
}

// -----

nn.program @layer_norm_statistics(%x: tensor<4x8xf32>, %s: tensor<8xf32>) {
  // expected-error @+1 {{'nn.layer_norm' op has statistics 'tensor<4x1xf32>', not 'tensor<4xf32>'}}
  %0:3 = nn.layer_norm %x, %s, %s epsilon 1.0e-5 : tensor<4x8xf32>, tensor<8xf32> -> tensor<4xf32>, tensor<4x1xf32>
  nn.return
}

// -----

nn.program @cross_entropy_rank(%x: tensor<2x4x8xf32>, %l: tensor<2x1xi64>) {
  // expected-error @+1 {{'nn.softmax_cross_entropy' op needs logits of rank 2, not 'tensor<2x4x8xf32>'}}
  %0:3 = nn.softmax_cross_entropy %x, %l : tensor<2x4x8xf32>, tensor<2x1xi64> -> tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x1xf32>
  nn.return
}

// -----

nn.program @cross_entropy_labels(%x: tensor<4x8xf32>, %l: tensor<4xi64>) {
  // expected-error @+1 {{'nn.softmax_cross_entropy' op needs labels of shape 4x1, not 'tensor<4xi64>'}}
  %0:3 = nn.softmax_cross_entropy %x, %l : tensor<4x8xf32>, tensor<4xi64> -> tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>
  nn.return
}

// -----

nn.program @cross_entropy_loss(%x: tensor<4x8xf32>, %l: tensor<4x1xi64>) {
  // expected-error @+1 {{'nn.softmax_cross_entropy' op has one number a row, 'tensor<4x1xf32>', not 'tensor<4x1xf64>'}}
  %0:3 = nn.softmax_cross_entropy %x, %l : tensor<4x8xf32>, tensor<4x1xi64> -> tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf64>
  nn.return
}

// -----

nn.program @softmax_grad_rank(%x: tensor<f32>) {
  // expected-error @+1 {{'nn.softmax_grad' op needs rank 1 or more}}
  %0 = nn.softmax_grad %x, %x : tensor<f32>
  nn.return
}

// -----

nn.program @layer_norm_grad_rank(%x: tensor<f32>, %s: tensor<1xf32>) {
  // expected-error @+1 {{'nn.layer_norm_grad' op needs rank 1 or more}}
  %0:3 = nn.layer_norm_grad %x, %s, %x, %x, %x : tensor<f32>, tensor<1xf32>, tensor<f32>
  nn.return
}

// -----

nn.program @layer_norm_grad_scale(%x: tensor<4x8xf32>, %s: tensor<4xf32>, %m: tensor<4x1xf32>) {
  // expected-error @+1 {{'nn.layer_norm_grad' op needs scale and bias 'tensor<8xf32>', not 'tensor<4xf32>'}}
  %0:3 = nn.layer_norm_grad %x, %s, %m, %m, %x : tensor<4x8xf32>, tensor<4xf32>, tensor<4x1xf32>
  nn.return
}

// -----

nn.program @layer_norm_grad_statistics(%x: tensor<4x8xf32>, %s: tensor<8xf32>, %m: tensor<4xf32>) {
  // expected-error @+1 {{'nn.layer_norm_grad' op has statistics 'tensor<4x1xf32>', not 'tensor<4xf32>'}}
  %0:3 = nn.layer_norm_grad %x, %s, %m, %m, %x : tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>
  nn.return
}

// -----

nn.program @cross_entropy_grad_rank(%x: tensor<2x4x8xf32>, %l: tensor<2x1xi64>, %r: tensor<2x1xf32>) {
  // expected-error @+1 {{'nn.softmax_cross_entropy_grad' op needs logits of rank 2, not 'tensor<2x4x8xf32>'}}
  %0 = nn.softmax_cross_entropy_grad %x, %l, %r, %r, %r : tensor<2x4x8xf32>, tensor<2x1xi64>, tensor<2x1xf32>
  nn.return
}

// -----

nn.program @cross_entropy_grad_labels(%x: tensor<4x8xf32>, %l: tensor<4xi64>, %r: tensor<4x1xf32>) {
  // expected-error @+1 {{'nn.softmax_cross_entropy_grad' op needs labels of shape 4x1, not 'tensor<4xi64>'}}
  %0 = nn.softmax_cross_entropy_grad %x, %l, %r, %r, %r : tensor<4x8xf32>, tensor<4xi64>, tensor<4x1xf32>
  nn.return
}

// -----

nn.program @cross_entropy_grad_rows(%x: tensor<4x8xf32>, %l: tensor<4x1xi64>, %r: tensor<4x1xf32>, %d: tensor<4xf32>) {
  // expected-error @+1 {{'nn.softmax_cross_entropy_grad' op has one number a row, 'tensor<4x1xf32>', not 'tensor<4xf32>'}}
  %0 = nn.softmax_cross_entropy_grad %x, %l, %r, %r, %r and %d : tensor<4xf32> : tensor<4x8xf32>, tensor<4x1xi64>, tensor<4x1xf32>
  nn.return
}

// -----

nn.program @reshape_rows(%x: tensor<4x6xf32, #nn.row_stride<8>>) {
  // expected-error @+1 {{'nn.reshape' op has other rows than its result, which lie apart: 'tensor<4x6xf32, #nn.row_stride<8>>' and 'tensor<8x3xf32>'}}
  %0 = nn.reshape %x : tensor<4x6xf32, #nn.row_stride<8>> -> tensor<8x3xf32>
  nn.return
}

// -----

// expected-error @+1 {{rows of a tensor of 4, 8 cannot begin 7 elements apart}}
nn.program @row_stride(%x: tensor<4x8xf32, #nn.row_stride<7>>) {
  nn.return
}

// -----

nn.program @kernel_arguments(%x: tensor<4xf32>) {
  // expected-error @+1 {{'nn.kernel' op block arguments do not match the operands}}
  "nn.kernel"(%x) <{form = #nn<kernel_form rows>}> ({
  ^bb0(%a: tensor<5xf32>):
    nn.yield
  }) : (tensor<4xf32>) -> ()
  nn.return
}

// -----

nn.program @kernel_results(%x: tensor<4xf32>) {
  // expected-error @+1 {{'nn.kernel' op yielded values do not match the results}}
  %0 = nn.kernel rows (%a = %x) : (tensor<4xf32>) -> tensor<5xf32> {
    nn.yield %a : tensor<4xf32>
  }
  nn.return
}

// -----

nn.program @kernel_form(%x: tensor<4xf32>) {
  // expected-error @+1 {{custom op 'nn.kernel' has no form 'spiral'; forms are rows, columns, scan, scatter, attention}}
  %0 = nn.kernel spiral (%a = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    nn.yield %a : tensor<4xf32>
  }
  nn.return
}

// -----

nn.program @attention_heads(%q: tensor<1x4x3x2xf32>, %k: tensor<1x4x2x2xf32>) {
  // expected-error @+1 {{'nn.attention' op has 3 heads of queries, which 2 heads of keys do not divide}}
  %o, %m, %i = nn.attention %q, %k, %k : (tensor<1x4x3x2xf32>, tensor<1x4x2x2xf32>, tensor<1x4x2x2xf32>) -> (tensor<1x4x3x2xf32>, tensor<1x3x4xf32>, tensor<1x3x4xf32>) {
  ^bb0(%s: tensor<1x3x4x4xf32>):
    nn.yield %s : tensor<1x3x4x4xf32>
  }
  nn.return
}

// -----

nn.program @attention_values(%q: tensor<1x4x1x2xf32>, %v: tensor<1x5x1x2xf32>) {
  // expected-error @+1 {{'nn.attention' op needs values of 'tensor<1x4x1x2xf32>', not 'tensor<1x5x1x2xf32>'}}
  %o, %m, %i = nn.attention %q, %q, %v : (tensor<1x4x1x2xf32>, tensor<1x4x1x2xf32>, tensor<1x5x1x2xf32>) -> (tensor<1x4x1x2xf32>, tensor<1x1x4xf32>, tensor<1x1x4xf32>) {
  ^bb0(%s: tensor<1x1x4x4xf32>):
    nn.yield %s : tensor<1x1x4x4xf32>
  }
  nn.return
}

// -----

nn.program @attention_large(%q: tensor<1x4x1x257xf32>) {
  // expected-error @+1 {{'nn.attention' op has heads of 257 elements, of at most 256}}
  %o, %m, %i = nn.attention %q, %q, %q : (tensor<1x4x1x257xf32>, tensor<1x4x1x257xf32>, tensor<1x4x1x257xf32>) -> (tensor<1x4x1x257xf32>, tensor<1x1x4xf32>, tensor<1x1x4xf32>) {
  ^bb0(%s: tensor<1x1x4x4xf32>):
    nn.yield %s : tensor<1x1x4x4xf32>
  }
  nn.return
}

// -----

nn.program @attention_region(%q: tensor<1x4x1x2xf32>) {
  // expected-error @+1 {{'nn.attention' op needs a region that takes 1 of 'tensor<1x1x4x4xf32>' and the extras}}
  %o, %m, %i = nn.attention %q, %q, %q with %q : (tensor<1x4x1x2xf32>, tensor<1x4x1x2xf32>, tensor<1x4x1x2xf32>, tensor<1x4x1x2xf32>) -> (tensor<1x4x1x2xf32>, tensor<1x1x4xf32>, tensor<1x1x4xf32>) {
  ^bb0(%s: tensor<1x1x4x4xf32>):
    nn.yield %s : tensor<1x1x4x4xf32>
  }
  nn.return
}

// -----

nn.program @attention_member(%q: tensor<1x4x1x2xf32>) {
  // expected-error @+1 {{'nn.attention' op has 'nn.softmax' in its region, which is not elementwise, a view or a literal}}
  %o, %m, %i = nn.attention %q, %q, %q : (tensor<1x4x1x2xf32>, tensor<1x4x1x2xf32>, tensor<1x4x1x2xf32>) -> (tensor<1x4x1x2xf32>, tensor<1x1x4xf32>, tensor<1x1x4xf32>) {
  ^bb0(%s: tensor<1x1x4x4xf32>):
    %p = nn.softmax %s : tensor<1x1x4x4xf32>
    nn.yield %p : tensor<1x1x4x4xf32>
  }
  nn.return
}

// -----

nn.program @attention_bias(%q: tensor<2x4x1x2xf32>, %m: tensor<2x1x4xf32>) {
  // expected-error @+1 {{'nn.attention_grad' op needs dbias of 'tensor<1x4x4xf32>', not 'tensor<2x4x4xf32>'}}
  %dq, %dk, %dv, %db = nn.attention_grad %q, %q, %q, %m, %m, %q, %m : (tensor<2x4x1x2xf32>, tensor<2x4x1x2xf32>, tensor<2x4x1x2xf32>, tensor<2x1x4xf32>, tensor<2x1x4xf32>, tensor<2x4x1x2xf32>, tensor<2x1x4xf32>) -> (tensor<2x4x1x2xf32>, tensor<2x4x1x2xf32>, tensor<2x4x1x2xf32>, tensor<2x4x4xf32>) {
  ^bb0(%s: tensor<2x1x4x4xf32>, %g: tensor<2x1x4x4xf32>):
    nn.yield %s, %g, %g : tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>
  }
  nn.return
}

// -----

nn.program @attention_bias_yields(%q: tensor<2x4x1x2xf32>, %m: tensor<2x1x4xf32>) {
  // expected-error @+1 {{'nn.attention_grad' op needs a region that yields 3 or 4 of 'tensor<2x1x4x4xf32>'}}
  %dq, %dk, %dv, %db = nn.attention_grad %q, %q, %q, %m, %m, %q, %m : (tensor<2x4x1x2xf32>, tensor<2x4x1x2xf32>, tensor<2x4x1x2xf32>, tensor<2x1x4xf32>, tensor<2x1x4xf32>, tensor<2x4x1x2xf32>, tensor<2x1x4xf32>) -> (tensor<2x4x1x2xf32>, tensor<2x4x1x2xf32>, tensor<2x4x1x2xf32>, tensor<1x4x4xf32>) {
  ^bb0(%s: tensor<2x1x4x4xf32>, %g: tensor<2x1x4x4xf32>):
    nn.yield %s, %g : tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>
  }
  nn.return
}

// -----

nn.program @yield_alone(%x: tensor<4xf32>) {
  // expected-error @+1 {{'nn.yield' op expects parent op to be one of 'nn.kernel, nn.attention, nn.attention_grad'}}
  nn.yield %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{input "labels" has legal values from 3 to 2}}
nn.program @order(%x: tensor<4xi64> {nn.input = #nn.input<"labels", per_sample = true, min = 3, max = 2>}) {
  nn.return
}

// -----

nn.program @scalar_name() {
  // expected-error @+1 {{'nn.scalar' op knows no 'speed'; there are seed, step, sample_base and loss_scale}}
  %0 = nn.scalar "speed" : tensor<1xi64>
  nn.return
}

// -----

nn.program @scalar_type() {
  // expected-error @+1 {{'nn.scalar' op gives 'tensor<1xi64>', not 'tensor<2xi64>'}}
  %0 = nn.scalar "seed" : tensor<2xi64>
  nn.return
}

// -----

nn.program @random_type(%i: tensor<4xi32>) {
  // expected-error @+1 {{'nn.random_uniform' op makes f32 of i64, not 'tensor<4xf32>' of 'tensor<4xi32>'}}
  %0 = nn.random_uniform %i, %i, %i number 0 : tensor<4xi32> -> tensor<4xf32>
  nn.return
}

// -----

nn.program @random_number(%i: tensor<4xi64>) {
  // expected-error @+1 {{'nn.random_uniform' op has number -1, which is no number of 32 bits}}
  %0 = nn.random_uniform %i, %i, %i number -1 : tensor<4xi64> -> tensor<4xf32>
  nn.return
}

// -----

nn.program @sum_squares_none() {
  // expected-error @+1 {{'nn.sum_squares' op needs an operand}}
  %0 = "nn.sum_squares"() : () -> tensor<33xf64>
  nn.return
}

// -----

nn.program @sum_squares_blocks(%x: tensor<300xf32>) {
  // expected-error @+1 {{'nn.sum_squares' op needs flat tensors of a multiple of 256 elements, not 'tensor<300xf32>'}}
  %0 = nn.sum_squares %x : tensor<300xf32> -> tensor<33xf64>
  nn.return
}

// -----

nn.program @sum_squares_limbs(%x: tensor<256xf32>) {
  // expected-error @+1 {{'nn.sum_squares' op makes 33 limbs of f64, not 'tensor<33xf32>'}}
  %0 = nn.sum_squares %x : tensor<256xf32> -> tensor<33xf32>
  nn.return
}

// -----

nn.program @limb_value(%x: tensor<32xf64>) {
  // expected-error @+1 {{'nn.limb_value' op makes one f64 of 33 limbs, not 'tensor<1xf64>' of 'tensor<32xf64>'}}
  %0 = nn.limb_value %x : tensor<32xf64> -> tensor<1xf64>
  nn.return
}

// -----

nn.program @limb_values(%x: tensor<4x33xf64>) {
  // expected-error @+1 {{'nn.limb_value' op makes one f64 of 33 limbs, not 'tensor<1xf64>' of 'tensor<4x33xf64>'}}
  %0 = nn.limb_value %x : tensor<4x33xf64> -> tensor<1xf64>
  nn.return
}

// -----

nn.program @block_squares_flat(%x: tensor<2x256xf32>) {
  // expected-error @+1 {{'nn.block_squares' op needs a flat tensor of a multiple of 256 elements, not 'tensor<2x256xf32>'}}
  %0 = nn.block_squares %x : tensor<2x256xf32> -> tensor<2x33xf64>
  nn.return
}

// -----

nn.program @block_squares_limbs(%x: tensor<512xf32>) {
  // expected-error @+1 {{'nn.block_squares' op makes 'tensor<2x33xf64>', not 'tensor<1x33xf64>'}}
  %0 = nn.block_squares %x : tensor<512xf32> -> tensor<1x33xf64>
  nn.return
}

// -----

nn.program @random_like_type(%x: tensor<4x6xf64>) {
  // expected-error @+1 {{'nn.random_like' op makes f32, not 'tensor<4x6xf64>'}}
  %0 = nn.random_like %x number 0 : tensor<4x6xf64> -> tensor<4x6xf64>
  nn.return
}

// -----

nn.program @random_like_samples(%x: tensor<4x6xf32>) {
  // expected-error @+1 {{'nn.random_like' op has samples [0, 3], which are no dimension of 'tensor<4x6xf32>' and a number that divides its size}}
  %0 = nn.random_like %x number 0 samples [0, 3] : tensor<4x6xf32> -> tensor<4x6xf32>
  nn.return
}

// -----

nn.program @random_like_number(%x: tensor<4x6xf32>) {
  // expected-error @+1 {{'nn.random_like' op has number -1, which is no number of 32 bits}}
  %0 = nn.random_like %x number -1 : tensor<4x6xf32> -> tensor<4x6xf32>
  nn.return
}

// -----

nn.program @dropout_ratio(%x: tensor<4x6xf32>) {
  // expected-error @+1 {{'nn.dropout' op has ratio 1.000000e+00, which is not at least 0 and less than 1}}
  %0, %1 = nn.dropout %x ratio 1.0 number 0 : tensor<4x6xf32> -> tensor<4x6xi1>
  nn.return
}

// -----

nn.program @dropout_mask(%x: tensor<4x6xf32>) {
  // expected-error @+1 {{'nn.dropout' op gives a mask of shape 'tensor<6x4xi1>' for 'tensor<4x6xf32>'}}
  %0, %1 = nn.dropout %x ratio 0.5 number 0 : tensor<4x6xf32> -> tensor<6x4xi1>
  nn.return
}

// -----

nn.program @dropout_samples(%x: tensor<4x6xf32>) {
  // expected-error @+1 {{'nn.dropout' op has samples [1, 4], which are no dimension of 'tensor<4x6xf32>' and a number that divides its size}}
  %0, %1 = nn.dropout %x ratio 0.5 number 0 samples [1, 4] : tensor<4x6xf32> -> tensor<4x6xi1>
  nn.return
}

// -----

nn.program @dropout_number(%x: tensor<4x6xf32>) {
  // expected-error @+1 {{'nn.dropout' op has number 4294967296, which is no number of 32 bits}}
  %0, %1 = nn.dropout %x ratio 0.5 number 4294967296 : tensor<4x6xf32> -> tensor<4x6xi1>
  nn.return
}

// -----

nn.program @f(%x: tensor<4xf32>) -> tensor<8xf32> {
  // expected-error @below {{gives ('tensor<4xf32>'), but the program's results are ('tensor<8xf32>')}}
  nn.return %x : tensor<4xf32>
}

// -----

nn.program @f(%x: tensor<4xf32>) {
  nn.return
// expected-error @below {{the program has no argument %y}}
} where (%y {nn.scalar = #nn.scalar<"step">})
