//===- FoldedWeights.cpp - weights computed while exporting ---------------===//

#include "frontend/exporter/FoldedWeights.h"

#include "frontend/exporter/ParameterUses.h"
#include "frontend/file/TensorBytes.h"

#include "absl/algorithm/container.h"
#include "absl/strings/string_view.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>

using onnx::TensorProto;

namespace zerograph::frontend {

namespace {

/// More dims are not permuted: there are too many ways.
constexpr size_t kMaxRank = 5;

/// Returns whether `copy` is Transpose(original, order).
bool isTransposed(const std::string &copy, const Shape &shape,
                  const std::string &original, const Shape &from,
                  const std::vector<size_t> &order, size_t element) {
  Shape strides = rowMajor(from), at(shape.size(), 0);
  int64_t place = 0;
  for (size_t i = 0; i < copy.size(); i += element) {
    if (std::memcmp(&copy[i], &original[place * element], element) != 0) {
      return false;
    }
    for (size_t dim = shape.size(); dim-- > 0;) {
      place += strides[order[dim]];
      if (++at[dim] < shape[dim]) {
        break;
      }
      place -= at[dim] * strides[order[dim]];
      at[dim] = 0;
    }
  }
  return true;
}

/// All elements are the same: they tell nothing of where they are from.
bool isSplat(const std::string &bytes, size_t element) {
  return bytes.size() <= element || std::memcmp(bytes.data(), &bytes[element],
                                                bytes.size() - element) == 0;
}

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

class Finder {
public:
  Finder(const ModelFile &file, const Graph &graph,
         ExporterSignature &signature)
      : file(file), graph(graph), signature(signature), uses(graph) {}

  void run() {
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
          signature.computed.push_back({tensor.name(), product, "", {}});
        }
      } else if (isOf(*source, "PARAMETER")) {
        signature.folded.push_back(
            {tensor.name(), product, source->name(), {}});
      }
    }
    if (!signature.absent.empty() && !unknown.empty()) {
      std::vector<std::string> gone = signature.damaged;
      gone.insert(gone.end(), signature.absent.begin(), signature.absent.end());
      for (FoldedWeight &weight : unknown) {
        weight.candidates = gone;
        signature.folded.push_back(std::move(weight));
      }
      signature.absent.clear();
    }
  }

private:
  /// The node that multiplies by a matrix which the exporter does not list; ""
  /// if none does.
  std::string unlistedProduct(const TensorProto &tensor) const {
    static const std::set<std::string> products = {"Conv", "ConvTranspose",
                                                   "Einsum", "Gemm", "MatMul"};
    auto longDims =
        absl::c_count_if(tensor.dims(), [](int64_t dim) { return dim > 1; });
    std::string found;
    if (!isFloatType(tensor.data_type()) || longDims < 2 ||
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

  bool isOf(const TensorProto &tensor, const char *kind) const {
    auto found = signature.kinds.find(tensor.name());
    return found != signature.kinds.end() && found->second == kind;
  }

  /// The listed initializer whose values `copy` holds: a parameter if there is
  /// one, else a buffer; or null.
  const TensorProto *sourceOf(const TensorProto &copy) const {
    const TensorProto *source = nullptr;
    std::string bytes; // of the copy, once one has been compared with it
    for (const TensorProto &tensor : graph.proto.initializer()) {
      bool parameter = isOf(tensor, "PARAMETER");
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
  ExporterSignature &signature;
  ParameterUses uses;
};

} // namespace

void findFoldedWeights(const ModelFile &file, const Graph &graph,
                       ExporterSignature &signature) {
  if (signature.present) {
    Finder(file, graph, signature).run();
  }
}

} // namespace zerograph::frontend
