//===- MeasureOthers.cpp - sizes from inputs that stay --------------------===//
//
// Exporters take the size of a batch from any input, labels among them. A Shape
// alone would keep these, so it measures another input of the same dims.
//
//===----------------------------------------------------------------------===//

#include "frontend/export/Inference.h"
#include "frontend/graph/Inputs.h"

#include "absl/algorithm/container.h"
#include "onnx/defs/attr_proto_util.h"

#include <algorithm>
#include <map>

namespace zerograph::frontend {

namespace {

/// From operator set 15 on, a Shape may give some of the dims.
constexpr int64_t kShapeOfSome = 15;

/// Names of dims, or their sizes; "" is not known.
std::vector<std::string> dimsOf(const onnx::ValueInfoProto &input) {
  std::vector<std::string> dims;
  for (const auto &dim : input.type().tensor_type().shape().dim()) {
    dims.push_back(dim.has_dim_value() ? std::to_string(dim.dim_value())
                                       : dim.dim_param());
  }
  return dims;
}

/// The dims that the Shape gives of `dims`, cut out.
std::vector<std::string> measured(const onnx::NodeProto &shape,
                                  const std::vector<std::string> &dims) {
  int64_t rank = dims.size(), start = 0, end = rank;
  for (const onnx::AttributeProto &attribute : shape.attribute()) {
    int64_t value = attribute.i() < 0 ? attribute.i() + rank : attribute.i();
    (attribute.name() == "start" ? start : end) =
        std::clamp<int64_t>(value, 0, rank);
  }
  return {dims.begin() + start, dims.begin() + std::max(start, end)};
}

/// Makes the Shape measure `other` instead; returns whether it can.
bool measure(onnx::NodeProto &shape, const std::vector<std::string> &wanted,
             const onnx::ValueInfoProto &other, int64_t opset) {
  std::vector<std::string> dims = dimsOf(other);
  auto found =
      std::search(dims.begin(), dims.end(), wanted.begin(), wanted.end());
  bool whole = dims.size() == wanted.size();
  if (found == dims.end() || (!whole && opset < kShapeOfSome)) {
    return false;
  }
  shape.set_input(0, other.name());
  shape.clear_attribute();
  if (!whole) {
    int64_t start = found - dims.begin(), end = start + int64_t(wanted.size());
    *shape.add_attribute() = onnx::MakeAttribute("start", start);
    *shape.add_attribute() = onnx::MakeAttribute("end", end);
  }
  return true;
}

} // namespace

void measureOthers(onnx::GraphProto &proto, int64_t opset) {
  Graph graph(proto);
  std::map<std::string, std::vector<int>> readers; // that outputs need
  for (int n : graph.order) {
    for (const std::string &name : graph.reads(n)) {
      readers[name].push_back(n);
    }
  }
  auto isShape = [&](int n) { return proto.node(n).op_type() == "Shape"; };
  std::vector<const onnx::ValueInfoProto *> measuredAlone, others;
  for (const onnx::ValueInfoProto *input : fedInputs(graph)) {
    bool alone = absl::c_all_of(readers[input->name()], isShape);
    (alone ? measuredAlone : others).push_back(input);
  }
  for (const onnx::ValueInfoProto *input : measuredAlone) {
    std::vector<std::string> dims = dimsOf(*input);
    for (int n : readers[input->name()]) {
      onnx::NodeProto &shape = *proto.mutable_node(n);
      std::vector<std::string> wanted = measured(shape, dims);
      bool known = !wanted.empty() && !absl::c_linear_search(wanted, "");
      absl::c_any_of(others, [&](const onnx::ValueInfoProto *other) {
        return known && measure(shape, wanted, *other, opset);
      });
    }
  }
}

} // namespace zerograph::frontend
