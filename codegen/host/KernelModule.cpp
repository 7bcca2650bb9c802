//===- KernelModule.cpp - kernels of a plan as one shared object ----------===//

#include "codegen/host/KernelModule.h"

#include "codegen/emit/Kernel.h"
#include "codegen/emit/Lower.h"
#include "codegen/host/Compile.h"
#include "codegen/host/forms/Forms.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::zg;

namespace {

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
  emit::loadEmitDialects(context);
  module = ModuleOp::create(UnknownLoc::get(context));
}

FailureOr<KernelInfo> KernelModuleBuilder::add(Operation *op) {
  if (failed(emit::checkNotEmpty(op))) {
    return failure();
  }
  auto b = ImplicitLocOpBuilder::atBlockEnd(UnknownLoc::get(context),
                                            module->getBody());
  std::string symbol = emit::kernelSymbol(count++, op);
  auto matmul = dyn_cast<nn::MatmulOp>(op);
  FailureOr<host::WorkRange> range =
      matmul ? host::emitMatmul(b, matmul, symbol)
             : emitForm(b, cast<nn::KernelOp>(op), symbol);
  if (failed(range)) {
    return failure();
  }
  return KernelInfo{symbol, range->extent, range->grain};
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
