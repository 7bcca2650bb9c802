//===- CudaBody.h - the function of a kernel on CUDA ----------------------===//

#ifndef ZEROGRAPH_CODEGEN_CUDA_FORMS_CUDABODY_H
#define ZEROGRAPH_CODEGEN_CUDA_FORMS_CUDABODY_H

#include "codegen/emit/Body.h"

#include <utility>

namespace mlir::LLVM {
class LLVMFuncOp;
} // namespace mlir::LLVM

namespace mlir::zg::cuda {

using namespace emit;

/// Threads of a warp.
inline constexpr int64_t kWarp = 32;
/// Threads of every block.
inline constexpr int64_t kBlock = 128;

/// Bytes of the longest access.
inline constexpr int64_t kAccessBytes = 16;

/// Begins a kernel of `block` threads with these parameters; the builder is
/// left inside.
LLVM::LLVMFuncOp beginKernel(ImplicitLocOpBuilder &b, StringRef name,
                             ArrayRef<Type> parameters, int64_t block = kBlock);
/// A pointer to memory that every thread reaches.
Type globalPointer(MLIRContext *context);
/// Indices: of this block, of a thread in its block, of a thread in a grid of
/// blocks of so many threads.
Value blockOfGrid(Lanes &lanes);
Value threadOfBlock(Lanes &lanes);
Value threadOfGrid(Lanes &lanes, int64_t block = kBlock);

/// How the threads of a launch share a kernel.
struct Threads {
  /// The threads of each block.
  int64_t block = kBlock;
  /// Elements that a thread computes together.
  int64_t width = 1;
  /// Counts the blocks that a multiprocessor is to hold at least: few, where
  /// ptxas would rather spill registers to hold many; 0 leaves it to ptxas.
  int32_t blocksAtLeast = 0;
  /// True if the launch has the kernel's scratch.
  bool scratch = false;
};

/// The body of one launch of a kernel, as one thread runs it. Buffers begin at
/// multiples of kAccessBytes (a plan's slices do at multiples of 64), and
/// indices have 32 bits where no place of the kernel needs more.
class CudaBody : public Body {
public:
  /// Begins the function: pointers to the operands of `op`, its results and its
  /// scratch. The builder is left inside.
  CudaBody(ImplicitLocOpBuilder &builder, Operation *op, Graph &graph,
           StringRef name, Threads threads = {})
      : CudaBody(builder, op, graph, threads,
                 beginFunction(builder, op, name, threads)) {}

  /// The place where the scratch begins.
  Value scratchPointer;

  /// Enters the kernel and emits for threads [0, items) of the grid: the others
  /// read nothing, as a result may lie where they would.
  void forItem(int64_t items, llvm::function_ref<void(Value item)> emit);
  /// The same for threads [lo, hi), one element at a time.
  void forSingle(int64_t lo, int64_t hi,
                 llvm::function_ref<void(Body &body, Value item)> emit);
  /// Emits for warps [0, items) of the grid, and the thread's place in its own:
  /// all 32 threads come here together.
  void forWarp(int64_t items,
               llvm::function_ref<void(Value item, Value lane)> emit);

  /// The value, of one lane or all, of the thread whose place differs by this
  /// bit. All threads of
  /// the warp call it together, and those below.
  Value shuffleXor(Value value, int32_t bit);
  /// i32: bit i is the condition of thread i.
  Value ballot(Value condition);
  /// Completes what the warp's threads read or write before any of them goes
  /// on.
  void syncWarp();

  /// The same for the threads of the block, all of which come here.
  void syncBlock();

  /// Returns, to every thread of a block, whether it is the last of `blocks`
  /// blocks that come here with this `number`, which is below `numbers`. All
  /// threads come, once; what those of the other blocks have stored before is
  /// then there for the last one's. As threadFenceReduction of NVIDIA's samples
  /// does it, with counters in global memory: they are 0 again when all have
  /// come, so launches of one kernel must not overlap.
  Value isLastBlock(StringRef name, Value number, int64_t numbers,
                    int64_t blocks);

  /// An array that the threads of a block share.
  Value declareShared(StringRef name, Type element, int64_t count);

  /// Returns from the function, which ends it.
  void finish();

private:
  struct Function {
    Operation *op = nullptr;
    SmallVector<Value> buffers;
    unsigned results = 0;
    Value scratch;
  };
  static Function beginFunction(ImplicitLocOpBuilder &b, Operation *op,
                                StringRef name, const Threads &threads);
  CudaBody(ImplicitLocOpBuilder &builder, Operation *op, Graph &graph,
           const Threads &threads, Function function)
      : Body(builder, graph, function.buffers, op->getNumResults(),
             threads.width, kAccessBytes, indexBitsOf(op, graph)),
        scratchPointer(function.scratch), threads(threads),
        function(std::move(function)) {
    lanes.approximation = approximationOf(builder);
  }

  static const Approximation *approximationOf(ImplicitLocOpBuilder &b);
  static unsigned indexBitsOf(Operation *op, const Graph &graph);

  /// Declares an array, without a value or of zeros, and returns its address.
  Value declareArray(StringRef name, Type element, int64_t count,
                     unsigned space, bool zeros);
  Value shuffleElement(Value element, int32_t bit);
  Value shuffleWord(Value word, int32_t bit);

  Threads threads;
  Function function;
};

} // namespace mlir::zg::cuda

#endif // ZEROGRAPH_CODEGEN_CUDA_FORMS_CUDABODY_H
