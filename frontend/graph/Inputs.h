//===- Inputs.h - the inputs of a graph and their dims --------------------===//

#ifndef ZEROGRAPH_FRONTEND_GRAPH_INPUTS_H
#define ZEROGRAPH_FRONTEND_GRAPH_INPUTS_H

#include "frontend/Import.h"
#include "frontend/file/ModelFile.h"
#include "frontend/graph/Graph.h"

#include <optional>

namespace zerograph::frontend {

/// Returns the graph inputs that the user feeds: those without an initializer.
std::vector<const onnx::ValueInfoProto *> fedInputs(const Graph &graph);

/// Returns the signature of one input; throws ImportError if it is not a tensor
/// of a supported type and known rank.
InputSignature signatureOf(const onnx::ValueInfoProto &input);

/// Returns those of all inputs; throws ImportError also if the names of dims
/// say that samples come after another dim.
std::vector<InputSignature>
signaturesOf(const std::vector<const onnx::ValueInfoProto *> &inputs);

/// Returns the shapes of all inputs if symbolic dims have the sizes `given`;
/// fills report.dims. Throws one ImportError with all dims that have no size,
/// or for a name in `given` that is no dim.
std::vector<Shape> bindDims(const std::vector<InputSignature> &signatures,
                            const std::map<std::string, int64_t> &given,
                            ImportReport &report);

/// The input whose leading dim the file denotes as that of samples. Of several
/// the one of the fewest rows: others have more than one of a sample.
std::optional<size_t>
saidToHaveSamples(const std::vector<InputSignature> &signatures);

/// Returns which inputs have samples as their leading dim. If a leading dim is
/// symbolic: those for which isBatchDim holds and whose size is the batch's.
/// Else: those of which the file says so; or, if it says nothing, those whose
/// leading size is that of input `anchor` (the labels, if they are known, else
/// the first input).
std::vector<bool> perSample(const std::vector<InputSignature> &signatures,
                            const std::vector<Shape> &shapes, size_t anchor,
                            ImportReport &report);

/// For a file whose leading dims are all fixed: throws ImportError if it has
/// another number of samples than --micro-batch says.
void checkFixedBatch(const std::vector<InputSignature> &signatures,
                     const std::vector<Shape> &shapes, size_t anchor,
                     int64_t microBatch);

/// Returns the inputs of `graph` that `values` names, as constants of their own
/// types and shapes. Throws one ImportError with everything that is wrong: a
/// name that no input has, an input of more than one element, a text that is no
/// value of the input's type.
std::map<std::string, HostTensor>
readInputValues(const Graph &graph,
                const std::map<std::string, std::string> &values);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_GRAPH_INPUTS_H
