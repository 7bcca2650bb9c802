//===- Forms.cpp - the ONNX operators that nn ops are ---------------------===//

#include "codegen/onnx/Forms.h"

using namespace mlir;
using namespace mlir::zg;

const OnnxForm *mlir::zg::findForm(Operation *op) {
  for (ArrayRef<OnnxForm> family :
       {elementwiseForms(), shapeForms(), reduceForms(), productForms(),
        indexForms()}) {
    for (const OnnxForm &form : family) {
      if (form.op == op->getName().getStringRef()) {
        return &form;
      }
    }
  }
  return nullptr;
}
