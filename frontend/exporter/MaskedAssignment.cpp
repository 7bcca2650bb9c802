//===- MaskedAssignment.cpp - x[mask] = value -----------------------------===//
//
//   full    = Expand(mask, Shape(x))
//   places  = Transpose(NonZero(full))
//   result  = ScatterND(x, places, Reshape(Expand(value, ...)))
//
// becomes Where(mask, value, x). Shapes of values are not known here; nodes
// that are made say where they come from, and the importer refuses those whose
// operands do not have one shape, or that of one row where the mask is of rows.
//
//===----------------------------------------------------------------------===//

#include "frontend/exporter/MaskedAssignment.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

using onnx::NodeProto;
using onnx::TensorProto;

namespace zerograph::frontend {

namespace {

const std::set<std::string> kViews = {"Cast", "CastLike", "Identity"};

constexpr char kMetadata[] = "zerograph.masked_assignment";

/// Of chains of operators; a graph may have cycles, which are refused later.
constexpr int kMaxDepth = 64;

class Rewriter {
public:
  explicit Rewriter(onnx::GraphProto &graph) : graph(graph) {
    for (const TensorProto &tensor : graph.initializer()) {
      tensors[tensor.name()] = &tensor;
    }
    for (const NodeProto &node : graph.node()) {
      for (const std::string &output : node.output()) {
        producers[output] = &node;
      }
    }
  }

  /// Changes nodes where they stand: of others there are pointers. New ones
  /// come last, as the order is made later.
  void run() {
    std::vector<NodeProto> all;
    for (int i = 0, end = graph.node_size(); i < end; ++i) {
      added.clear();
      known.clear();
      if (std::optional<NodeProto> where = rewrite(graph.node(i))) {
        *graph.mutable_node(i) = std::move(*where);
        all.insert(all.end(), added.begin(), added.end());
      }
    }
    for (NodeProto &node : all) {
      *graph.add_node() = std::move(node);
    }
  }

private:
  /// What computes `name`, if it is an operator of this type with at least so
  /// many inputs: nothing has checked the nodes yet.
  const NodeProto *producer(const std::string &name, const char *type,
                            int inputs = 1) const {
    auto found = producers.find(name);
    return found != producers.end() && found->second->op_type() == type &&
                   found->second->input_size() >= inputs
               ? found->second
               : nullptr;
  }

  /// What lies behind operators of these types, by their first inputs.
  std::string behind(std::string name,
                     const std::set<std::string> &types) const {
    for (int steps = 0; steps < kMaxDepth; ++steps) {
      auto found = producers.find(name);
      if (found == producers.end() ||
          types.count(found->second->op_type()) == 0 ||
          found->second->input_size() == 0) {
        break;
      }
      name = found->second->input(0);
    }
    return name;
  }

  /// The value of an initializer or a constant, or null.
  const TensorProto *constant(const std::string &name) const {
    if (auto found = tensors.find(name); found != tensors.end()) {
      return found->second;
    }
    auto found = producers.find(name);
    if (found != producers.end() && found->second->op_type() == "Constant") {
      for (const auto &attribute : found->second->attribute()) {
        if (attribute.name() == "value") {
          return &attribute.t();
        }
      }
    }
    return nullptr;
  }

  /// Whether it is a constant of one element.
  bool isOneElement(const std::string &name) const {
    if (const TensorProto *tensor = constant(name)) {
      return std::all_of(tensor->dims().begin(), tensor->dims().end(),
                         [](int64_t dim) { return dim == 1; });
    }
    auto found = producers.find(name);
    if (found == producers.end() || found->second->op_type() != "Constant" ||
        found->second->attribute_size() != 1) {
      return false;
    }
    const auto &attribute = found->second->attribute(0);
    return attribute.name() == "value_float" ||
           attribute.name() == "value_int" ||
           ((attribute.name() == "value_floats" ||
             attribute.name() == "value_ints") &&
            attribute.floats_size() + attribute.ints_size() == 1);
  }

  /// The tensor whose nonzero places these are, or "".
  std::string maskOf(const std::string &places) const {
    const NodeProto *transpose = producer(places, "Transpose");
    if (transpose == nullptr) {
      return "";
    }
    for (const auto &attribute : transpose->attribute()) {
      if (attribute.name() == "perm" &&
          (attribute.ints_size() != 2 || attribute.ints(0) != 1)) {
        return "";
      }
    }
    const NodeProto *nonZero = producer(transpose->input(0), "NonZero");
    return nonZero == nullptr ? "" : behind(nonZero->input(0), {"Identity"});
  }

  /// Whether a Shape is of all dimensions.
  static bool isWhole(const NodeProto &shape) {
    for (const auto &attribute : shape.attribute()) {
      if (attribute.name() != "start" || attribute.i() != 0) {
        return false;
      }
    }
    return true;
  }

  /// A mask, expanded to what it is applied to.
  struct Mask {
    std::string result; ///< what is made with it
    std::string full;   ///< of all dimensions
    std::string places; ///< of `full`
    std::string small;  ///< before its Expand
  };

  std::optional<Mask> matchMask(const NodeProto &scatter) const {
    Mask mask;
    mask.result = scatter.output(0);
    mask.places = scatter.input(1);
    mask.full = maskOf(mask.places);
    const NodeProto *expand = producer(mask.full, "Expand", 2);
    if (expand == nullptr) {
      return std::nullopt;
    }
    const NodeProto *shape = producer(expand->input(1), "Shape");
    if (shape == nullptr || shape->input(0) != scatter.input(0) ||
        !isWhole(*shape)) {
      return std::nullopt;
    }
    mask.small = behind(expand->input(0), {"Identity"});
    return mask;
  }

  /// A node in place of `node`.
  static NodeProto made(const NodeProto &node) {
    NodeProto made;
    made.set_name(node.name());
    made.add_metadata_props()->set_key(kMetadata);
    return made;
  }

  /// What `updates` has at the places: a tensor of x's shape, one element, or
  /// one row; or "". The importer checks that.
  std::string everywhere(const std::string &updates, const Mask &mask) {
    // They have as many elements as there are places; of one element that is
    // repeated it does not matter how it is arranged or which are taken.
    std::string single = behind(updates, {"Expand", "Reshape", "Slice", "Cast",
                                          "CastLike", "Identity"});
    if (isOneElement(single)) {
      return behind(updates, {"Expand", "Reshape", "Slice", "Identity"});
    }
    // Rows of y flattened: as many elements, in the same order. An Expand adds
    // none, as there are as many updates as places.
    const std::set<std::string> flat = {"Expand", "Reshape", "Identity"};
    std::string name = behind(updates, flat);
    if (const NodeProto *slice = producer(name, "Slice", 3)) {
      // All of them: [0, the number of places).
      if (behind(slice->input(2), {"Unsqueeze", "Gather", "Shape"}) !=
          mask.places) {
        return "";
      }
      name = behind(slice->input(0), flat);
    }
    if (const NodeProto *gather = producer(name, "GatherND", 2)) {
      std::string read = maskOf(gather->input(1));
      bool same = gather->attribute_size() == 0 ||
                  (gather->attribute_size() == 1 &&
                   gather->attribute(0).i() == 0); // batch_dims
      return same && (read == mask.full || read == mask.small)
                 ? gather->input(0)
                 : "";
    }
    for (const char *type : {"Add", "Mul", "Neg", "Sub"}) {
      if (const NodeProto *node = producer(name, type)) {
        return repeat(*node, mask);
      }
    }
    // The same row for all places.
    const NodeProto *expand =
        producer(behind(updates, {"Reshape", "Identity"}), "Expand", 2);
    return expand == nullptr ? "" : expand->input(0);
  }

  /// The same operation on all of its operands.
  std::string repeat(const NodeProto &node, const Mask &mask) {
    auto [entry, isNew] = known.try_emplace(node.output(0));
    if (!isNew) {
      return entry->second;
    }
    if (known.size() > kMaxDepth) {
      return "";
    }
    NodeProto whole = made(node);
    bool scales = false;
    for (const std::string &input : node.input()) {
      std::string operand = everywhere(input, mask);
      if (operand.empty()) {
        return "";
      }
      whole.add_input(operand);
      scales |= isOneElement(behind(operand, kViews));
    }
    // Of a product of two, what is infinite beside the places would make the
    // gradient no number.
    if (node.op_type() == "Mul" && !scales) {
      return "";
    }
    whole.set_op_type(node.op_type());
    whole.add_output(node.output(0) + ".for." + mask.result);
    added.push_back(whole);
    known[node.output(0)] = whole.output(0);
    return whole.output(0);
  }

  std::optional<NodeProto> rewrite(const NodeProto &node) {
    if (node.op_type() != "ScatterND" || node.input_size() != 3 ||
        node.output_size() != 1) {
      return std::nullopt;
    }
    for (const auto &attribute : node.attribute()) {
      if (attribute.name() == "reduction" && attribute.s() != "none") {
        return std::nullopt;
      }
    }
    std::optional<Mask> mask = matchMask(node);
    std::string value = mask ? everywhere(node.input(2), *mask) : "";
    if (value.empty()) {
      return std::nullopt;
    }
    // NonZero takes numbers too.
    NodeProto cast = made(node);
    cast.set_op_type("Cast");
    onnx::AttributeProto &to = *cast.add_attribute();
    to.set_name("to");
    to.set_type(onnx::AttributeProto::INT);
    to.set_i(TensorProto::BOOL);
    cast.add_input(mask->small);
    cast.add_output(mask->full + ".for." + mask->result);
    added.push_back(cast);
    NodeProto where = made(node);
    where.set_op_type("Where");
    for (const std::string &input : {cast.output(0), value, node.input(0)}) {
      where.add_input(input);
    }
    where.add_output(node.output(0));
    return where;
  }

  onnx::GraphProto &graph;
  std::map<std::string, const TensorProto *> tensors;
  std::map<std::string, const NodeProto *> producers;
  std::vector<NodeProto> added;
  std::map<std::string, std::string> known; ///< what `repeat` gave
};

} // namespace

bool isOfMaskedAssignment(const NodeProto &node) {
  return std::any_of(
      node.metadata_props().begin(), node.metadata_props().end(),
      [](const auto &entry) { return entry.key() == kMetadata; });
}

void selectMaskedAssignments(onnx::GraphProto &graph) { Rewriter(graph).run(); }

} // namespace zerograph::frontend
