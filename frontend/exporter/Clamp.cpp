//===- Clamp.cpp - what PyTorch's gradient does at a bound ----------------===//

#include "frontend/exporter/Clamp.h"

#include "frontend/exporter/Signature.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

#include <string>
#include <utility>
#include <vector>

namespace zerograph::frontend {

namespace {

/// "2.13.0+cu130" is {2, 13}.
std::pair<int, int> versionOf(const onnx::ModelProto &model) {
  std::vector<std::string> parts =
      absl::StrSplit(model.producer_version(), '.');
  std::pair<int, int> version;
  bool known = parts.size() >= 2 &&
               absl::SimpleAtoi(parts[0], &version.first) &&
               absl::SimpleAtoi(parts[1], &version.second);
  return known ? version : std::pair(0, 0);
}

bool hasTwoBounds(const onnx::NodeProto &node) {
  int bounds = 0;
  for (int i = 1; i < node.input_size(); ++i) {
    bounds += !node.input(i).empty();
  }
  for (const onnx::AttributeProto &attribute : node.attribute()) {
    bounds += attribute.name() == "min" || attribute.name() == "max";
  }
  return bounds == 2;
}

} // namespace

bool passesAtBounds(const onnx::ModelProto &model,
                    const onnx::NodeProto &node) {
  if (model.producer_name() != "pytorch" ||
      versionOf(model) >= std::pair(2, 14)) {
    return false;
  }
  const std::string *made = fxNodeOf(node);
  return made != nullptr ? absl::StrContains(*made, "aten.clamp")
                         : !hasTwoBounds(node);
}

} // namespace zerograph::frontend
