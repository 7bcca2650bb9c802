//===- NodeSearch.h - what computes a value, before there is a Graph ------===//

#ifndef ZEROGRAPH_FRONTEND_EXPORTER_NODESEARCH_H
#define ZEROGRAPH_FRONTEND_EXPORTER_NODESEARCH_H

#include "onnx/onnx_pb.h"

#include <map>
#include <set>
#include <string>

namespace zerograph::frontend {

/// Most operators of a chain that is followed: a graph may have cycles, which
/// are refused later.
inline constexpr int kMaxChain = 64;

/// Finds what computes the values of `graph`, whose nodes nothing has checked
/// yet. `graph` must outlive it, and its nodes keep their outputs.
class NodeSearch {
public:
  explicit NodeSearch(const onnx::GraphProto &graph);

  /// The node that computes `name`, if it is of this operator and has at least
  /// so many inputs; else null.
  const onnx::NodeProto *producer(const std::string &name, const char *type,
                                  int inputs = 1) const;
  /// Returns what `name` is made of by operators of these types: follows their
  /// first inputs.
  std::string behind(std::string name,
                     const std::set<std::string> &types) const;
  /// Returns whether `name` is a constant of one element.
  bool isOneElement(const std::string &name) const;

private:
  /// The value of an initializer or a constant, or null.
  const onnx::TensorProto *constant(const std::string &name) const;

  std::map<std::string, const onnx::TensorProto *> tensors;
  std::map<std::string, const onnx::NodeProto *> producers;
};

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_EXPORTER_NODESEARCH_H
