//===- Inference.h - a model without what only training needs -------------===//

#ifndef ZEROGRAPH_FRONTEND_EXPORT_INFERENCE_H
#define ZEROGRAPH_FRONTEND_EXPORT_INFERENCE_H

#include "frontend/export/Export.h"
#include "frontend/file/ModelFile.h"
#include "frontend/graph/Graph.h"

namespace zerograph::frontend {

/// Makes the model one for inference: without its loss, dropout and batch
/// statistics, and what only these need. Functions are inlined. Throws
/// ImportError.
void makeInference(ModelFile &file, const ExportOptions &options,
                   std::vector<std::string> &notes);

// Its parts, each in the file of its name.

/// Makes Identity of dropouts, and BatchNormalization use the statistics that
/// the model stores.
void setEvaluationMode(onnx::GraphProto &graph, int64_t opset,
                       std::vector<std::string> &notes);

/// Returns what a loss is computed from: values that depend on trained
/// parameters, and that nodes read which depend on labels too. Labels are
/// inputs after which no parameter is used. Where such a value is only a view
/// of another one, it is that. Empty: no input is known to be labels; then
/// `candidates` are the values after which no parameter is used.
std::vector<std::string> lossInputs(const ModelFile &file,
                                    const std::string &loss,
                                    std::vector<std::string> &candidates);

/// Lets Shapes measure other inputs than those of which outputs need nothing
/// else, where one has the same dims by name or by size.
void measureOthers(onnx::GraphProto &graph, int64_t opset);

/// Removes what no output needs: nodes, initializers, descriptions of values;
/// and inputs that only these read. Gives the names of these inputs.
std::vector<std::string> prune(onnx::GraphProto &graph);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_EXPORT_INFERENCE_H
