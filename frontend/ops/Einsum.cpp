//===- Einsum.cpp - sums of products over named dimensions ----------------===//
//
// Operands are contracted from the left to the right, two at a time. Labels
// that nothing else needs are summed away first. Labels that both have, and
// that something later needs, are batches of one matrix product.
//
//===----------------------------------------------------------------------===//

#include "frontend/ops/Ops.h"

#include "absl/strings/str_join.h"

#include <algorithm>

using mlir::Value;
using mlir::zg::nn::CompareKind;
using mlir::zg::nn::ReduceKind;

namespace zerograph::frontend {

namespace {

/// The labels of each input's dimensions, and those of the result's. The
/// dimensions that an ellipsis stands for are labelled '0', '1', ... from the
/// last to the first.
struct Equation {
  std::vector<std::string> terms;
  std::string result;
};

bool hasLabel(const std::string &labels, char label) {
  return labels.find(label) != std::string::npos;
}

std::string withoutSpaces(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  return text;
}

/// "i...j" with `dots` dimensions in the place of the ellipsis.
std::string expandEllipsis(const std::string &text, int64_t dots) {
  std::string labels;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 3, "...") == 0) {
      for (int64_t k = dots - 1; k >= 0; --k) {
        labels += static_cast<char>('0' + k);
      }
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(text[i])) != 0) {
      labels += text[i];
    } else {
      fail("the equation has the character '", std::string(1, text[i]), "'");
    }
  }
  return labels;
}

/// Expands the ellipses of the terms. The most dimensions that one stands for.
int64_t expandTerms(Op &op, std::vector<std::string> &terms) {
  int64_t most = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    std::string &term = terms[i];
    int64_t rank = op.shape(static_cast<int>(i)).size(), dots = 0;
    size_t at = term.find("...");
    if (at != std::string::npos) {
      dots = rank - static_cast<int64_t>(term.size()) + 3;
      if (dots < 0 || dots > 9) {
        fail("term '", term, "' does not fit rank ", rank);
      }
      most = std::max(most, dots);
    }
    term = expandEllipsis(term, dots);
    if (static_cast<int64_t>(term.size()) != rank) {
      fail("term '", term, "' does not fit rank ", rank);
    }
  }
  return most;
}

/// Returns what an equation without an arrow gives: the ellipsis, and after it
/// the labels that are there once, in alphabetical order.
std::string impliedResult(const std::vector<std::string> &terms, int64_t dots) {
  std::string joined = absl::StrJoin(terms, ""), sorted = joined;
  std::sort(sorted.begin(), sorted.end());
  std::string result = expandEllipsis("...", dots);
  for (char label : sorted) {
    if (std::isalpha(static_cast<unsigned char>(label)) != 0 &&
        std::count(joined.begin(), joined.end(), label) == 1) {
      result += label;
    }
  }
  return result;
}

void checkResult(const Equation &equation) {
  for (size_t i = 0; i < equation.result.size(); ++i) {
    char label = equation.result[i];
    bool known = std::any_of(
        equation.terms.begin(), equation.terms.end(),
        [&](const std::string &term) { return hasLabel(term, label); });
    if (!known || equation.result.find(label, i + 1) != std::string::npos) {
      fail("label '", std::string(1, label), "' of the result is ",
           known ? "there twice" : "in no term");
    }
  }
}

/// Reads the attribute `equation`; fails if it does not fit the inputs.
Equation equationOf(Op &op) {
  std::string text = withoutSpaces(op.stringAttribute("equation", ""));
  Equation equation;
  size_t arrow = text.find("->");
  std::string left = text.substr(0, arrow);
  for (size_t begin = 0; begin <= left.size();) {
    size_t end = std::min(left.find(',', begin), left.size());
    equation.terms.push_back(left.substr(begin, end - begin));
    begin = end + 1;
  }
  if (static_cast<int64_t>(equation.terms.size()) != op.inputCount()) {
    fail("the equation '", text, "' has ", equation.terms.size(), " terms for ",
         op.inputCount(), " inputs");
  }
  int64_t dots = expandTerms(op, equation.terms);
  equation.result = arrow != std::string::npos
                        ? expandEllipsis(text.substr(arrow + 2), dots)
                        : impliedResult(equation.terms, dots);
  checkResult(equation);
  return equation;
}

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
