//===- KernelModule.cpp - kernels of a plan as one shared object ----------===//

#include "codegen/host/KernelModule.h"

#include "codegen/host/Compile.h"
#include "codegen/host/emit/Elementwise.h"
#include "codegen/host/emit/Forms.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::zg;

namespace {

/// The kernel as text without locations and names.
std::string structureOf(nn::KernelOp kernel) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::DenseMap<Value, unsigned> numbers;
  auto define = [&](Value value) {
    numbers.try_emplace(value, numbers.size());
    os << value.getType() << ";";
  };
  os << kernel.getForm() << "(";
  Block &body = kernel.getBody().front();
  llvm::for_each(body.getArguments(), define);
  os << ")";
  for (Operation &op : body) {
    os << op.getName() << op.getAttrDictionary();
    for (Value operand : op.getOperands()) {
      os << "%" << numbers.lookup(operand);
    }
    os << ":";
    llvm::for_each(op.getResults(), define);
  }
  return text;
}

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

} // namespace

KernelModuleBuilder::KernelModuleBuilder(MLIRContext *context,
                                         HostTarget target)
    : context(context), target(std::move(target)) {
  host::loadCodegenDialects(context);
  module = ModuleOp::create(UnknownLoc::get(context));
}

std::string KernelModuleBuilder::nextSymbol(StringRef form) {
  return ("k" + Twine(kernels.size()) + "_" + form).str();
}

FailureOr<KernelInfo> KernelModuleBuilder::add(nn::KernelOp kernel) {
  std::string structure = structureOf(kernel);
  if (auto it = kernels.find(structure); it != kernels.end()) {
    return it->second;
  }
  if (failed(checkNotEmpty(kernel))) {
    return failure();
  }
  KernelInfo info;
  info.symbol = nextSymbol(kernel.getForm());
  auto b = ImplicitLocOpBuilder::atBlockEnd(UnknownLoc::get(context),
                                            module->getBody());
  auto emit = kernel.getForm() == "rows"      ? host::emitRows
              : kernel.getForm() == "columns" ? host::emitColumns
              : kernel.getForm() == "scan"    ? host::emitScan
                                              : host::emitScatter;
  FailureOr<host::WorkRange> range = emit(b, kernel, info.symbol);
  if (failed(range)) {
    return failure();
  }
  info.extent = range->extent;
  info.grain = range->grain;
  kernels.emplace(std::move(structure), info);
  return info;
}

FailureOr<KernelInfo> KernelModuleBuilder::add(nn::MatmulOp matmul) {
  std::string structure;
  llvm::raw_string_ostream(structure)
      << "matmul" << matmul->getAttrDictionary() << matmul.getLhs().getType()
      << matmul.getRhs().getType();
  if (auto it = kernels.find(structure); it != kernels.end()) {
    return it->second;
  }
  Type element = cast<RankedTensorType>(matmul.getType()).getElementType();
  if (failed(checkNotEmpty(matmul)) ||
      failed(host::checkElementType(matmul, element))) {
    return failure();
  }
  KernelInfo info;
  info.symbol = nextSymbol("matmul");
  auto b = ImplicitLocOpBuilder::atBlockEnd(UnknownLoc::get(context),
                                            module->getBody());
  host::WorkRange range = host::emitMatmul(b, matmul, info.symbol);
  info.extent = range.extent;
  info.grain = range.grain;
  kernels.emplace(std::move(structure), info);
  return info;
}

FailureOr<std::vector<char>> KernelModuleBuilder::finish() {
  OwningOpRef<ModuleOp> finished = std::move(module);
  module = ModuleOp::create(UnknownLoc::get(context));
  kernels.clear();
  FailureOr<std::vector<char>> object =
      host::compileToObject(*finished, target);
  if (failed(object)) {
    return failure();
  }
  return host::linkSharedObject(*object, finished->getLoc());
}
