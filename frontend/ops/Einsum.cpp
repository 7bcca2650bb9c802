//===- Einsum.cpp - sums of products over named dimensions ----------------===//
//
// Operands are contracted from the left to the right, two at a time. Labels
// that nothing else needs are summed away first. Labels that both have, and
// that something later needs, are batches of one matrix product.
//
//===----------------------------------------------------------------------===//

#include "frontend/ops/EinsumEquation.h"

#include <algorithm>

using mlir::Value;
using mlir::zg::nn::CompareKind;
using mlir::zg::nn::ReduceKind;

namespace zerograph::frontend {

namespace {

/// A value and the label of each of its dimensions.
struct Term {
  Value value;
  std::string labels;
};

/// A term with its dimensions in the order of `labels`, which name all of them;
/// a label that it lacks gets size 1.
Value inOrder(Emitter &emit, const Term &term, const std::string &labels) {
  std::vector<int64_t> order;
  Shape shape;
  for (char label : labels) {
    size_t at = term.labels.find(label);
    if (at == std::string::npos) {
      shape.push_back(1);
    } else {
      order.push_back(static_cast<int64_t>(at));
      shape.push_back(Emitter::shapeOf(term.value)[at]);
    }
  }
  return emit.reshape(emit.transpose(term.value, order), shape);
}

/// Keeps, where a label is repeated, the elements whose indices of it are
/// equal.
void takeDiagonals(Emitter &emit, Term &term) {
  for (size_t i = 0; i < term.labels.size(); ++i) {
    size_t again = term.labels.find(term.labels[i], i + 1);
    if (again == std::string::npos) {
      continue;
    }
    Shape shape = Emitter::shapeOf(term.value);
    if (shape[i] != shape[again]) {
      fail("label '", std::string(1, term.labels[i]), "' has the sizes ",
           shape[i], " and ", shape[again]);
    }
    mlir::Type index = emit.builder.getI64Type();
    Value equal = emit.compare(
        CompareKind::eq, emit.iota(static_cast<int64_t>(i), shape, index),
        emit.iota(static_cast<int64_t>(again), shape, index));
    term.value = emit.reduce(
        ReduceKind::sum,
        emit.select(equal, term.value, emit.splatLike(0, term.value)),
        {static_cast<int64_t>(again)}, false);
    term.labels.erase(again, 1);
    --i; // a label may be there three times
  }
}

/// Sums away the labels that `needed` lacks.
void sumAway(Emitter &emit, Term &term, const std::string &needed) {
  std::vector<int64_t> axes;
  std::string kept;
  for (size_t i = 0; i < term.labels.size(); ++i) {
    if (hasLabel(needed, term.labels[i])) {
      kept += term.labels[i];
    } else {
      axes.push_back(static_cast<int64_t>(i));
    }
  }
  if (!axes.empty()) {
    term.value = emit.reduce(ReduceKind::sum, term.value, axes, false);
    term.labels = kept;
  }
}

int64_t sizeOf(const Term &term, const std::string &labels) {
  int64_t size = 1;
  for (char label : labels) {
    size *= Emitter::shapeOf(term.value)[term.labels.find(label)];
  }
  return size;
}

/// The labels of two terms, by what a product does with them.
struct Roles {
  std::string batch;       ///< both have it, and something later needs it
  std::string left, right; ///< one has it
  std::string summed;      ///< both have it, and nothing later needs it
  bool stretched = false;  ///< the sizes of a common one differ
};

Roles rolesOf(const Term &a, const Term &b, const std::string &needed) {
  Roles roles;
  for (char label : a.labels) {
    if (!hasLabel(b.labels, label)) {
      roles.left += label;
      continue;
    }
    roles.stretched |= sizeOf(a, {label}) != sizeOf(b, {label});
    (hasLabel(needed, label) ? roles.batch : roles.summed) += label;
  }
  for (char label : b.labels) {
    if (!hasLabel(a.labels, label)) {
      roles.right += label;
    }
  }
  return roles;
}

/// The product of two terms as one matrix product.
Term matrixProduct(Emitter &emit, const Term &a, const Term &b,
                   const Roles &roles) {
  const std::string &batch = roles.batch, &left = roles.left;
  const std::string &right = roles.right, &summed = roles.summed;
  std::string result = batch + left + right;
  Shape shape, batches;
  for (char label : batch) {
    batches.push_back(sizeOf(a, {label}));
  }
  int64_t inner = sizeOf(a, summed);
  Shape leftShape = batches, rightShape = batches;
  leftShape.insert(leftShape.end(), {sizeOf(a, left), inner});
  rightShape.insert(rightShape.end(), {inner, sizeOf(b, right)});
  Value x = emit.reshape(inOrder(emit, a, batch + left + summed), leftShape);
  Value y = emit.reshape(inOrder(emit, b, batch + summed + right), rightShape);
  for (char label : result) {
    shape.push_back(sizeOf(hasLabel(a.labels, label) ? a : b, {label}));
  }
  return {emit.reshape(emit.matmul(x, y), shape), result};
}

/// The product of two terms, summed over what `needed` lacks.
Term contract(Emitter &emit, Term a, Term b, const std::string &needed) {
  sumAway(emit, a, needed + b.labels);
  sumAway(emit, b, needed + a.labels);
  Roles roles = rolesOf(a, b, needed);
  // Dimensions of size 1 broadcast, and without a sum there is no matrix
  // product; nor is there one of integers.
  if (!roles.stretched && !roles.summed.empty() && Emitter::isFloat(a.value)) {
    return matrixProduct(emit, a, b, roles);
  }
  std::string all = roles.batch + roles.left + roles.right + roles.summed;
  Term product{emit.mul(inOrder(emit, a, all), inOrder(emit, b, all)), all};
  sumAway(emit, product, needed);
  return product;
}

void emitEinsum(Op &op) {
  Equation equation = equationOf(op);
  Emitter &emit = op.emit;
  Term total;
  for (size_t i = 0; i < equation.terms.size(); ++i) {
    Term term{op.value(static_cast<int>(i)), equation.terms[i]};
    takeDiagonals(emit, term);
    std::string needed = equation.result;
    for (size_t k = i + 1; k < equation.terms.size(); ++k) {
      needed += equation.terms[k];
    }
    if (i == 0) {
      sumAway(emit, term, needed);
      total = term;
    } else {
      total = contract(emit, total, term, needed);
    }
  }
  op.set(0, inOrder(emit, total, equation.result));
}

const OpDef kOps[] = {{"Einsum", 12, emitEinsum}};

} // namespace

llvm::ArrayRef<OpDef> einsumOps() { return kOps; }

} // namespace zerograph::frontend
