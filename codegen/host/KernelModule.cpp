//===- KernelModule.cpp - kernels of a plan as one shared object ----------===//

#include "codegen/host/KernelModule.h"

#include "codegen/host/Compile.h"
#include "codegen/host/forms/Forms.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::zg;

namespace {

LogicalResult checkNotEmpty(Operation *op) {
  SmallVector<Type> types(op->getOperandTypes());
  llvm::append_range(types, op->getResultTypes());
  for (Type type : types) {
    if (cast<RankedTensorType>(type).getNumElements() == 0) {
      return op->emitError("'")
             << nn::nameOf(op->getLoc()) << "': a tensor of type " << type
             << " has no elements; no kernel can be generated for it";
    }
  }
  return success();
}

FailureOr<host::WorkRange> emitForm(ImplicitLocOpBuilder &b,
                                    nn::KernelOp kernel, StringRef symbol) {
  switch (kernel.getForm()) {
  case nn::KernelForm::rows:
    return host::emitRows(b, kernel, symbol);
  case nn::KernelForm::columns:
    return host::emitColumns(b, kernel, symbol);
  case nn::KernelForm::scan:
    return host::emitScan(b, kernel, symbol);
  case nn::KernelForm::scatter:
    return host::emitScatter(b, kernel, symbol);
  }
  llvm_unreachable("every form has a case");
}

} // namespace

KernelModuleBuilder::KernelModuleBuilder(MLIRContext *context,
                                         HostTarget target)
    : context(context), target(std::move(target)) {
  host::loadCodegenDialects(context);
  module = ModuleOp::create(UnknownLoc::get(context));
}

std::string KernelModuleBuilder::nextSymbol(StringRef form) {
  return ("k" + Twine(count++) + "_" + form).str();
}

FailureOr<KernelInfo> KernelModuleBuilder::add(Operation *op) {
  if (failed(checkNotEmpty(op))) {
    return failure();
  }
  auto b = ImplicitLocOpBuilder::atBlockEnd(UnknownLoc::get(context),
                                            module->getBody());
  KernelInfo info;
  FailureOr<host::WorkRange> range = failure();
  if (auto matmul = dyn_cast<nn::MatmulOp>(op)) {
    info.symbol = nextSymbol("matmul");
    range = host::emitMatmul(b, matmul, info.symbol);
  } else {
    auto kernel = cast<nn::KernelOp>(op);
    info.symbol = nextSymbol(nn::stringifyKernelForm(kernel.getForm()));
    range = emitForm(b, kernel, info.symbol);
  }
  if (failed(range)) {
    return failure();
  }
  info.extent = range->extent;
  info.grain = range->grain;
  return info;
}

FailureOr<std::vector<char>> KernelModuleBuilder::finish() {
  OwningOpRef<ModuleOp> finished = std::move(module);
  module = ModuleOp::create(UnknownLoc::get(context));
  count = 0;
  FailureOr<std::vector<char>> object =
      host::compileToObject(*finished, target);
  if (failed(object)) {
    return failure();
  }
  return host::linkSharedObject(*object, finished->getLoc());
}
