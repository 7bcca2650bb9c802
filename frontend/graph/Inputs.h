//===- Inputs.h - the inputs of a graph and their dims --------------------===//

#ifndef ZEROGRAPH_FRONTEND_GRAPH_INPUTS_H
#define ZEROGRAPH_FRONTEND_GRAPH_INPUTS_H

#include "frontend/Import.h"
#include "frontend/file/ModelFile.h"
#include "frontend/graph/Graph.h"

namespace zerograph::frontend {

/// Graph inputs that the user feeds: those without an initializer.
std::vector<const onnx::ValueInfoProto *> fedInputs(const Graph &graph);

/// Signature of one input; throws ImportError if it is not a tensor of a
/// supported type and known rank.
InputSignature signatureOf(const onnx::ValueInfoProto &input);

/// Shapes of all inputs under the sizes `given`; fills report.dims. Every dim
/// without a size is reported in one error, and so is a bound name that no
/// input has.
std::vector<Shape> bindDims(const std::vector<InputSignature> &signatures,
                            const std::map<std::string, int64_t> &given,
                            ImportReport &report);

/// Which inputs have samples as their leading dim. With symbolic dims: those
/// whose leading dim isBatchDim, of its size. Otherwise those whose
/// leading size is that of `anchor`, the input that decides (the labels, if
/// known, else the first).
std::vector<bool> perSample(const std::vector<InputSignature> &signatures,
                            const std::vector<Shape> &shapes, size_t anchor,
                            ImportReport &report);

/// Throws ImportError where the file, whose leading dims are all fixed, has
/// another number of samples than --micro-batch says.
void checkFixedBatch(const std::vector<InputSignature> &signatures,
                     const std::vector<Shape> &shapes, size_t anchor,
                     int64_t microBatch);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_GRAPH_INPUTS_H
