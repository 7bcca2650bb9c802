//===- MaskedAssignment.cpp - x[mask] = value -----------------------------===//
//
//   full    = Expand(mask, Shape(x))
//   places  = Transpose(NonZero(full))
//   result  = ScatterND(x, places, Reshape(Expand(value, ...)))
//
// becomes Where(mask, value, x). No shape is known here. So the new nodes carry
// a mark, by which the walk finds them, once it knows shapes, and refuses those
// that would not compute what the file says.
//
//===----------------------------------------------------------------------===//

#include "frontend/parameters/ExporterMetadata.h"
#include "frontend/quirks/Quirks.h"
#include "frontend/walk/Op.h"

#include "onnx/defs/attr_proto_util.h"

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

/// Most operators of a chain that is followed: a graph may have cycles, which
/// are refused later.
constexpr int kMaxChain = 64;

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

NodeSearch::NodeSearch(const onnx::GraphProto &graph) {
  for (const TensorProto &tensor : graph.initializer()) {
    tensors[tensor.name()] = &tensor;
  }
  for (const NodeProto &node : graph.node()) {
    for (const std::string &output : node.output()) {
      producers[output] = &node;
    }
  }
}

const NodeProto *NodeSearch::producer(const std::string &name, const char *type,
                                      int inputs) const {
  auto found = producers.find(name);
  return found != producers.end() && found->second->op_type() == type &&
                 found->second->input_size() >= inputs
             ? found->second
             : nullptr;
}

std::string NodeSearch::behind(std::string name,
                               const std::set<std::string> &types) const {
  for (int steps = 0; steps < kMaxChain; ++steps) {
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

const TensorProto *NodeSearch::constant(const std::string &name) const {
  if (auto found = tensors.find(name); found != tensors.end()) {
    return found->second;
  }
  auto found = producers.find(name);
  if (found != producers.end() && found->second->op_type() == "Constant") {
    if (const auto *value = findAttribute(*found->second, "value")) {
      return &value->t();
    }
  }
  return nullptr;
}

bool NodeSearch::isOneElement(const std::string &name) const {
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
  return attribute.name() == "value_float" || attribute.name() == "value_int" ||
         ((attribute.name() == "value_floats" ||
           attribute.name() == "value_ints") &&
          attribute.floats_size() + attribute.ints_size() == 1);
}

class Rewriter {
public:
  explicit Rewriter(onnx::GraphProto &graph) : graph(graph), search(graph) {}

  /// Changes nodes where they stand, since `search` points to them. New ones
  /// come last; Graph sorts them.
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
  /// The tensor whose nonzero places these are, or "".
  std::string maskOf(const std::string &places) const {
    const NodeProto *transpose = search.producer(places, "Transpose");
    if (transpose == nullptr) {
      return "";
    }
    const auto *perm = findAttribute(*transpose, "perm");
    if (perm != nullptr && (perm->ints_size() != 2 || perm->ints(0) != 1)) {
      return "";
    }
    const NodeProto *nonZero = search.producer(transpose->input(0), "NonZero");
    return nonZero == nullptr ? ""
                              : search.behind(nonZero->input(0), {"Identity"});
  }

  /// Returns whether a Shape is of all dimensions.
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
    std::string full;   ///< the mask of all dimensions
    std::string places; ///< the places where `full` is true
    std::string small;  ///< before its Expand
  };

  std::optional<Mask> matchMask(const NodeProto &scatter) const {
    Mask mask;
    mask.result = scatter.output(0);
    mask.places = scatter.input(1);
    mask.full = maskOf(mask.places);
    const NodeProto *expand = search.producer(mask.full, "Expand", 2);
    if (expand == nullptr) {
      return std::nullopt;
    }
    const NodeProto *shape = search.producer(expand->input(1), "Shape");
    if (shape == nullptr || shape->input(0) != scatter.input(0) ||
        !isWhole(*shape)) {
      return std::nullopt;
    }
    mask.small = search.behind(expand->input(0), {"Identity"});
    return mask;
  }

  /// A node in place of `node`.
  static NodeProto made(const NodeProto &node) {
    NodeProto made;
    made.set_name(node.name());
    made.add_metadata_props()->set_key(kMetadata);
    return made;
  }

  /// Returns what the updates are taken from: a tensor of x's shape, one
  /// element, or one row (the walk checks the shape); "" if this is not known.
  std::string everywhere(const std::string &updates, const Mask &mask) {
    // There are as many updates as places. If all are one number, it does not
    // matter how they are arranged or which of them are taken.
    std::string single =
        search.behind(updates, {"Expand", "Reshape", "Slice", "Cast",
                                "CastLike", "Identity"});
    if (search.isOneElement(single)) {
      return search.behind(updates, {"Expand", "Reshape", "Slice", "Identity"});
    }
    // Else views that keep the number of elements and their order. An Expand
    // adds none, as there are as many updates as places.
    const std::set<std::string> flat = {"Expand", "Reshape", "Identity"};
    std::string name = search.behind(updates, flat);
    if (const NodeProto *slice = search.producer(name, "Slice", 3)) {
      // All of them: [0, the number of places).
      if (search.behind(slice->input(2), {"Unsqueeze", "Gather", "Shape"}) !=
          mask.places) {
        return "";
      }
      name = search.behind(slice->input(0), flat);
    }
    if (const NodeProto *gather = search.producer(name, "GatherND", 2)) {
      std::string read = maskOf(gather->input(1));
      bool same = gather->attribute_size() == 0 ||
                  (gather->attribute_size() == 1 &&
                   gather->attribute(0).i() == 0); // batch_dims
      return same && (read == mask.full || read == mask.small)
                 ? gather->input(0)
                 : "";
    }
    for (const char *type : {"Add", "Mul", "Neg", "Sub"}) {
      if (const NodeProto *node = search.producer(name, type)) {
        return repeat(*node, mask);
      }
    }
    // All places get the same row.
    const NodeProto *expand = search.producer(
        search.behind(updates, {"Reshape", "Identity"}), "Expand", 2);
    return expand == nullptr ? "" : expand->input(0);
  }

  /// Repeats the operation on all of its operands; returns the result or "".
  std::string repeat(const NodeProto &node, const Mask &mask) {
    auto [entry, isNew] = known.try_emplace(node.output(0));
    if (!isNew) {
      return entry->second;
    }
    if (known.size() > kMaxChain) {
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
      scales |= search.isOneElement(search.behind(operand, kViews));
    }
    // In a product of two values, an infinite element that no place uses would
    // turn the gradient into NaN.
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
    const auto *reduction = findAttribute(node, "reduction");
    if (reduction != nullptr && reduction->s() != "none") {
      return std::nullopt;
    }
    std::optional<Mask> mask = matchMask(node);
    std::string value = mask ? everywhere(node.input(2), *mask) : "";
    if (value.empty()) {
      return std::nullopt;
    }
    // NonZero takes numbers too.
    NodeProto cast = made(node);
    cast.set_op_type("Cast");
    *cast.add_attribute() =
        onnx::MakeAttribute("to", int64_t(TensorProto::BOOL));
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
  NodeSearch search;
  std::vector<NodeProto> added;
  std::map<std::string, std::string> known; ///< what `repeat` gave
};

/// Returns whether a value of shape `row` is one row of x, and the mask chooses
/// whole rows: the last dims are x's in `row`, and 1 in `mask`.
bool isRowOf(Shape row, Shape mask, const Shape &x) {
  if (row.size() > x.size() || mask.size() > x.size()) {
    return false;
  }
  row.insert(row.begin(), x.size() - row.size(), 1);
  mask.insert(mask.begin(), x.size() - mask.size(), 1);
  size_t begin = 0;
  while (begin < row.size() && row[begin] == 1) {
    ++begin;
  }
  for (size_t dim = begin; dim < row.size(); ++dim) {
    if (row[dim] != x[dim] || mask[dim] != 1) {
      return false;
    }
  }
  return true;
}

/// Throws ImportError unless each operand of a node that was made here has one
/// element or the shape of what is assigned to. (A Where also takes one row, if
/// its mask chooses whole rows.) With any other shape the node would not
/// compute what the file says.
void checkShapes(Op &op) {
  if (metadata(op.proto(), kMetadata) == nullptr) {
    return;
  }
  bool isWhere = op.proto().op_type() == "Where";
  Shape whole = op.shape(isWhere ? 2 : 0);
  if (isWhere && broadcastShapes(op.shape(0), whole) != whole) {
    fail("a mask of shape ", shapeText(op.shape(0)),
         " assigns within the smaller shape ", shapeText(whole));
  }
  for (int i = 1; i < op.inputCount() && !isWhere; ++i) {
    whole = broadcastShapes(whole, op.shape(i));
  }
  for (int i = isWhere ? 1 : 0; i < op.inputCount(); ++i) {
    if (op.shape(i) != whole && elementCount(op.shape(i)) != 1 &&
        !(isWhere && isRowOf(op.shape(i), op.shape(0), whole))) {
      fail("assigns, where a mask says so, values of shape ",
           shapeText(op.shape(i)), " within shape ", shapeText(whole),
           "; only one number, one row by a mask of rows, or values of the "
           "whole shape can be assigned by a mask that data decides");
    }
  }
}

void selectMaskedAssignments(ModelFile &file) {
  Rewriter(*file.model.mutable_graph()).run();
}

} // namespace

const Quirk kMaskedAssignment = {.repair = selectMaskedAssignments,
                                 .checkNode = checkShapes};

} // namespace zerograph::frontend
