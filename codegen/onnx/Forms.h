//===- Forms.h - the ONNX operators that nn ops are -----------------------===//

#ifndef ZEROGRAPH_CODEGEN_ONNX_FORMS_H
#define ZEROGRAPH_CODEGEN_ONNX_FORMS_H

#include "codegen/onnx/OnnxGraph.h"

namespace mlir::zg {

/// Writes an op that has this name, and sets the names of its results.
struct OnnxForm {
  StringRef op;
  void (*write)(Operation *op, OnnxGraph &graph);
};

/// A form by the class of its op.
template <typename Op, void (*write)(Op, OnnxGraph &)>
OnnxForm formOf() {
  return {Op::getOperationName(),
          [](Operation *op, OnnxGraph &graph) { write(cast<Op>(op), graph); }};
}

// One table a family, each in the file of its name.
ArrayRef<OnnxForm> elementwiseForms();
ArrayRef<OnnxForm> shapeForms();
ArrayRef<OnnxForm> reduceForms();
ArrayRef<OnnxForm> productForms();
ArrayRef<OnnxForm> indexForms();

/// The form of an op, or null.
const OnnxForm *findForm(Operation *op);

} // namespace mlir::zg

#endif // ZEROGRAPH_CODEGEN_ONNX_FORMS_H
