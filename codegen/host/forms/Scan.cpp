//===- Scan.cpp - running sums --------------------------------------------===//

#include "codegen/emit/loops/ScanLoops.h"
#include "codegen/host/forms/Forms.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::host;

FailureOr<WorkRange> host::emitScan(ImplicitLocOpBuilder &b,
                                    nn::KernelOp kernel, StringRef name) {
  ScanLoops scan;
  if (failed(scan.find(kernel))) {
    return failure();
  }
  HostBody body(b, kernel, *scan.graph, name);
  body.enterKernel();
  body.loop(body.begin, body.end, 1, {}, [&](Value item, ValueRange) {
    scan.emitItem(body, item);
    return SmallVector<Value>();
  });
  body.finish();
  return WorkRange{scan.items(kLanes), 1};
}
