//===- CudaBody.h - the function of a kernel on CUDA ----------------------===//

#ifndef ZEROGRAPH_CODEGEN_CUDA_FORMS_CUDABODY_H
#define ZEROGRAPH_CODEGEN_CUDA_FORMS_CUDABODY_H

#include "codegen/emit/Body.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::zg::cuda {

using namespace emit;

/// Threads of a warp.
inline constexpr int64_t kWarp = 32;
/// Threads of every block.
inline constexpr int64_t kBlock = 128;

/// Begins a kernel with these parameters; the builder is left inside.
LLVM::LLVMFuncOp beginKernel(ImplicitLocOpBuilder &b, StringRef name,
                             ArrayRef<Type> parameters);
/// A pointer to memory that every thread reaches.
Type globalPointer(MLIRContext *context);
/// The number of this thread in the grid.
Value threadOfGrid(Lanes &lanes);

/// The body of one launch of a kernel, as one thread runs it: lanes of width 1.
class CudaBody : public Body {
public:
  /// Begins the function: pointers to the operands of `op`, its results and, if
  /// it `hasScratch`, that. The builder is left inside.
  CudaBody(ImplicitLocOpBuilder &builder, Operation *op, Graph &graph,
           StringRef name, bool hasScratch = false)
      : CudaBody(builder, op, graph,
                 beginFunction(builder, op, name, hasScratch)) {}

  /// Where the scratch begins.
  Value scratchPointer;

  /// Enters the kernel and emits for threads [0, items) of the grid: the others
  /// read nothing, as a result may lie where they would.
  void forItem(int64_t items, llvm::function_ref<void(Value item)> emit);
  /// Emits for warps [0, items) of the grid, and the thread's place in its own:
  /// all 32 threads come here together.
  void forWarp(int64_t items,
               llvm::function_ref<void(Value item, Value lane)> emit);

  /// The value of the thread whose place differs by this bit. All threads of
  /// the warp call it together, and those below.
  Value shuffleXor(Value value, int32_t bit);
  /// i32: bit i is the condition of thread i.
  Value ballot(Value condition);
  /// What the warp's threads have read or written, they have before any of them
  /// goes on.
  void syncWarp();

  /// Returns from the function, which ends it.
  void finish();

private:
  struct Function {
    LLVM::LLVMFuncOp op;
    SmallVector<Value> buffers;
    Value scratch;
  };
  static Function beginFunction(ImplicitLocOpBuilder &b, Operation *op,
                                StringRef name, bool hasScratch);
  CudaBody(ImplicitLocOpBuilder &builder, Operation *op, Graph &graph,
           Function function)
      : Body(builder, graph, std::move(function.buffers), op->getNumResults(),
             /*width=*/1),
        scratchPointer(function.scratch), function(function.op) {}

  Value shuffleWord(Value word, int32_t bit);

  LLVM::LLVMFuncOp function;
};

} // namespace mlir::zg::cuda

#endif // ZEROGRAPH_CODEGEN_CUDA_FORMS_CUDABODY_H
