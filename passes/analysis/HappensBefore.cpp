//===- HappensBefore.cpp - order of the steps of a sched.program ----------===//

#include "passes/analysis/HappensBefore.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::sched;

HappensBefore::HappensBefore(ProgramOp program) : vectorClocks(kNumStreams) {
  for (Operation &op : program.getBody().front()) {
    auto step = cast<Step>(op);
    indices[step] = vectorClocks.add(static_cast<unsigned>(step.getStream()),
                                     isa<Collective>(op));
    stepList.push_back(step);
    for (Value timepoint : step.getAwaits()) {
      vectorClocks.await(indices.at(timepoint.getDefiningOp()));
    }
  }
}
