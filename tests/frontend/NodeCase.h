//===- NodeCase.h - ONNX's own node tests ---------------------------------===//
//
// The source distribution of the ONNX library carries them: a model of one
// node, or of the function that defines it, with inputs and outputs.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_TESTS_FRONTEND_NODECASE_H
#define ZEROGRAPH_TESTS_FRONTEND_NODECASE_H

#include "onnx/onnx_pb.h"

#include <filesystem>
#include <optional>
#include <vector>

namespace zerograph::frontend::testing {

struct NodeCase {
  std::string name;
  onnx::ModelProto model;
  std::vector<onnx::TensorProto> inputs, outputs; // named as in the graph

  /// Which inputs become initializers.
  enum Bound { kNone, kIntegers, kAllButFirst, kAll };
  onnx::ModelProto bind(Bound bound) const;
  /// How far a float may be off, absolutely and relatively, for its type.
  double tolerance(int32_t type) const;
};

/// Equal, both NaN, or at most `tolerance` apart, absolutely and relatively.
bool near(double found, double expected, double tolerance);

/// The folders of all cases, sorted; empty where ONNX's source is not there.
std::vector<std::filesystem::path> nodeCaseFolders();

/// The case, unless it uses what the importer does not claim to support: other
/// domains, operators neither in the table nor functions, values that are no
/// tensors of numbers.
std::optional<NodeCase> readNodeCase(const std::filesystem::path &folder);

/// The line of an import's error that names the node.
std::string refusalLine(const std::string &error);

} // namespace zerograph::frontend::testing

#endif // ZEROGRAPH_TESTS_FRONTEND_NODECASE_H
