//===- Graph.h - the op tree of a kernel ----------------------------------===//
//
// A kernel's body, seen from its results: every node is a value at one point
// of the kernel's domain of rows x columns. Views have disappeared into the
// leaves; equal nodes are one.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_CODEGEN_EMIT_GRAPH_H
#define ZEROGRAPH_CODEGEN_EMIT_GRAPH_H

#include "passes/ir/nn/NNDialect.h"
#include "passes/kernels/View.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include <deque>
#include <map>

namespace mlir::zg::emit {

/// The iteration space of a kernel: all its dimensions but the innermost
/// together, and the innermost.
struct Domain {
  int64_t rows = 1;
  int64_t cols = 1;
  /// The runs of a kernel that reduces rows: they lie one after the other, and
  /// each is reduced on its own.
  int64_t runs = 1;
};

/// How a view addresses elements by row and column.
struct Access {
  /// The view's dimensions over the rows; those over the columns. Unbounded
  /// dimensions of one element are left out and neighbours merged. If `flat`,
  /// no boundary lies between rows and columns: `inner` runs over
  /// row * cols + column and `outer` is empty.
  SmallVector<ViewDim, 4> outer, inner;
  bool flat = false;
  int64_t offset = 0;

  bool variesInRow() const;
  bool variesOverRows() const;
  /// Neighbouring columns are neighbours in memory.
  bool isContiguous() const {
    return !flat && inner.size() == 1 && inner.front().stride == 1;
  }
};

/// The elements that an expression runs over: each element of the domain, one a
/// row, or one a column.
enum class Extent { Full, Row, Column };

/// How often a node changes: once a kernel, a row, or with each column.
enum class Level { Kernel, Row, Column };

struct Node {
  enum class Kind {
    Load,     ///< An element of a block argument or a constant's data.
    Given,    ///< A number that the form computes, of each element.
    Iota,     ///< The formula of `view` itself.
    Constant, ///< `value`.
    Op,       ///< An elementwise op of the operands.
    Pad,      ///< The operand where `view` is within bounds, else `value`.
    Reduce,   ///< A reduction of the operand over columns (rows form) or rows.
  };

  explicit Node(Kind kind) : kind(kind) {}

  Kind kind;
  unsigned id = 0;
  /// The nn element type.
  Type element;
  Operation *op = nullptr;
  SmallVector<Node *, 3> operands;
  TypedAttr value;
  View view;
  Extent extent = Extent::Full;

  /// Set by Graph::resolve.
  Access access;
  std::optional<Access> index;
  Level level = Level::Kernel;
  /// How many reductions, one after the other, must have ended before.
  unsigned depth = 0;
  /// To compute it again costs much more than to read it back. Decides what is
  /// kept between two passes over a row, never what a value is.
  bool costly = false;
};

class Graph {
public:
  /// `reducesColumns`: reductions are over the columns of each row (the rows
  /// form), else over the rows.
  Graph(Domain domain, bool reducesColumns)
      : domain(domain), reducesColumns(reducesColumns) {}

  /// Lets an argument of a region inside the kernel stand for `value`.
  void bind(BlockArgument argument, Value value) { bound[argument] = value; }
  /// Lets an argument of such a region be what the form computes of each
  /// element of the domain. Bodies expect it among a chunk's values.
  void give(BlockArgument argument) { given.insert(argument); }

  /// The node of a value whose elements are those of `extent` in row-major
  /// order. Emits an error where a view cannot be composed.
  FailureOr<Node *> add(Value value, Extent extent);

  /// Chooses the number of columns of a domain without reductions: the most
  /// neighbouring elements that every leaf addresses by one stride.
  void chooseColumns();

  /// Computes accesses, levels, depths. The nodes and domain are then final.
  LogicalResult resolve();

  const Domain &getDomain() const { return domain; }
  /// Operands come before their users.
  std::deque<Node> &getNodes() { return nodes; }
  const std::deque<Node> &getNodes() const { return nodes; }
  /// No place that a leaf addresses, no number that an iota counts, and nothing
  /// on the way there is further from zero.
  int64_t reach() const;

private:
  using Chain = SmallVector<Operation *, 4>;
  FailureOr<Node *> build(Value value, const Chain &chain, Extent extent,
                          bool padded);
  FailureOr<Node *> buildUncached(Value value, const Chain &chain,
                                  Extent extent, bool padded);
  FailureOr<Node *> buildLeaf(Value value, const Chain &chain, Extent extent,
                              bool padded);
  FailureOr<Node *> buildReduce(nn::ReduceOp op, const Chain &chain,
                                Extent extent);
  FailureOr<View> compose(Value value, const Chain &chain);
  FailureOr<Node *> buildGiven(BlockArgument value, const Chain &chain);
  Node *intern(Node node);

  llvm::DenseMap<Value, Value> bound;
  llvm::DenseSet<Value> given;
  Domain domain;
  bool reducesColumns;
  std::deque<Node> nodes;
  std::map<std::string, Node *> interned;
  std::map<std::tuple<const void *, std::vector<Operation *>, Extent, bool>,
           Node *>
      built;
};

/// The access of a view that runs over the whole domain, its rows or its
/// columns.
Access makeAccess(const View &view, Domain domain, Extent extent);

/// Returns how many elements, a divisor of `most`, every row of a leaf that
/// reads neighbouring columns side by side begins at a multiple of.
int64_t alignedElements(const Node &leaf, int64_t most);

} // namespace mlir::zg::emit

#endif // ZEROGRAPH_CODEGEN_EMIT_GRAPH_H
