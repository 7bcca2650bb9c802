//===- Scatter.cpp - rows into a table ------------------------------------===//
//
// Three launches. One sets the table. One sorts the updates by their rows. In
// the last, threads have some columns of each update that is the first of its
// row, and add those that follow it, in order. So there is no atomic operation,
// and the order is that of the updates.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/forms/Forms.h"
#include "codegen/cuda/forms/SortedUpdates.h"
#include "codegen/cuda/forms/Vectors.h"
#include "codegen/emit/loops/ScatterLoops.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::cuda;
using IP = arith::CmpIPredicate;

namespace {

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

/// Emits what a row's elements from `col` on become by all updates of it, of
/// which the first stands at `first` of the sorted ones.
void emitRow(CudaBody &body, ScatterLoops &scatter, const SortedUpdates &sorted,
             Value first, Value row, Value col) {
  ImplicitLocOpBuilder &b = body.lanes.b;
  Lanes &l = body.lanes;
  Value place = l.add(l.mul(row, l.index(scatter.cols)), col);
  Value old = scatter.loadOld(body, place, {}, l.width);
  Value last = l.index(scatter.updates - 1);
  auto updates = b.create<scf::WhileOp>(
      TypeRange{first.getType(), old.getType()}, ValueRange{first, old},
      [&](OpBuilder &, Location, ValueRange carried) {
        // Reads a row that exists, also after the last update.
        Value next = sorted.row(body, l.min(carried[0], last));
        Value more = l.logicalAnd(l.compare(IP::sle, carried[0], last),
                                  l.compare(IP::eq, next, row));
        b.create<scf::ConditionOp>(more, carried);
      },
      [&](OpBuilder &, Location, ValueRange carried) {
        body.enterRow(sorted.update(body, carried[0]));
        body.prepare(scatter.update);
        Value value = scatter.updated(body, carried[1], col, {});
        b.create<scf::YieldOp>(
            ValueRange{l.add(carried[0], l.index(1)), value});
      });
  body.store(body.resultPointer(0), place, updates.getResult(1), {}, l.width);
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
  SortedUpdates sorted(scatter);
  body.forItem(scatter.updates * groups, [&](Value item) {
    auto [place, group] = l.divide(item, groups);
    Value row = sorted.row(body, place), zero = l.index(0);
    Value before = l.max(l.sub(place, l.index(1)), zero);
    Value isFirst =
        l.logicalOr(l.compare(IP::eq, place, zero),
                    l.compare(IP::ne, sorted.row(body, before), row));
    Value col = l.mul(group, l.index(width));
    body.when(isFirst, [&, place = place] {
      emitRow(body, scatter, sorted, place, row, col);
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
  return SortedUpdates(scatter).scratchBytes();
}

FailureOr<CudaKernelInfo> cuda::emitScatter(ImplicitLocOpBuilder &b,
                                            nn::KernelOp kernel,
                                            StringRef name) {
  ScatterLoops scatter;
  if (failed(scatter.find(kernel))) {
    return failure();
  }
  if (scatter.updates >= SortedUpdates::kMostUpdates ||
      scatter.tableRows >= SortedUpdates::kMostRows) {
    return kernel.emitError("'")
           << nn::nameOf(kernel.getLoc())
           << "': a scatter on CUDA has fewer than "
           << SortedUpdates::kMostUpdates
           << " updates, and a table of fewer than " << SortedUpdates::kMostRows
           << " rows, not " << scatter.updates << " and " << scatter.tableRows;
  }
  CudaKernelInfo info;
  SortedUpdates sorted(scatter);
  info.scratchBytes = sorted.scratchBytes();
  std::string base = name.str();
  info.launches = {emitSets(b, kernel, scatter, base + "_set"),
                   sorted.emitSort(b, kernel, scatter, base + "_sort"),
                   emitUpdates(b, kernel, scatter, base + "_updates")};
  return info;
}
