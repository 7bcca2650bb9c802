//===- StepEmitter.h - the steps of one program ---------------------------===//

#ifndef ZEROGRAPH_PASSES_SCHEDULE_STEPEMITTER_H
#define ZEROGRAPH_PASSES_SCHEDULE_STEPEMITTER_H

#include "passes/analysis/TargetInfo.h"
#include "passes/schedule/BufferAssignment.h"
#include "passes/schedule/KernelTable.h"

namespace mlir::zg::sched {

/// Emits the steps of a function's ops, in order, into a program.
class StepEmitter {
public:
  StepEmitter(ProgramOp program, SliceTable &slices, KernelTable &kernels,
              const BufferAssignment &storage, const TargetInfo &target)
      : program(program),
        builder(OpBuilder::atBlockEnd(&program.getBody().front())),
        context(program.getContext()), slices(slices), kernels(kernels),
        storage(storage), target(target) {}

  /// Before all else: what the runtime gives to the program.
  void copyIn(nn::ProgramOp function);
  /// Fails, with a diagnostic, on what has no step.
  LogicalResult emit(Operation *op);

private:
  /// The accesses of a step under construction.
  struct Accesses {
    SmallVector<Value> slices;
    SmallVector<Attribute> ranges;
  };
  void add(Accesses &accesses, Mode mode, Place place, int64_t bytes);
  void add(Accesses &accesses, Mode mode, Value value);

  /// Makes a step: what all have in common, then `attributes`.
  template <typename StepOp, typename... Attributes>
  void create(Stream stream, const Accesses &accesses, StringRef label,
              Attributes &&...attributes);

  LogicalResult launch(Operation *op);
  LogicalResult matmul(nn::MatmulOp op);
  LogicalResult convolution(nn::ConvolutionOp op);
  /// Returns what a kernel or library call with `scratch` bytes of workspace
  /// touches. Fails where an operand is a constant.
  FailureOr<Accesses> computeAccesses(Operation *op, int64_t scratch);
  FailureOr<Accesses> productAccesses(nn::MatmulOp op, int64_t scratch);
  void addScratch(Accesses &accesses, int64_t bytes);
  LogicalResult pack(zero::PackOp op);
  void join(nn::JoinRowsOp op);
  template <typename Op>
  void gather(Op op, Value result);
  LogicalResult inPlaceGather(zero::AllGatherOp op);
  void reduceScatter(zero::ReduceScatterOp op);
  void allReduce(zero::AllReduceOp op);
  template <typename Op>
  void transfer(Op op);
  void read(zero::ReadOp op);
  void write(zero::WriteOp op);
  LogicalResult finish(nn::ReturnOp op);

  /// Returns the stream that copies between two spaces, or within one.
  Stream streamOf(Place from, Place to) const;
  /// Returns the stream that copies and fills within the memory that a slice
  /// lies in.
  Stream streamOf(Place place) const;
  void copy(Place from, Place to, int64_t bytes, StringRef label,
            StringAttr reason = {});
  void fill(Place place, int64_t bytes, StringRef label);

  ProgramOp program;
  OpBuilder builder;
  MLIRContext *context;
  SliceTable &slices;
  KernelTable &kernels;
  const BufferAssignment &storage;
  const TargetInfo &target;
  Location location = builder.getUnknownLoc();
  std::string label;
  int64_t sequence = 0;
};

template <typename StepOp, typename... Attributes>
void StepEmitter::create(Stream stream, const Accesses &accesses,
                         StringRef stepLabel, Attributes &&...attributes) {
  builder.create<StepOp>(location, TimepointType::get(context), ValueRange(),
                         accesses.slices, StreamAttr::get(context, stream),
                         builder.getArrayAttr(accesses.ranges),
                         builder.getStringAttr(stepLabel),
                         std::forward<Attributes>(attributes)...);
}

} // namespace mlir::zg::sched

#endif // ZEROGRAPH_PASSES_SCHEDULE_STEPEMITTER_H
