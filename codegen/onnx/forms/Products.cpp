//===- Products.cpp - products and convolutions as ONNX operators ---------===//

#include "codegen/onnx/Forms.h"

#include "passes/ir/nn/Convolution.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::nn;

namespace {

/// 0, 1, 2, ... with the last two exchanged.
SmallVector<int64_t> lastTwoExchanged(int64_t rank) {
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(permutation[rank - 1], permutation[rank - 2]);
  return permutation;
}

void matmulForm(MatmulOp op, OnnxGraph &graph) {
  std::string a = graph.value(op.getLhs()), b = graph.value(op.getRhs());
  Type element = op.getResult().getType().getElementType();
  if (op.getLhs().getType().getElementType() != element) {
    a = graph.convert(a, element); // exact, and the sum is not rounded
    b = graph.convert(b, element);
  }
  Value added = op.getInto() ? op.getInto() : op.getBias();
  int64_t rank = op.getResult().getType().getRank();
  if (rank == 2) {
    SmallVector<std::string> operands = {a, b};
    if (added) {
      operands.push_back(graph.value(added)); // repeats a bias
    }
    return graph.set(
        op.getResult(),
        graph.node("Gemm", operands,
                   {attribute("transA", int64_t(op.getTransposeA())),
                    attribute("transB", int64_t(op.getTransposeB()))}));
  }
  if (op.getTransposeA()) {
    a = graph.transpose(a, lastTwoExchanged(rank));
  }
  if (op.getTransposeB()) {
    b = graph.transpose(b, lastTwoExchanged(rank));
  }
  std::string product = graph.node("MatMul", {a, b});
  if (added) {
    product = graph.node("Add", {product, graph.value(added)});
  }
  graph.set(op.getResult(), product);
}

/// The zeros around the input, in front of all dimensions and behind all.
SmallVector<int64_t> padsOf(const Convolution &convolution) {
  SmallVector<int64_t> pads(convolution.low);
  for (unsigned i = 0; i < convolution.places(); ++i) {
    pads.push_back(convolution.high(i));
  }
  return pads;
}

std::string forward(const Convolution &c, const std::string &x,
                    const std::string &w, OnnxGraph &graph) {
  return graph.node(
      "Conv", {x, w},
      {attribute("strides", c.strides), attribute("pads", padsOf(c)),
       attribute("dilations", c.dilations), attribute("group", c.groups)});
}

/// Places of the input after the last window: their gradient is zero.
SmallVector<int64_t> unseen(const Convolution &c) {
  SmallVector<int64_t> sizes;
  for (unsigned i = 0; i < c.places(); ++i) {
    int64_t reach = (c.output.getDimSize(i + 2) - 1) * c.strides[i] +
                    (c.weights.getDimSize(i + 2) - 1) * c.dilations[i] + 1;
    sizes.push_back(
        std::max<int64_t>(c.input.getDimSize(i + 2) + c.low[i] - reach, 0));
  }
  return sizes;
}

/// The gradient of the input. The zeros after what the windows see are padded
/// by hand: runtimes bound output_padding each in their own way.
std::string inputGradient(const Convolution &c, const std::string &dy,
                          const std::string &w, OnnxGraph &graph) {
  std::string dx = graph.node(
      "ConvTranspose", {dy, w},
      {attribute("strides", c.strides), attribute("pads", padsOf(c)),
       attribute("dilations", c.dilations), attribute("group", c.groups)});
  SmallVector<int64_t> behind = unseen(c);
  if (llvm::all_of(behind, [](int64_t size) { return size == 0; })) {
    return dx;
  }
  SmallVector<int64_t> pads(c.input.getRank() + 2, 0);
  llvm::append_range(pads, behind);
  return graph.node(
      "Pad", {dx, graph.ints(pads), graph.number(c.input.getElementType(), 0)},
      {attribute("mode", "constant")});
}

/// The gradient of the weights,
///   dw[k, c, w] = sum x[n, c, o * stride - low + w * dilation] dy[n, k, o],
/// is a convolution of x with dy in which samples and channels change places,
/// and strides and dilations. Groups stay groups:
///   x [N, C, P] -> [C / G, G * N, P]    dy [N, K, O] -> [K, N, O]
///   their convolution [C / G, K, W] -> [K, C / G, W]
std::string weightsGradient(const Convolution &c, const std::string &x,
                            const std::string &dy, OnnxGraph &graph) {
  ArrayRef<int64_t> places = c.input.getShape().drop_front(2);
  int64_t perGroup = c.channels() / c.groups, rank = c.input.getRank();
  SmallVector<int64_t> split{c.samples(), c.groups, perGroup};
  llvm::append_range(split, places);
  auto groupsFirst = llvm::to_vector(llvm::seq<int64_t>(0, rank + 1));
  groupsFirst[0] = 2;
  groupsFirst[1] = 1;
  groupsFirst[2] = 0;
  SmallVector<int64_t> merged{perGroup, c.groups * c.samples()};
  llvm::append_range(merged, places);
  auto exchanged = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(exchanged[0], exchanged[1]);

  std::string left = graph.reshape(
      graph.transpose(graph.reshape(x, split), groupsFirst), merged);
  std::string dw = graph.node(
      "Conv", {left, graph.transpose(dy, exchanged)},
      {attribute("strides", c.dilations), attribute("pads", padsOf(c)),
       attribute("dilations", c.strides), attribute("group", c.groups)});
  // Places that no window sees make it longer.
  SmallVector<int64_t> sizes{perGroup, c.features()};
  llvm::append_range(sizes, c.weights.getShape().drop_front(2));
  return graph.transpose(graph.head(dw, sizes), exchanged);
}

std::string convolve(const Convolution &c, const std::string &lhs,
                     const std::string &rhs, OnnxGraph &graph) {
  switch (c.kind) {
  case ConvolutionKind::forward:
    return forward(c, lhs, rhs, graph);
  case ConvolutionKind::input:
    return inputGradient(c, lhs, rhs, graph);
  case ConvolutionKind::weights:
    return weightsGradient(c, lhs, rhs, graph);
  }
  llvm_unreachable("all kinds are handled");
}

/// Halves are added up in f32, as runtimes have no other convolution of them on
/// every device.
void convolutionForm(ConvolutionOp op, OnnxGraph &graph) {
  Convolution convolution(op);
  std::string lhs = graph.value(op.getLhs()), rhs = graph.value(op.getRhs());
  if (!isHalf(op.getLhs().getType().getElementType())) {
    return graph.set(op.getResult(), convolve(convolution, lhs, rhs, graph));
  }
  Type wide = Float32Type::get(op.getContext());
  for (RankedTensorType *tensor :
       {&convolution.input, &convolution.weights, &convolution.output}) {
    *tensor = tensor->clone(wide);
  }
  std::string sum = convolve(convolution, graph.convert(lhs, wide),
                             graph.convert(rhs, wide), graph);
  Type element = op.getResult().getType().getElementType();
  graph.set(op.getResult(),
            element == wide ? sum : graph.convert(sum, element));
}

} // namespace

ArrayRef<OnnxForm> mlir::zg::productForms() {
  static const OnnxForm forms[] = {formOf<MatmulOp, matmulForm>(),
                                   formOf<ConvolutionOp, convolutionForm>()};
  return forms;
}
