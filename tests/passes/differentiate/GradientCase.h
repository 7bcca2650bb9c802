//===- GradientCase.h - a few lines of nn and how to check its gradient ---===//

#ifndef ZEROGRAPH_TESTS_PASSES_DIFFERENTIATE_GRADIENTCASE_H
#define ZEROGRAPH_TESTS_PASSES_DIFFERENTIATE_GRADIENTCASE_H

#include <ostream>
#include <set>
#include <string>
#include <vector>

namespace mlir::zg::testing {

/// One argument, drawn from [low, high). Float arguments are parameters,
/// integer ones inputs.
struct CaseArgument {
  std::string name; // without %
  std::string type; // "2x3xf64", without tensor<>
  double low = -1;
  double high = 1;

  bool isFloat() const { return type.find('i') == std::string::npos; }
};

struct CaseResult {
  std::string name; // "%y" or "%norm#1"
  std::string type;
};

struct GradientCase {
  std::string name;
  std::vector<CaseArgument> arguments;
  /// Ops that compute the results from the arguments.
  std::string body;
  /// All must be f64; the loss is their sum, weighted by random numbers.
  std::vector<CaseResult> results;
  double step = 1e-5;      // of the central differences
  double tolerance = 1e-7; // relative to 1 + |gradient|
};

void PrintTo(const GradientCase &gradientCase, std::ostream *stream);

/// Compares @micro's gradients with central differences of @forward, both
/// through the interpreter, with the named arguments frozen. Also: only the
/// others have gradients, and nn-decompose keeps every result.
void checkGradient(const GradientCase &gradientCase,
                   const std::set<std::string> &frozen);

/// Checks a case with all float arguments trainable, and with each one frozen
/// in turn.
void checkGradients(const GradientCase &gradientCase);

} // namespace mlir::zg::testing

#endif // ZEROGRAPH_TESTS_PASSES_DIFFERENTIATE_GRADIENTCASE_H
