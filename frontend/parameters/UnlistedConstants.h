//===- UnlistedConstants.h - constants of a file that lists no parameters -===//

#ifndef ZEROGRAPH_FRONTEND_PARAMETERS_UNLISTEDCONSTANTS_H
#define ZEROGRAPH_FRONTEND_PARAMETERS_UNLISTEDCONSTANTS_H

#include "frontend/file/ModelFile.h"
#include "frontend/parameters/ParameterUses.h"

namespace zerograph::frontend {

/// Tells float initializers that are constants from parameters, in a file
/// whose exporter does not: by their names, what they hold and what reads them.
/// All that it is given must outlive it.
class UnlistedConstants {
public:
  UnlistedConstants(const ModelFile &file, const Graph &graph,
                    const ParameterUses &uses);

  bool has(const onnx::TensorProto &tensor) const;
  /// Returns whether the name alone says that it is one.
  bool areSure(const std::string &name) const;
  /// Returns whether it is taken for a parameter though nothing says so.
  bool mayHave(const onnx::TensorProto &tensor) const;
  /// Says as what those of several elements are taken, and why.
  const char *reason() const;

private:
  bool isBias(const onnx::TensorProto &tensor) const;
  bool isMask(const onnx::TensorProto &tensor) const;

  const ModelFile &file;
  const Graph &graph;
  const ParameterUses &uses;
  bool ofTensorFlow, ofTorchScript;
};

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_PARAMETERS_UNLISTEDCONSTANTS_H
