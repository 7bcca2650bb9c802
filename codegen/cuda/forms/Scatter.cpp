//===- Scatter.cpp - rows into a table ------------------------------------===//
//
// Three launches. One sets the table. One finds for each update the next one of
// the same row, and whether it is the first of its row: a warp compares it with
// all others. In the last, threads have some columns of each update that is the
// first of its row, and add those that follow it, in order. So there is no
// atomic operation, and the order is that of the updates.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/forms/Forms.h"
#include "codegen/cuda/forms/Vectors.h"
#include "codegen/emit/loops/ScatterLoops.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::cuda;
using IP = arith::CmpIPredicate;

namespace {

/// Keeps two i32 in scratch for every update: the next one of its row, or the
/// number of updates; and whether it is the first.
class Lists {
public:
  Lists(CudaBody &body, int64_t updates)
      : body(body), l(body.lanes), updates(updates) {}

  static int64_t bytes(int64_t updates) { return 2 * 4 * updates; }

  void store(Value update, Value next, Value first) {
    Type i32 = l.b.getI32Type();
    Value narrow = next.getType() == i32
                       ? next
                       : l.b.create<arith::TruncIOp>(i32, next).getResult();
    body.store(body.scratchPointer, update, narrow, {});
    body.store(body.scratchPointer, l.add(update, l.index(updates)),
               l.b.create<arith::ExtUIOp>(i32, first), {});
  }
  Value next(Value update) { return l.toIndex(load(update)); }
  Value isFirst(Value update) {
    Value first = load(l.add(update, l.index(updates)));
    return l.compare(IP::ne, first, l.zero(first.getType()));
  }

private:
  Value load(Value place) {
    return body.load(body.scratchPointer, place, l.b.getI32Type(),
                     /*asVector=*/false, {});
  }

  CudaBody &body;
  Lanes &l;
  int64_t updates;
};

CudaLaunch emitSets(ImplicitLocOpBuilder &b, nn::KernelOp kernel,
                    ScatterLoops &scatter, const std::string &name) {
  int64_t elements = scatter.tableRows * scatter.cols;
  int64_t width = accessWidth(scatter.update->element);
  while (elements % width != 0) {
    width /= 2;
  }
  CudaBody body(b, kernel, *scatter.graph, name,
                {.width = width, .scratch = true});
  Lanes &l = body.lanes;
  body.forItem(elements / width, [&](Value item) {
    Value place = l.mul(item, l.index(width));
    Value end = l.mul(scatter.rowsToSet(body), l.index(scatter.cols));
    body.when(l.compare(IP::slt, place, end),
              [&] { scatter.emitSet(body, place, {}, width); });
  });
  body.finish();
  return launchOver(name, elements / width);
}

CudaLaunch emitLists(ImplicitLocOpBuilder &b, nn::KernelOp kernel,
                     ScatterLoops &scatter, const std::string &name) {
  CudaBody body(b, kernel, *scatter.graph, name, {.scratch = true});
  Lanes &l = body.lanes;
  int64_t updates = scatter.updates;
  body.forWarp(updates, [&](Value own, Value lane) {
    Value row = scatter.enterUpdate(body, own), none = l.index(updates);
    Value no = l.integer(b.getI1Type(), 0);
    // Finds, among those that this thread sees, the first after `own` and any
    // before it.
    SmallVector<Value> seen = body.loop(
        lane, none, kWarp, {none, no}, [&](Value other, ValueRange carried) {
          Value same = l.compare(IP::eq, scatter.enterUpdate(body, other), row);
          Value after = l.logicalAnd(same, l.compare(IP::sgt, other, own));
          Value before = l.logicalAnd(same, l.compare(IP::slt, other, own));
          return SmallVector<Value>{
              l.min(carried[0], l.select(after, other, none)),
              b.create<arith::OrIOp>(carried[1], before)};
        });
    Value next = seen[0];
    for (int32_t bit : {16, 8, 4, 2, 1}) {
      next = l.min(next, body.shuffleXor(next, bit));
    }
    Value before = body.ballot(seen[1]);
    Value first = l.compare(IP::eq, before, l.zero(before.getType()));
    body.when(l.compare(IP::eq, lane, l.index(0)),
              [&] { Lists(body, updates).store(own, next, first); });
  });
  body.finish();
  return launchOverWarps(name, updates);
}

/// A row's elements from `col` on, from what they are set to through all
/// updates of the list that `first` begins.
void emitList(CudaBody &body, ScatterLoops &scatter, Value first, Value col) {
  ImplicitLocOpBuilder &b = body.lanes.b;
  Lanes &l = body.lanes;
  Lists lists(body, scatter.updates);
  Value row = scatter.enterUpdate(body, first);
  Value place = l.add(l.mul(row, l.index(scatter.cols)), col);
  Value old = scatter.loadOld(body, place, {}, l.width);
  auto list = b.create<scf::WhileOp>(
      TypeRange{first.getType(), old.getType()}, ValueRange{first, old},
      [&](OpBuilder &, Location, ValueRange carried) {
        Value more = l.compare(IP::slt, carried[0], l.index(scatter.updates));
        b.create<scf::ConditionOp>(more, carried);
      },
      [&](OpBuilder &, Location, ValueRange carried) {
        body.enterRow(carried[0]);
        body.prepare(scatter.update);
        Value value = scatter.updated(body, carried[1], col, {});
        b.create<scf::YieldOp>(ValueRange{lists.next(carried[0]), value});
      });
  body.store(body.resultPointer(0), place, list.getResult(1), {}, l.width);
}

CudaLaunch emitUpdates(ImplicitLocOpBuilder &b, nn::KernelOp kernel,
                       ScatterLoops &scatter, const std::string &name) {
  int64_t width = vectorWidth(*scatter.graph, {scatter.update->element},
                              scatter.graph->getDomain().cols);
  while (scatter.cols % width != 0) {
    width /= 2;
  }
  int64_t groups = scatter.cols / width;
  CudaBody body(b, kernel, *scatter.graph, name,
                {.width = width, .scratch = true});
  Lanes &l = body.lanes;
  body.forItem(scatter.updates * groups, [&](Value item) {
    auto [update, group] = l.divide(item, groups);
    body.when(Lists(body, scatter.updates).isFirst(update),
              [&, update = update, group = group] {
                emitList(body, scatter, update, l.mul(group, l.index(width)));
              });
  });
  body.finish();
  return launchOver(name, scatter.updates * groups);
}

} // namespace

FailureOr<int64_t> cuda::scatterScratchBytes(nn::KernelOp kernel) {
  ScatterLoops scatter;
  if (failed(scatter.find(kernel))) {
    return failure();
  }
  return Lists::bytes(scatter.updates);
}

FailureOr<CudaKernelInfo> cuda::emitScatter(ImplicitLocOpBuilder &b,
                                            nn::KernelOp kernel,
                                            StringRef name) {
  ScatterLoops scatter;
  if (failed(scatter.find(kernel))) {
    return failure();
  }
  if (scatter.updates > std::numeric_limits<int32_t>::max()) {
    return kernel.emitError("'")
           << nn::nameOf(kernel.getLoc()) << "': a scatter on CUDA has at most "
           << std::numeric_limits<int32_t>::max() << " updates, not "
           << scatter.updates;
  }
  CudaKernelInfo info;
  info.scratchBytes = Lists::bytes(scatter.updates);
  std::string base = name.str();
  info.launches = {emitSets(b, kernel, scatter, base + "_set"),
                   emitLists(b, kernel, scatter, base + "_lists"),
                   emitUpdates(b, kernel, scatter, base + "_updates")};
  return info;
}
