//===- RaiseAttention.cpp - finds attention in what exporters write -------===//

#include "passes/differentiate/AttentionCandidate.h"
#include "passes/differentiate/Passes.h"

namespace mlir::zg::nn {
#define GEN_PASS_DEF_RAISEATTENTION
#include "passes/differentiate/Passes.h.inc"
} // namespace mlir::zg::nn

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

/// Returns the values that a trained parameter decides.
DenseSet<Value> trainedValues(ProgramOp program) {
  DenseSet<Value> trained;
  for (BlockArgument argument : program.getArguments()) {
    auto parameter = program.getArgAttrOfType<ParameterAttr>(
        argument.getArgNumber(), kParameterAttr);
    if (parameter && parameter.getTrainable()) {
      trained.insert(argument);
    }
  }
  for (Operation &op : program.getBody().front()) {
    if (llvm::any_of(op.getOperands(), [&](Value operand) {
          return trained.contains(operand);
        })) {
      trained.insert(op.result_begin(), op.result_end());
    }
  }
  return trained;
}

struct RaiseAttentionPass
    : mlir::zg::nn::impl::RaiseAttentionBase<RaiseAttentionPass> {
  using RaiseAttentionBase::RaiseAttentionBase;

  void runOnOperation() override {
    SmallVector<Attribute> unfused;
    for (auto program : getOperation().getOps<ProgramOp>()) {
      raiseIn(program, unfused);
    }
    if (!unfused.empty()) {
      getOperation()->setAttr(kUnfusedAttr,
                              ArrayAttr::get(&getContext(), unfused));
    }
  }

private:
  void raiseIn(ProgramOp program, SmallVectorImpl<Attribute> &unfused) {
    SampleAnalysis analysis(program);
    DenseSet<Value> trained;
    if (trains) {
      trained = trainedValues(program);
    }
    for (auto softmax : llvm::make_early_inc_range(
             program.getBody().front().getOps<SoftmaxOp>())) {
      std::string reason;
      AttentionCandidate candidate(softmax, trained, analysis);
      if (!candidate.match(reason)) {
        continue;
      }
      if (attention == "products") {
        reason = "--attention products";
      }
      if (reason.empty()) {
        candidate.replace();
        ++raised;
        continue;
      }
      auto why = StringAttr::get(&getContext(), reason);
      softmax->setAttr(kUnfusedAttr, why);
      auto node = StringAttr::get(&getContext(), nameOf(softmax.getLoc()));
      unfused.push_back(ArrayAttr::get(&getContext(), {node, why}));
    }
  }
};

} // namespace
