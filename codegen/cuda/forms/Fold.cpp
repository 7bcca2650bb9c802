//===- Fold.cpp - the kernels that add contributions up -------------------===//
//
// See runtime/device/cuda/FoldKernel.h.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/forms/Forms.h"
#include "codegen/emit/Elementwise.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::cuda;

namespace {

/// The parameters of the kernel.
enum Parameter {
  kSum,
  kContributions,
  kStride,
  kCount,
  kElements,
  kAccumulate
};

/// Emits what a thread does that has so many elements.
class Fold {
public:
  Fold(ImplicitLocOpBuilder &b, LLVM::LLVMFuncOp kernel, Type wire,
       int64_t width)
      : b(b), l(b, width), kernel(kernel), wire(wire), sent(storageType(wire)),
        added(nn::isHalf(wire) ? b.getF32Type() : wire) {}

  void emit() {
    Value first = l.mul(threadOfGrid(l), l.index(l.width));
    when(l.compare(arith::CmpIPredicate::slt, first, argument(kElements)),
         [&] { emitSum(first); });
  }

private:
  Value argument(Parameter number) { return kernel.getArgument(number); }

  /// Emits what only runs where a condition holds.
  void when(Value condition, llvm::function_ref<void()> then) {
    auto branch = b.create<scf::IfOp>(condition, /*withElse=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    then();
  }

  Value placeOf(Value begin, Type element, Value offset) {
    return b.create<LLVM::GEPOp>(begin.getType(), element, begin,
                                 ArrayRef<LLVM::GEPArg>{offset});
  }
  unsigned alignmentOf(Type element) const {
    return std::min<int64_t>(kAccessBytes,
                             l.width * element.getIntOrFloatBitWidth() / 8);
  }
  Value load(Type element, Value place) {
    return b.create<LLVM::LoadOp>(l.vectorOf(element), place,
                                  alignmentOf(element));
  }

  void emitSum(Value first) {
    Value place = placeOf(argument(kSum), added, first);
    auto before = b.create<scf::IfOp>(
        TypeRange{l.vectorOf(added)},
        l.compare(arith::CmpIPredicate::ne, argument(kAccumulate), l.index(0)),
        /*withElse=*/true);
    b.setInsertionPointToStart(before.thenBlock());
    b.create<scf::YieldOp>(load(added, place));
    b.setInsertionPointToStart(before.elseBlock());
    b.create<scf::YieldOp>(l.zero(l.vectorOf(added)));
    b.setInsertionPointAfter(before);
    auto loop = b.create<scf::ForOp>(l.index(0), argument(kCount), l.index(1),
                                     before.getResults());
    b.setInsertionPointToStart(loop.getBody());
    Value offset =
        l.add(l.mul(loop.getInductionVar(), argument(kStride)), first);
    Value value = load(sent, placeOf(argument(kContributions), sent, offset));
    value = sent == added ? value : emitFromHalf(l, wire, value);
    b.create<scf::YieldOp>(l.add(loop.getRegionIterArg(0), value));
    b.setInsertionPointAfter(loop);
    b.create<LLVM::StoreOp>(loop.getResult(0), place, alignmentOf(added));
  }

  ImplicitLocOpBuilder &b;
  Lanes l;
  LLVM::LLVMFuncOp kernel;
  Type wire, sent, added;
};

} // namespace

void cuda::emitFold(ImplicitLocOpBuilder &b, Type wire, int64_t width,
                    StringRef name) {
  OpBuilder::InsertionGuard guard(b);
  Type pointer = globalPointer(b.getContext()), i64 = b.getI64Type();
  LLVM::LLVMFuncOp kernel =
      beginKernel(b, name, {pointer, pointer, i64, i64, i64, i64});
  Fold(b, kernel, wire, width).emit();
  b.create<LLVM::ReturnOp>(ValueRange());
}
