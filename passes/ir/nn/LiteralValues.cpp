//===- LiteralValues.cpp - what needs no tensor ---------------------------===//

#include "passes/ir/nn/LiteralValues.h"

#include "passes/ir/nn/NNDialect.h"
#include "passes/ir/nn/Queries.h"

using namespace mlir;
using namespace mlir::zg;

nn::LiteralValues::LiteralValues(Block &block) {
  for (Operation &op : block) {
    bool computed = op.getNumOperands() > 0 &&
                    isa<NNDialect>(op.getDialect()) && !isLibraryCall(&op) &&
                    llvm::all_of(op.getOperands(), [&](Value operand) {
                      return contains(operand);
                    });
    if (computed || isLiteral(&op)) {
      values.insert(op.result_begin(), op.result_end());
    }
  }
}
