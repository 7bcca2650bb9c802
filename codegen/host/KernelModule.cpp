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

/// Not a function of the processors: a plan's bytes are the same everywhere.
constexpr unsigned kKernelsOfAModule = 32;

FailureOr<host::WorkRange> emitForm(ImplicitLocOpBuilder &b,
                                    nn::KernelOp kernel, StringRef symbol,
                                    const HostTarget &target) {
  switch (kernel.getForm()) {
  case nn::KernelForm::rows:
    return host::emitRows(b, kernel, symbol);
  case nn::KernelForm::columns:
    return host::emitColumns(b, kernel, symbol);
  case nn::KernelForm::scan:
    return host::emitScan(b, kernel, symbol);
  case nn::KernelForm::scatter:
    return host::emitScatter(b, kernel, symbol);
  case nn::KernelForm::attention:
    return host::emitAttention(b, kernel, symbol, target);
  }
  llvm_unreachable("every form has a case");
}

} // namespace

KernelModuleBuilder::KernelModuleBuilder(MLIRContext *context,
                                         HostTarget target)
    : context(context), target(std::move(target)) {
  emit::loadEmitDialects(context);
}

FailureOr<KernelInfo> KernelModuleBuilder::add(Operation *op) {
  if (failed(emit::checkNotEmpty(op))) {
    return failure();
  }
  if (count % kKernelsOfAModule == 0) {
    modules.push_back(ModuleOp::create(UnknownLoc::get(context)));
  }
  auto b = ImplicitLocOpBuilder::atBlockEnd(UnknownLoc::get(context),
                                            modules.back()->getBody());
  std::string symbol = emit::kernelSymbol(count++, op);
  auto matmul = dyn_cast<nn::MatmulOp>(op);
  FailureOr<host::WorkRange> range =
      matmul ? host::emitMatmul(b, matmul, symbol)
             : emitForm(b, cast<nn::KernelOp>(op), symbol, target);
  if (failed(range)) {
    return failure();
  }
  return KernelInfo{symbol, range->extent, range->grain, range->multiplied};
}

FailureOr<std::vector<char>> KernelModuleBuilder::finish() {
  std::vector<OwningOpRef<ModuleOp>> finished = std::move(modules);
  modules.clear();
  count = 0;
  if (finished.empty()) {
    finished.push_back(ModuleOp::create(UnknownLoc::get(context)));
  }
  FailureOr<std::vector<host::Object>> objects =
      host::compileToObjects(finished, target);
  if (failed(objects)) {
    return failure();
  }
  return host::linkSharedObject(*objects, UnknownLoc::get(context));
}
