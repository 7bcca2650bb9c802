//===- InputValues.cpp - inputs that are bound while compiling ------------===//

#include "frontend/graph/InputValues.h"

#include "frontend/base/Error.h"
#include "frontend/base/Suggest.h"
#include "frontend/graph/Inputs.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "runtime/base/Text.h"

#include <cmath>

namespace zerograph::frontend {

/// The shape of an input that has one element, whatever the data are.
static Shape shapeOfOne(const InputSignature &signature) {
  Shape shape;
  for (const InputDim &dim : signature.dims) {
    if (dim.value != 1) {
      std::vector<std::string> dims;
      for (const InputDim &any : signature.dims) {
        dims.push_back(any.value < 0 ? any.name : absl::StrCat(any.value));
      }
      fail("it has the shape [", absl::StrJoin(dims, ", "),
           "]; only an input of one element can be bound: give this one with "
           "--data");
    }
    shape.push_back(1);
  }
  return shape;
}

static HostTensor readValue(const onnx::ValueInfoProto &input,
                            const std::string &text) {
  int32_t type = input.type().tensor_type().elem_type();
  HostTensor value(type, shapeOfOne(signatureOf(input)));
  int64_t whole;
  double number;
  bool flag;
  if (type == onnx::TensorProto::BOOL) {
    if (!absl::SimpleAtob(text, &flag)) {
      fail("expected true or false");
    }
    value.setInt(0, flag ? 1 : 0);
  } else if (!isFloatType(type)) {
    if (!absl::SimpleAtoi(text, &whole)) {
      fail("expected a whole number");
    }
    value.setInt(0, whole);
    if (value.intAt(0) != whole) {
      fail("the number does not fit the type");
    }
  } else {
    if (!absl::SimpleAtod(text, &number)) {
      fail("expected a number");
    }
    value.setFloat(0, number);
    if (std::isfinite(number) && !std::isfinite(value.floatAt(0))) {
      fail("the number does not fit the type");
    }
  }
  return value;
}

std::map<std::string, HostTensor>
readInputValues(const Graph &graph,
                const std::map<std::string, std::string> &values) {
  std::map<std::string, HostTensor> result;
  std::map<std::string, const onnx::ValueInfoProto *> inputs;
  std::vector<std::string> names, problems;
  for (const onnx::ValueInfoProto *input : fedInputs(graph)) {
    inputs.emplace(input->name(), input);
    names.push_back(input->name());
  }
  for (const auto &[name, text] : values) {
    std::string option = absl::StrCat("--input ", name, "=", text, ": ");
    auto found = inputs.find(name);
    if (found == inputs.end()) {
      problems.push_back(absl::StrCat(option, "no input has that name",
                                      suggestFor(name, names)));
      continue;
    }
    try {
      result.emplace(name, readValue(*found->second, text));
    } catch (const ImportError &error) {
      problems.push_back(absl::StrCat(
          option, "input '", name, "' is ",
          typeName(found->second->type().tensor_type().elem_type()), ": ",
          error.what()));
    }
  }
  if (!problems.empty()) {
    fail(linesOf(problems));
  }
  return result;
}

} // namespace zerograph::frontend
