//===- EinsumEquation.cpp - the equation of an Einsum ---------------------===//

#include "frontend/ops/EinsumEquation.h"

#include "absl/strings/str_join.h"

#include <algorithm>

namespace zerograph::frontend {

namespace {

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

} // namespace

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

} // namespace zerograph::frontend
