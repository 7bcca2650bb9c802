//===- Inputs.cpp - the inputs of a graph and their dims ------------------===//

#include "frontend/graph/Inputs.h"

#include "frontend/base/Error.h"
#include "frontend/base/Suggest.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "runtime/base/Text.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace zerograph::frontend {

std::vector<const onnx::ValueInfoProto *> fedInputs(const Graph &graph) {
  std::vector<const onnx::ValueInfoProto *> inputs;
  for (const auto &input : graph.proto.input()) {
    if (graph.initializers.count(input.name()) == 0) {
      inputs.push_back(&input);
    }
  }
  return inputs;
}

InputSignature signatureOf(const onnx::ValueInfoProto &input) {
  InputSignature signature;
  signature.name = input.name();
  if (!input.type().has_tensor_type()) {
    fail("graph input '", input.name(),
         "' is not a tensor: sequences, maps and optionals are not supported");
  }
  const auto &type = input.type().tensor_type();
  const char *dtype = safetensorsName(type.elem_type());
  if (dtype == nullptr) {
    fail("graph input '", input.name(), "' has the unsupported type ",
         typeName(type.elem_type()));
  }
  signature.dtype = dtype;
  if (!type.has_shape()) {
    fail("graph input '", input.name(),
         "' has no shape: export it with one, dims may be symbolic");
  }
  for (const auto &dim : type.shape().dim()) {
    InputDim entry;
    // Some exporters write an unknown size as -1.
    if (dim.has_dim_value() && dim.dim_value() != -1) {
      entry.value = dim.dim_value();
      if (entry.value < 1) {
        fail("graph input '", input.name(), "' has a dim of size ",
             entry.value);
      }
    } else if (!dim.dim_param().empty()) {
      entry.name = dim.dim_param();
    } else {
      entry.name = absl::StrCat(input.name(), ".", signature.dims.size());
      entry.named = false;
    }
    entry.samples = dim.denotation() == "DATA_BATCH";
    signature.dims.push_back(entry);
  }
  return signature;
}

static bool isCalledBatch(const std::string &name) {
  return absl::StrContains(absl::AsciiStrToLower(name), "batch");
}

/// Fails where samples would be taken along another dim than the one that is
/// called so, as of [time, batch, features].
static void checkSamplesLead(const std::vector<InputSignature> &signatures) {
  std::string samples = batchDim(signatures);
  if (samples.empty() || isCalledBatch(samples)) {
    return;
  }
  for (const InputSignature &input : signatures) {
    for (size_t axis = 1; axis < input.dims.size(); ++axis) {
      const std::string &name = input.dims[axis].name;
      if (!input.dims[axis].named || !isCalledBatch(name)) {
        continue;
      }
      std::vector<std::string> dims;
      for (const InputDim &dim : input.dims) {
        dims.push_back(dim.name.empty() ? absl::StrCat(dim.value) : dim.name);
      }
      fail("input '", input.name, "' is [", absl::StrJoin(dims, ", "),
           "]: its dim '", name, "' is at place ", axis,
           ", and samples must lead every input; '", samples,
           "' would be taken for them. Export a module that takes '",
           input.name,
           "' samples first and transposes it, as `def forward(self, x): "
           "return self.model(x.transpose(0, ",
           axis, "))`, and write the data so");
    }
  }
}

std::vector<InputSignature>
signaturesOf(const std::vector<const onnx::ValueInfoProto *> &inputs) {
  std::vector<InputSignature> signatures;
  for (const onnx::ValueInfoProto *input : inputs) {
    signatures.push_back(signatureOf(*input));
  }
  checkSamplesLead(signatures);
  return signatures;
}

/// `dims`, and the number of samples for each leading dim without a name.
static std::map<std::string, int64_t>
withSamples(const std::vector<InputSignature> &signatures,
            std::map<std::string, int64_t> dims) {
  std::string batch = batchDim(signatures);
  if (auto size = dims.find(batch); size != dims.end()) {
    for (const InputSignature &input : signatures) {
      if (isBatchDim(input.dims, batch, signatures)) {
        dims.emplace(input.dims[0].name, size->second);
      }
    }
  }
  return dims;
}

/// Fails where `given` has a name that is none of `dims`, or a size below 1.
static void
checkGiven(const std::map<std::string, int64_t> &given,
           const std::map<std::string, std::vector<std::string>> &dims) {
  for (const auto &[name, size] : given) {
    if (dims.count(name) == 0) {
      std::vector<std::string> names;
      for (const auto &[known, uses] : dims) {
        names.push_back(known);
      }
      fail("--dim ", name, "=", size, ": no input has a dim of that name; ",
           names.empty() ? "all dims are fixed"
                         : "there are " + listOf(names, 10));
    }
    if (size < 1) {
      fail("--dim ", name, "=", size, ": a size is at least 1");
    }
  }
}

std::vector<Shape> bindDims(const std::vector<InputSignature> &signatures,
                            const std::map<std::string, int64_t> &given,
                            ImportReport &report) {
  for (const InputSignature &input : signatures) {
    for (size_t axis = 0; axis < input.dims.size(); ++axis) {
      if (!input.dims[axis].name.empty()) {
        report.dims[input.dims[axis].name].push_back(
            absl::StrCat(input.name, "[", axis, "]"));
      }
    }
  }
  checkGiven(given, report.dims);
  std::map<std::string, int64_t> dims = withSamples(signatures, given);
  std::vector<std::string> open;
  for (const auto &[name, uses] : report.dims) {
    if (dims.count(name) == 0) {
      open.push_back(absl::StrCat(name, " (", listOf(uses), ")"));
    }
  }
  if (!open.empty()) {
    fail("dims without a size; give each with --dim NAME=SIZE, or train with "
         "data that decides them:\n  ",
         linesOf(open));
  }
  std::vector<Shape> shapes;
  for (const InputSignature &input : signatures) {
    Shape shape;
    for (const InputDim &dim : input.dims) {
      shape.push_back(dim.name.empty() ? dim.value : dims.at(dim.name));
    }
    elementCount(shape); // refuses an overflow
    shapes.push_back(shape);
  }
  return shapes;
}

std::string batchDim(const std::vector<InputSignature> &signatures) {
  std::vector<std::string> leading;
  std::set<std::string> later;
  for (const InputSignature &input : signatures) {
    for (size_t axis = 0; axis < input.dims.size(); ++axis) {
      const std::string &name = input.dims[axis].name;
      if (axis > 0) {
        later.insert(name);
      } else if (!name.empty()) {
        leading.push_back(name);
      }
    }
  }
  auto first = std::find_if(
      leading.begin(), leading.end(),
      [&](const std::string &name) { return later.count(name) == 0; });
  return first != leading.end() ? *first
         : leading.empty()      ? ""
                                : leading.front();
}

bool isBatchDim(const std::vector<InputDim> &dims, const std::string &batch,
                const std::vector<InputSignature> &inputs) {
  if (dims.empty() || dims[0].value >= 0) {
    return false;
  }
  bool unnamed = llvm::any_of(inputs, [&](const InputSignature &input) {
    return !input.dims.empty() && !input.dims[0].named &&
           input.dims[0].name == batch;
  });
  return dims[0].name == batch || (unnamed && !dims[0].named);
}

std::optional<size_t>
saidToHaveSamples(const std::vector<InputSignature> &signatures) {
  std::optional<size_t> found;
  for (size_t i = 0; i < signatures.size(); ++i) {
    const auto &dims = signatures[i].dims;
    if (!dims.empty() && dims[0].samples &&
        (!found || dims[0].value < signatures[*found].dims[0].value)) {
      found = i;
    }
  }
  return found;
}

std::vector<bool> perSample(const std::vector<InputSignature> &signatures,
                            const std::vector<Shape> &shapes, size_t anchor,
                            ImportReport &report) {
  report.batch_dim = batchDim(signatures);
  auto leader = llvm::find_if(signatures, [&](const InputSignature &input) {
    return !input.dims.empty() && input.dims[0].name == report.batch_dim;
  });
  bool said = saidToHaveSamples(signatures).has_value();
  std::vector<bool> result;
  for (size_t i = 0; i < signatures.size(); ++i) {
    const auto &dims = signatures[i].dims;
    if (dims.empty()) {
      result.push_back(false);
    } else if (!report.batch_dim.empty()) {
      result.push_back(isBatchDim(dims, report.batch_dim, signatures) &&
                       shapes[i][0] == shapes[leader - signatures.begin()][0]);
    } else if (said) {
      result.push_back(dims[0].samples);
    } else {
      result.push_back(!shapes[anchor].empty() &&
                       shapes[i][0] == shapes[anchor][0]);
    }
  }
  return result;
}

void checkFixedBatch(const std::vector<InputSignature> &signatures,
                     const std::vector<Shape> &shapes, size_t anchor,
                     int64_t microBatch) {
  if (shapes.empty() || shapes[anchor].empty()) {
    fail("--micro-batch ", microBatch,
         ": no input has samples in front: leave the option out");
  }
  if (shapes[anchor][0] != microBatch) {
    fail("--micro-batch ", microBatch, ", but the file fixes ",
         shapes[anchor][0], " samples (input '", signatures[anchor].name,
         "'): leave the option out, or export with a symbolic first dim");
  }
}

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
