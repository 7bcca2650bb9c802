//===- ImportLog.cpp - what an import tells the user ----------------------===//

#include "frontend/walk/ImportLog.h"

#include "frontend/base/Error.h"
#include "frontend/parameters/ExporterMetadata.h"

#include "absl/strings/match.h"
#include "runtime/base/Text.h"

using namespace mlir::zg;

namespace zerograph::frontend {

namespace {

/// Most nodes that one line of an error names.
constexpr size_t kMaxProblemNodes = 5;
/// Most nodes that the note on stable forms names.
constexpr size_t kMaxStableNodes = 6;

} // namespace

void ImportLog::beginNode(int n, bool onPath) {
  current = n;
  onGradientPath = onPath;
}

mlir::Location ImportLog::locationOf(const onnx::NodeProto &node) const {
  nn::CodePlace place = placeOf(node);
  return nn::locationOf(&context, nodeName(node),
                        place.known() ? place
                                      : placeOf(graph.proto.node(current)));
}

void ImportLog::addProblem(const onnx::NodeProto &node,
                           const std::string &problem) {
  std::string text =
      absl::StrCat(problem, onGradientPath ? " [on the gradient path]"
                                           : " [not on the gradient path]");
  ++problem_count;
  auto same = llvm::find_if(problems, [&](const Problem &other) {
    return other.type == node.op_type() && other.text == text;
  });
  if (same == problems.end()) {
    same = problems.insert(
        same, {node.op_type(), text, nn::placeOf(locationOf(node)), {}});
  }
  same->nodes.push_back(absl::StrCat("'", nodeName(node), "'"));
}

void ImportLog::failOnProblems() const {
  if (problems.empty()) {
    return;
  }
  std::vector<std::string> lines;
  for (const Problem &problem : problems) {
    bool one = problem.nodes.size() == 1;
    const std::string &place = problem.place;
    lines.push_back(absl::StrCat(
        one ? "node " : "nodes ", listOf(problem.nodes, kMaxProblemNodes), " (",
        problem.type, ")",
        place.empty() ? ""
                      : absl::StrCat(one ? " in " : ", the first in ", place),
        ": ", problem.text));
  }
  fail(problem_count, problem_count == 1 ? " node" : " nodes",
       " cannot be imported:\n  ", linesOf(lines));
}

void ImportLog::warn(const onnx::NodeProto &node, const std::string &text) {
  std::string place = nn::placeOf(locationOf(node));
  report.warnings.push_back(
      absl::StrCat("node '", nodeName(node), "' (", node.op_type(), ")",
                   place.empty() ? "" : " in ", place, ": ", text));
}

void ImportLog::note(const std::string &text) {
  if (!llvm::is_contained(report.notes, text)) {
    report.notes.push_back(text);
  }
}

void ImportLog::noteStable(const onnx::NodeProto &node,
                           const std::string &form) {
  stable.push_back(absl::StrCat("'", nodeName(node), "' (", form, ")"));
}

void ImportLog::forgetStable(const onnx::NodeProto &node) {
  std::string name = absl::StrCat("'", nodeName(node), "' (");
  if (!graph.onlyReader(node.output(0)).empty()) {
    llvm::erase_if(stable, [&](const std::string &noted) {
      return absl::StartsWith(noted, name);
    });
  }
}

void ImportLog::noteDropouts(const ImportOptions &options, bool hasLoss) {
  for (auto [ratio, count] : dropouts) {
    if (ratio != 0) {
      note(absl::StrCat(count, count == 1 ? " dropout" : " dropouts",
                        " with ratio ", ratio));
    } else if (options.dropout) {
      note(absl::StrCat(count, count == 1 ? " dropout is" : " dropouts are",
                        " turned off by --dropout 0"));
    } else if (hasLoss) {
      note(absl::StrCat(count, count == 1 ? " dropout is" : " dropouts are",
                        " off in the file, as exporters leave those of an "
                        "attention; --dropout RATIO turns all on"));
    }
  }
  if (options.dropout && dropouts.empty()) {
    report.warnings.push_back(
        "--dropout has no effect: the model has no Dropout node");
  }
}

void ImportLog::noteSums(const ImportOptions &options, bool hasLoss) {
  noteDropouts(options, hasLoss);
  if (!stable.empty()) {
    note(absl::StrCat(
        stable.size(), stable.size() == 1 ? " node is" : " nodes are",
        " computed so that nothing overflows or vanishes, as PyTorch does but "
        "its exporters do not write: ",
        listOf(stable, kMaxStableNodes)));
  }
}

} // namespace zerograph::frontend
