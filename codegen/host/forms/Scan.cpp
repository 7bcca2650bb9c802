//===- Scan.cpp - running sums --------------------------------------------===//

#include "codegen/host/forms/Forms.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::host;

/// The tensor is [outer, length, inner]; a work item sums sixteen of the inner
/// elements along the length. Row of the domain: outer and length together.
FailureOr<WorkRange> host::emitScan(ImplicitLocOpBuilder &b,
                                    nn::KernelOp kernel, StringRef name) {
  auto yield = cast<nn::YieldOp>(kernel.getBody().front().getTerminator());
  auto cumsum = yield->getNumOperands() == 1
                    ? yield.getOperand(0).getDefiningOp<nn::CumsumOp>()
                    : nn::CumsumOp();
  if (!cumsum) {
    return kernel.emitError("'")
           << nn::nameOf(kernel.getLoc()) << "': a scan yields its nn.cumsum";
  }
  ArrayRef<int64_t> shape = cast<RankedTensorType>(cumsum.getType()).getShape();
  int64_t outer = ShapedType::getNumElements(shape.take_front(cumsum.getDim()));
  int64_t length = shape[cumsum.getDim()];
  int64_t inner =
      ShapedType::getNumElements(shape.drop_front(cumsum.getDim() + 1));
  Graph graph(Domain{outer * length, inner}, /*reducesColumns=*/true);
  FailureOr<Node *> operand = graph.add(cumsum.getOperand(), Extent::Full);
  if (failed(operand) || failed(graph.resolve())) {
    return failure();
  }
  HostBody body(b, kernel, graph, name);
  Lanes &l = body.lanes;
  body.enterKernel();
  int64_t groups = (inner + kLanes - 1) / kLanes;
  Type type = l.vectorOf(valueType((*operand)->element));
  body.loop(body.begin, body.end, 1, {}, [&](Value item, ValueRange) {
    Value first = b.create<arith::DivUIOp>(item, l.index(groups));
    Value group = b.create<arith::RemUIOp>(item, l.index(groups));
    Value col = l.mul(group, l.index(kLanes));
    Value mask = l.maskBelow(l.sub(l.index(inner), col));
    Value firstRow = l.mul(first, l.index(length));
    SmallVector<Value> zero{l.zero(type)};
    body.loop(
        l.index(0), l.index(length), 1, zero, [&](Value i, ValueRange carried) {
          Value place = cumsum.getReverse() ? l.sub(l.index(length - 1), i) : i;
          Value row = l.add(firstRow, place);
          body.enterRow(row);
          body.prepare(*operand);
          Chunk chunk(col, mask);
          Value value = l.splat(body.vector(*operand, chunk));
          Value sum = l.add(carried[0], value);
          Value offset = l.add(l.mul(row, l.index(inner)), col);
          body.store(body.resultPointer(0), offset,
                     cumsum.getExclusive() ? carried[0] : sum, mask);
          return SmallVector<Value>{sum};
        });
    return SmallVector<Value>();
  });
  body.finish();
  return WorkRange{outer * groups, 1};
}
