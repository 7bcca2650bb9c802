//===- Scan.cpp - running sums --------------------------------------------===//
//
// A thread sums along the length; neighbours have neighbouring elements.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/forms/Forms.h"
#include "codegen/emit/loops/ScanLoops.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::cuda;

FailureOr<CudaKernelInfo> cuda::emitScan(ImplicitLocOpBuilder &b,
                                         nn::KernelOp kernel, StringRef name) {
  ScanLoops scan;
  if (failed(scan.find(kernel))) {
    return failure();
  }
  CudaBody body(b, kernel, *scan.graph, name);
  int64_t items = scan.items(/*width=*/1);
  body.forItem(items, [&](Value item) { scan.emitItem(body, item); });
  body.finish();
  return onlyLaunch(launchOver(name, items));
}
