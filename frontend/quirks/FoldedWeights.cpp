//===- FoldedWeights.cpp - weights computed while exporting ---------------===//
//
// The exporter's optimizer takes initial weights for constants, and computes
// what follows from them: in place of Transpose(weight) stands an initializer
// that no gradient would change.
//
//===----------------------------------------------------------------------===//

#include "frontend/file/TensorBytes.h"
#include "frontend/parameters/ExporterMetadata.h"
#include "frontend/parameters/ParameterUses.h"
#include "frontend/quirks/Quirks.h"

#include "absl/algorithm/container.h"
#include "absl/strings/string_view.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>

using onnx::TensorProto;

namespace zerograph::frontend {

namespace {

/// More dims are not permuted: there are too many ways.
constexpr size_t kMaxRank = 5;

/// Returns whether the exporter named a value by an operator that arranges or
/// scales what is there: "permute", "mul_3". It names a computed table "cos".
bool isOfOperand(absl::string_view name) {
  static const std::set<absl::string_view> operators = {
      "clone",     "contiguous", "div",         "expand",   "mul",
      "numpy_T",   "numpy_t",    "permute",     "slice",    "reshape",
      "squeeze",   "t",          "to",          "_to_copy", "view",
      "transpose", "unsqueeze",  "_weight_norm"};
  size_t end = name.find_last_not_of("0123456789");
  if (end != absl::string_view::npos && end + 1 < name.size() &&
      name[end] == '_') {
    name = name.substr(0, end);
  }
  return operators.count(name) != 0;
}

/// An initializer that the exporter computed of a parameter.
struct FoldedWeight {
  std::string name;
  std::string reader;    ///< the node that multiplies by it
  std::string parameter; ///< what it holds the values of; "": one of these,
  std::vector<std::string> candidates; ///< which the file does not hold
};

/// Finds weights that a product reads and that the exporter lists as nothing.
class Finder {
public:
  Finder(const ModelFile &file, const Graph &graph)
      : file(file), graph(graph), signature(readSignature(graph)), uses(graph) {
  }

  /// The weights that hold a listed parameter's values, in other places or in
  /// another shape: by the bytes of both, and in doubt, where a file is not
  /// there, by the shapes. While `absent` names parameters, also those whose
  /// names are of operators on weights, with the names of all parameters that
  /// are gone: each was made of one of these.
  std::vector<FoldedWeight> folded;
  /// Other matrices that the exporter computed, such as tables of cosines.
  std::vector<FoldedWeight> computed;
  /// Listed parameters that are not in the file and that nothing was made of.
  std::vector<std::string> absent;

  void run() {
    if (!signature.present) {
      return;
    }
    absent = signature.absent;
    std::vector<FoldedWeight> unknown;
    for (const TensorProto &tensor : graph.proto.initializer()) {
      std::string product = unlistedProduct(tensor);
      if (product.empty()) {
        continue;
      }
      const TensorProto *source = sourceOf(tensor);
      if (source == nullptr) {
        if (isOfOperand(tensor.name())) {
          unknown.push_back({tensor.name(), product, "", {}});
        } else {
          computed.push_back({tensor.name(), product, "", {}});
        }
      } else if (signature.lists(source->name(), "PARAMETER")) {
        folded.push_back({tensor.name(), product, source->name(), {}});
      }
    }
    if (!absent.empty() && !unknown.empty()) {
      std::vector<std::string> gone = signature.damaged;
      gone.insert(gone.end(), absent.begin(), absent.end());
      for (FoldedWeight &weight : unknown) {
        weight.candidates = gone;
        folded.push_back(std::move(weight));
      }
      absent.clear();
    }
  }

private:
  /// The node that multiplies by a matrix which the exporter does not list; ""
  /// if none does.
  std::string unlistedProduct(const TensorProto &tensor) const {
    static const std::set<std::string> products = {"Conv", "ConvTranspose",
                                                   "Einsum", "Gemm", "MatMul"};
    std::string found;
    if (!isFloatType(tensor.data_type()) || longDims(tensor) < 2 ||
        signature.kinds.count(tensor.name()) != 0) {
      return found;
    }
    uses.each(tensor.name(), [&](const onnx::NodeProto &node, int) {
      if (found.empty() && products.count(node.op_type()) != 0) {
        found = nodeName(node);
      }
    });
    return found;
  }

  /// The listed initializer whose values `copy` holds: a parameter if there is
  /// one, else a buffer; or null.
  const TensorProto *sourceOf(const TensorProto &copy) const {
    const TensorProto *source = nullptr;
    std::string bytes; // of the copy, once one has been compared with it
    for (const TensorProto &tensor : graph.proto.initializer()) {
      bool parameter = signature.lists(tensor.name(), "PARAMETER");
      if (signature.kinds.count(tensor.name()) != 0 &&
          (parameter || source == nullptr) && isCopy(copy, bytes, tensor)) {
        source = &tensor;
        if (parameter) {
          break;
        }
      }
    }
    return source;
  }

  /// `bytes`: of the copy, read here where they are needed first.
  bool isCopy(const TensorProto &copy, std::string &bytes,
              const TensorProto &original) const {
    Shape shape = shapeOf(copy), from = shapeOf(original);
    if (copy.data_type() != original.data_type() ||
        elementCount(shape) != elementCount(from)) {
      return false;
    }
    if (!isReadable(file, copy) || !isReadable(file, original)) {
      Shape reversed(from.rbegin(), from.rend());
      return shape == reversed;
    }
    if (bytes.empty()) {
      bytes = readBytes(copy, &file);
    }
    size_t element = typeBytes(copy.data_type());
    if (isSplat(bytes, element)) {
      return false;
    }
    std::string others = readBytes(original, &file);
    return bytes == others || isPermuted(bytes, shape, others, from, element);
  }

  static bool isPermuted(const std::string &copy, const Shape &shape,
                         const std::string &original, const Shape &from,
                         size_t element) {
    if (shape.size() != from.size() || shape.size() > kMaxRank) {
      return false;
    }
    std::vector<size_t> order(shape.size());
    std::iota(order.begin(), order.end(), 0);
    do {
      bool fits = true;
      for (size_t dim = 0; dim < order.size(); ++dim) {
        fits &= shape[dim] == from[order[dim]];
      }
      if (fits && isTransposed(copy, shape, original, from, order, element)) {
        return true;
      }
    } while (std::next_permutation(order.begin(), order.end()));
    return false;
  }

  const ModelFile &file;
  const Graph &graph;
  ExporterSignature signature;
  ParameterUses uses;
};

std::vector<Finding> findFolded(const TrainedModel &model) {
  Finder finder(model.file, model.graph);
  finder.run();
  if (!finder.absent.empty()) {
    model.report.remarks.push_back(absl::StrCat(
        "parameters of the exported module that the file does not hold under "
        "their names, and that no node reads: ",
        listOf(finder.absent, 10),
        "; they are tied to ones that it holds, or unused: nothing to do"));
  }
  std::vector<std::string> lines;
  for (const FoldedWeight &weight : finder.folded) {
    if (weight.parameter.empty()) {
      lines.push_back(
          absl::StrCat(weight.name, " (node '", weight.reader,
                       "' reads it; made of a parameter that is gone, one of: ",
                       listOf(weight.candidates, 10), ")"));
    } else if (model.trained.count(weight.parameter) != 0) {
      // Computed copies of what stays as it is are right.
      lines.push_back(absl::StrCat(weight.name, " (node '", weight.reader,
                                   "' reads it; made of parameter '",
                                   weight.parameter, "')"));
    }
  }
  std::vector<Finding> findings;
  if (!lines.empty()) {
    findings.push_back(
        {absl::StrCat(lines.size(),
                      " weights were computed of parameters by the exporter's "
                      "optimizer, which took these for constants:\n  ",
                      linesOf(lines)),
         remedy("Training would leave these as they are, and no gradient would "
                "go from there to the parameters. Export again with "
                "torch.onnx.export(..., optimize=False).",
                "these weights stay constants, unless --train names them")});
  }
  // A tied parameter is not in the file, and neither is one that such a matrix
  // was made of.
  for (const FoldedWeight &matrix : finder.computed) {
    if (!finder.absent.empty()) {
      findings.push_back({absl::StrCat(
          "'", matrix.name, "', by which node '", matrix.reader,
          "' multiplies, is taken for a constant. If it was computed of a "
          "parameter that is gone (",
          listOf(finder.absent, 10),
          "), that is not trained: export with optimize=False")});
    }
  }
  return findings;
}

} // namespace

const Quirk kFoldedWeights = {.find = findFolded};

} // namespace zerograph::frontend
