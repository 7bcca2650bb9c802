//===- Body.h - emitting the values of a kernel's op tree -----------------===//
//
// Values that are the same for a whole row (or the kernel) are computed once,
// as scalars; the others for as many columns at a time as the device has lanes.
// The forms make the loops and give the buffers.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_CODEGEN_EMIT_BODY_H
#define ZEROGRAPH_CODEGEN_EMIT_BODY_H

#include "codegen/emit/Graph.h"
#include "codegen/emit/Lanes.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::zg::emit {

/// As many columns of one row as there are lanes. Without a mask, the first is
/// at a multiple of the width.
struct Chunk {
  Chunk(Value col, Value mask) : col(col), mask(mask) {}

  Value col;
  /// Null: all of them.
  Value mask;
  llvm::DenseMap<Node *, Value> values;
};

/// A part of a row kept on the stack between two passes over the row.
struct Scratch {
  Value pointer;
  /// Written by the current pass; readable since an earlier one.
  bool stored = false, filled = false;
};

class Body {
public:
  /// Emits at the builder, in the device's function. `pointers`: where the
  /// kernel's operands begin, then its results. `alignment`: bytes that each of
  /// these begins at a multiple of, as far as an access relies on more than
  /// that of its elements. Its chunks begin at multiples of the width, then,
  /// and `indexBits` are those of `Lanes`.
  Body(ImplicitLocOpBuilder &builder, Graph &graph, SmallVector<Value> pointers,
       unsigned resultCount, int64_t width, int64_t alignment = 1,
       unsigned indexBits = 64)
      : lanes(builder, width, indexBits), graph(graph),
        pointers(std::move(pointers)), resultCount(resultCount),
        alignment(alignment) {}
  /// Emits in the function of another body what another graph has.
  Body(const Body &other, Graph &graph, int64_t width)
      : Body(other.lanes.b, graph, other.pointers, other.resultCount, width,
             other.alignment, other.lanes.indexType.getWidth()) {
    lanes.approximation = other.lanes.approximation;
  }

  Lanes lanes;
  Graph &graph;
  /// Nodes whose values are kept rather than recomputed.
  llvm::DenseMap<Node *, Scratch> scratch;

  /// Computes what is the same for the whole kernel. Called once, before the
  /// loops.
  void enterKernel();
  /// Begins a row; everything known of the previous one is forgotten.
  void enterRow(Value row);
  /// Computes what `node` needs that is the same for the whole row, so that
  /// it lies before the loop over the columns.
  void prepare(Node *node);
  /// Ends a pass over the row: what it kept can be read from now on.
  void endSweep();
  /// The value of a reduction of the current row.
  void setReduced(Node *node, Value scalar);

  /// A node that is the same for the whole row, as a scalar.
  Value scalar(Node *node);
  /// A node's value on the columns of a chunk.
  Value vector(Node *node, Chunk &chunk);

  /// Operand or result `number` begins here.

  Value operandPointer(unsigned number) const { return pointers[number]; }
  Value resultPointer(unsigned number) const {
    return pointers[pointers.size() - resultCount + number];
  }
  /// i1: whether operand `number` lies where result 0 does.
  Value isResult(unsigned number);
  /// Returns the address of the element that is `offset` elements after a
  /// pointer.
  Value address(Value pointer, Value offset, Type element);
  /// Returns the address of the first of a chunk's columns of a leaf that has
  /// them side by side, without bounds; called after `prepare`.
  Value address(Node *leaf, const Chunk &chunk);
  /// Stores a vector, or one scalar, `offset` elements into a buffer; of a
  /// masked one only the lanes that are set. A mask of one lane is for all of
  /// them. The place is at a multiple of `together` elements.
  void store(Value pointer, Value offset, Value value, Value mask,
             int64_t together = 1);
  Value load(Value pointer, Value offset, Type element, bool asVector,
             Value mask, Value passThrough = {}, int64_t together = 1);
  /// The elements at `offsets` from the pointer.
  Value gather(Value pointer, Value offsets, Type element, Value mask,
               Value passThrough);

  /// Emits what only runs where a condition holds.
  void when(Value condition, llvm::function_ref<void()> emit);
  /// Returns what `then` emits where a condition holds, else what `otherwise`
  /// does, of the same types.
  SmallVector<Value> either(Value condition, TypeRange types,
                            llvm::function_ref<SmallVector<Value>()> then,
                            llvm::function_ref<SmallVector<Value>()> otherwise);
  /// `for (i = lo; i < hi; i += step) carried = body(i, carried)`.
  SmallVector<Value>
  loop(Value lo, Value hi, int64_t step, ValueRange carried,
       llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body);

private:
  /// The place where a view's elements of the current row begin.
  struct RowPlace {
    Value offset;   // in elements from the base
    Value pointer;  // null for an iota
    Value inBounds; // null: always
  };
  /// Per lane: elements from there, and which lanes are within bounds (null:
  /// all).
  struct LanePlace {
    Value offset, inBounds;
  };

  /// Bytes that an access at a multiple of so many elements can rely on.
  unsigned alignmentOf(Type storage, int64_t together) const;
  /// Elements that the chunks of a contiguous leaf lie at multiples of.
  int64_t togetherOf(const Node *node) const;
  Value basePointer(Value base);
  Value rowIndex(int64_t suffix, const ViewDim &dim, bool outermost);
  RowPlace rowPlace(const Access &access, Value base);
  RowPlace &rowPlaceOf(Node *node);
  LanePlace lanePlace(const Access &access, Value rowInBounds, Chunk &chunk,
                      bool withOffset);
  Value readMask(const Access &access, Value inBounds, Chunk &chunk);
  Value readScalar(const RowPlace &place, Type element, TypedAttr padValue);
  Value readVector(const Access &access, const RowPlace &place, Type element,
                   TypedAttr padValue, Value extraOffset, Chunk &chunk,
                   int64_t together = 1);
  Value chosenRow(Value index, const Indirection &indirection);
  Value formula(Type element, Value number);
  Value computeScalar(Node *node);
  Value computeVector(Node *node, Chunk &chunk);
  Value compareWithIota(Node *node, Chunk &chunk);
  Value both(Value x, Value y);

  SmallVector<Value> pointers; // of operands, then results
  unsigned resultCount;
  int64_t alignment;
  Value row;
  llvm::DenseMap<Value, Value> constantPointers;
  llvm::DenseMap<Node *, Value> kernelValues, rowValues;
  llvm::DenseMap<Node *, Value> kernelSplats, rowSplats;
  llvm::DenseMap<Node *, RowPlace> rowPlaces, indexPlaces;
  llvm::DenseSet<Node *> prepared;
  std::map<std::pair<int64_t, int64_t>, Value> rowIndices;
};

} // namespace mlir::zg::emit

#endif // ZEROGRAPH_CODEGEN_EMIT_BODY_H
