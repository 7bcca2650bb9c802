//===- Index.cpp - gathers and scatters as ONNX operators -----------------===//

#include "codegen/onnx/Forms.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::nn;

namespace {

/// An index outside of the table is that of the nearest row; ONNX would count
/// a negative one from the end, and refuse others.
std::string clamped(Value indices, int64_t rows, OnnxGraph &graph) {
  Type element = getElementTypeOrSelf(indices.getType());
  return graph.node("Clip", {graph.value(indices), graph.number(element, 0),
                             graph.number(element, double(rows - 1))});
}

void gatherForm(GatherOp op, OnnxGraph &graph) {
  int64_t rows = op.getTable().getType().getDimSize(0);
  std::string indices = clamped(op.getIndices(), rows, graph);
  graph.set(op.getResult(),
            graph.node("Gather", {graph.value(op.getTable()), indices},
                       {attribute("axis", int64_t(0))}));
}

StringRef reduction(ScatterKind kind) {
  switch (kind) {
  case ScatterKind::sum:
    return "add";
  case ScatterKind::max:
    return "max";
  case ScatterKind::min:
    return "min";
  case ScatterKind::prod:
    return "mul";
  case ScatterKind::set:
    return "none";
  }
  llvm_unreachable("a kind without a reduction");
}

/// By ScatterElements along the rows: every element of a row has the row's
/// index. (Of several rows, "none" leaves whichever the runtime writes last.)
void scatterForm(ScatterOp op, OnnxGraph &graph) {
  auto table = op.getResult().getType();
  int64_t updates =
      cast<RankedTensorType>(op.getIndices().getType()).getNumElements();
  SmallVector<int64_t> column(table.getRank(), 1), shape(table.getShape());
  column[0] = shape[0] = updates;
  std::string indices = graph.node(
      "Expand",
      {graph.reshape(clamped(op.getIndices(), table.getDimSize(0), graph),
                     column),
       graph.ints(shape)});
  std::string rows = graph.reshape(graph.value(op.getUpdates()), shape);
  std::string into =
      op.getInto()
          ? graph.value(op.getInto())
          : graph.node("Expand", {graph.number(table.getElementType(), 0),
                                  graph.ints(table.getShape())});
  graph.set(op.getResult(),
            graph.node("ScatterElements", {into, indices, rows},
                       {attribute("axis", int64_t(0)),
                        attribute("reduction", reduction(op.getKind()))}));
}

} // namespace

ArrayRef<OnnxForm> mlir::zg::indexForms() {
  static const OnnxForm forms[] = {formOf<GatherOp, gatherForm>(),
                                   formOf<ScatterOp, scatterForm>()};
  return forms;
}
