//===- Arguments.cpp - inputs and parameters of the program ---------------===//

#include "frontend/walk/Arguments.h"

#include "frontend/base/Error.h"
#include "frontend/emit/Emitter.h"
#include "frontend/file/TensorBytes.h"
#include "frontend/graph/Inputs.h"
#include "frontend/walk/ImportContext.h"

#include "passes/ir/nn/Queries.h"
#include "runtime/base/Text.h"

#include <unistd.h>

using namespace mlir;

namespace zerograph::frontend {

IndexRange IndexRange::meet(const IndexRange &other) const {
  IndexRange both{std::max(low, other.low), std::min(high, other.high), {}};
  for (const std::set<int64_t> *each : {&ignored, &other.ignored}) {
    for (int64_t value : *each) {
      if (contains(value) && other.contains(value) &&
          (value < both.low || value > both.high)) {
        both.ignored.insert(value);
      }
    }
  }
  return both;
}

IndexRange IndexRange::join(const IndexRange &other) const {
  IndexRange either{std::min(low, other.low), std::max(high, other.high), {}};
  for (const std::set<int64_t> *each : {&ignored, &other.ignored}) {
    for (int64_t value : *each) {
      if (value < either.low || value > either.high) {
        either.ignored.insert(value);
      }
    }
  }
  return either;
}

Value Arguments::addInput(InputSignature signature, const Shape &shape,
                          Type element, Location location) {
  signatures.push_back(std::move(signature));
  shapes.push_back(shape);
  uses.emplace_back();
  return context.body->insertArgument(
      signatures.size() - 1, RankedTensorType::get(shape, element), location);
}

void Arguments::addInputs() {
  const ImportOptions &options = context.options;
  OpBuilder &builder = context.builder;
  for (auto &[name, value] : readInputValues(context.graph, options.inputs)) {
    context.nodes.define(name).host = context.constants.share(std::move(value));
    if (context.graph.users.count(name) == 0) {
      context.report.warnings.push_back(absl::StrCat(
          "--input ", name, " has no effect: no node reads that input"));
    }
  }
  std::vector<const onnx::ValueInfoProto *> fed = fedInputs(context.graph);
  llvm::erase_if(fed, [&](const auto *input) {
    return options.inputs.count(input->name()) != 0;
  });
  signatures = signaturesOf(fed);
  shapes = bindDims(signatures, options.dims, context.report);
  uses.resize(fed.size());
  for (size_t i = 0; i < fed.size(); ++i) {
    const std::string &name = fed[i]->name();
    int32_t type = fed[i]->type().tensor_type().elem_type();
    context.nodes.define(name).value = context.body->addArgument(
        RankedTensorType::get(shapes[i],
                              elementTypeOf(builder.getContext(), type)),
        NameLoc::get(builder.getStringAttr(name)));
  }
}

void Arguments::addParameters(std::vector<Parameter> decided) {
  parameters = std::move(decided);
  decideHalves();
  OpBuilder &builder = context.builder;
  for (const Parameter &parameter : parameters) {
    const onnx::TensorProto &tensor = *parameter.tensor;
    auto type = RankedTensorType::get(
        shapeOf(tensor),
        elementTypeOf(builder.getContext(),
                      context.constants.computedType(tensor.data_type())));
    context.nodes.define(tensor.name()).value = context.body->addArgument(
        type, NameLoc::get(builder.getStringAttr(tensor.name())));
  }
}

/// Returns whether the graph only keeps the tensor in 16 bits: each node that
/// takes it widens it first.
static bool isWidened(const Graph &graph, const std::string &name) {
  auto users = graph.users.find(name);
  return users != graph.users.end() &&
         llvm::all_of(users->second, [&](int user) {
           const onnx::NodeProto &node = graph.proto.node(user);
           const auto *to = findAttribute(node, "to");
           return node.op_type() == "Cast" && to != nullptr &&
                  !isHalfType(int32_t(to->i()));
         });
}

void Arguments::decideHalves() {
  std::map<int32_t, int64_t> elements; // trained, by the type of products
  int64_t halves = 0, all = 0;
  for (const Parameter &parameter : parameters) {
    if (parameter.isTrained()) {
      int32_t type = parameter.tensor->data_type();
      bool widened = isWidened(context.graph, parameter.tensor->name());
      elements[widened ? int32_t(onnx::TensorProto::FLOAT) : type] +=
          elementCount(shapeOf(*parameter.tensor));
      halves += isHalfType(type);
      ++all;
    }
  }
  if (halves == 0) {
    return;
  }
  context.constants.widenHalves();
  auto most = llvm::max_element(elements, [](const auto &a, const auto &b) {
    return a.second < b.second;
  });
  if (isHalfType(most->first)) {
    context.report.precision =
        most->first == onnx::TensorProto::BFLOAT16 ? "bf16" : "fp16";
  }
  context.log.note(
      absl::StrCat(halves, " of ", all,
                   " trained parameters have 16 bits in the file: they begin "
                   "with these values, and are trained in float32"));
  widenInputs();
}

/// Converts inputs of 16 bits: data has the type that the file says.
void Arguments::widenInputs() {
  for (const auto &[name, value] : context.options.inputs) {
    Slot &slot = context.nodes.slotOf(name);
    HostTensor wide = *slot.host;
    wide.widen();
    slot.host = context.constants.share(std::move(wide));
  }
  for (size_t i = 0; i < signatures.size(); ++i) {
    Value input = context.body->getArgument(i);
    if (nn::isHalf(Emitter::elementOf(input))) {
      context.nodes.slotOf(signatures[i].name).value =
          Emitter(context.builder, input.getLoc())
              .convert(input, context.builder.getF32Type());
    }
  }
}

bool Arguments::isTrained(const std::string &name) const {
  return llvm::any_of(parameters, [&](const Parameter &parameter) {
    return parameter.trainable && parameter.tensor->name() == name;
  });
}

/// Returns whether a conversion keeps every value.
static bool keepsValues(nn::ConvertOp op) {
  auto from = dyn_cast<IntegerType>(Emitter::elementOf(op.getOperand()));
  auto to = dyn_cast<IntegerType>(Emitter::elementOf(op.getResult()));
  return from && to && from.getWidth() <= to.getWidth() && !to.isInteger(1) &&
         from.isUnsigned() == to.isUnsigned();
}

bool Arguments::bound(Value indices, const IndexRange &range) {
  bool part = false;
  while (Operation *op = indices.getDefiningOp()) {
    auto convert = dyn_cast<nn::ConvertOp>(op);
    if (!(convert ? keepsValues(convert) : nn::isPlainView(op))) {
      return false;
    }
    part |= isa<nn::SliceOp>(op);
    indices = op->getOperand(0);
  }
  size_t index = cast<BlockArgument>(indices).getArgNumber();
  if (index >= uses.size() || Emitter::isFloat(indices)) {
    return false;
  }
  auto &[wholes, parts] = uses[index];
  if (part) {
    parts = parts ? parts->join(range) : range;
  } else {
    wholes = wholes ? wholes->meet(range) : range;
  }
  return !part; // of another part, larger values may be legal
}

Value Arguments::newest(Value parameter) const {
  Value changed = next.lookup(parameter);
  return changed ? changed : parameter;
}

bool Arguments::keep(Value old, Value changed) {
  // A node may read what another has made of the parameter.
  Value parameter = keptOf.lookup(old);
  auto argument = dyn_cast<BlockArgument>(parameter ? parameter : old);
  if (!argument || argument.getArgNumber() < signatures.size()) {
    return false;
  }
  next[argument] = changed;
  keptOf[changed] = argument;
  return true;
}

std::vector<std::pair<std::string, Value>> Arguments::nextValues() const {
  std::vector<std::pair<std::string, Value>> values;
  for (const Parameter &parameter : parameters) {
    const std::string &name = parameter.tensor->name();
    if (Value changed = next.lookup(context.nodes.slotOf(name).value)) {
      values.emplace_back(name, changed);
    }
  }
  return values;
}

/// Returns the input by whose leading size inputs with samples are known where
/// all sizes are fixed: one of which the file says that it has samples, the
/// labels if they are known, else the first.
size_t Arguments::anchorInput() const {
  if (std::optional<size_t> said = saidToHaveSamples(signatures)) {
    return *said;
  }
  size_t anchor = 0;
  for (size_t i = 0; i < uses.size(); ++i) {
    // A loss bounds the range of its labels, and the last bounded input is
    // taken for them.
    if (uses[i].whole || uses[i].parts) {
      anchor = i;
    }
  }
  return anchor;
}

SmallVector<Value> Arguments::sampleInputs() const {
  std::vector<bool> samples =
      perSample(signatures, shapes, anchorInput(), context.report);
  SmallVector<Value> values;
  for (size_t i = 0; i < samples.size(); ++i) {
    if (samples[i]) {
      values.push_back(context.body->getArgument(i));
    }
  }
  return values;
}

Attribute Arguments::attributeOf(size_t input, bool perSample) const {
  std::optional<int64_t> low, high;
  SmallVector<int64_t> ignored;
  const auto &[whole, parts] = uses[input];
  const std::string &name = signatures[input].name;
  if (whole || parts) {
    // The uses of parts, together, bound the whole too.
    IndexRange range = whole.value_or(IndexRange());
    if (parts) {
      range = range.meet(*parts);
    }
    low = range.low;
    high = range.high;
    ignored.assign(range.ignored.begin(), range.ignored.end());
    if (*low > *high) {
      fail("input '", name,
           "' can have no legal value: it indexes "
           "tables of incompatible sizes");
    }
  }
  OpBuilder &builder = context.builder;
  return builder.getDictionaryAttr(builder.getNamedAttr(
      nn::kInputAttr,
      nn::InputAttr::get(builder.getContext(), builder.getStringAttr(name),
                         perSample, low, high, ignored)));
}

void Arguments::finishInputs(SmallVector<Attribute> &attributes) const {
  ImportReport &report = context.report;
  int64_t microBatch = context.options.micro_batch;
  size_t anchor = anchorInput();
  std::vector<bool> samples = perSample(signatures, shapes, anchor, report);
  if (microBatch > 0 && report.batch_dim.empty()) {
    checkFixedBatch(signatures, shapes, anchor, microBatch);
  }
  for (size_t i = 0; i < samples.size(); ++i) {
    attributes.push_back(attributeOf(i, samples[i]));
  }
  for (size_t i = 0; i < samples.size(); ++i) {
    if (context.body->getArgument(i).use_empty()) {
      report.notes.push_back(
          absl::StrCat("no value of input '", signatures[i].name,
                       "' is used, at most its shape",
                       samples.size() > 1
                           ? ": were two inputs exported from one tensor? The "
                             "exporter wires both to one of them"
                           : ""));
    }
  }
}

Attribute Arguments::attributeOf(const Parameter &parameter) const {
  OpBuilder &builder = context.builder;
  MLIRContext *mlir = builder.getContext();
  const onnx::TensorProto &tensor = *parameter.tensor;
  nn::SourceAttr source;
  if (auto range = locate(context.file, tensor)) {
    source = nn::SourceAttr::get(mlir, builder.getStringAttr(range->file),
                                 range->offset, range->length);
  } else if (isReadable(context.file, tensor)) {
    context.report.inline_weights.push_back(
        {tensor.name(), littleEndianBytes(tensor)});
  }
  nn::AdapterAttr adapter;
  if (const AdapterWish *wish = parameter.adapter) {
    adapter = nn::AdapterAttr::get(
        mlir, builder.getStringAttr(wish->pattern), wish->rank,
        builder.getF64FloatAttr(context.options.lora_alpha),
        /*transposed=*/false); // nn-add-adapters finds out
  }
  int32_t type = tensor.data_type();
  bool widened = context.constants.computedType(type) != type;
  return builder.getDictionaryAttr(builder.getNamedAttr(
      nn::kParameterAttr,
      nn::ParameterAttr::get(mlir, builder.getStringAttr(tensor.name()),
                             builder.getStringAttr(parameter.module),
                             parameter.trainable, parameter.init, source,
                             widened ? elementTypeOf(mlir, type) : Type(),
                             adapter)));
}

/// Erases parameters that no value uses; they follow the inputs.
void Arguments::finishParameters(SmallVector<Attribute> &attributes) {
  size_t argument = signatures.size();
  for (const Parameter &parameter : parameters) {
    const std::string &name = parameter.tensor->name();
    if (!context.body->getArgument(argument).use_empty()) {
      ++argument;
      attributes.push_back(attributeOf(parameter));
      context.report.parameters.push_back(
          {name, parameter.trainable, parameter.reason});
      continue;
    }
    if (parameter.trainable) {
      context.report.warnings.push_back(absl::StrCat(
          "parameter '", name, "' is used by no value of the program"));
    }
    context.body->eraseArgument(argument);
  }
}

/// Notes weights that are not there, of the parameters with these attributes.
void Arguments::noteFiles(ArrayRef<Attribute> attributes) const {
  ImportReport &report = context.report;
  report.notes.insert(report.notes.end(), context.file.notes.begin(),
                      context.file.notes.end());
  for (std::string &note : externalNotes(context.file)) {
    report.notes.push_back(std::move(note));
  }
  std::set<std::string> files;
  std::vector<std::string> absent, constants;
  for (Attribute attribute : attributes) {
    auto parameter = cast<DictionaryAttr>(attribute).getAs<nn::ParameterAttr>(
        nn::kParameterAttr);
    if (parameter && parameter.getSource()) {
      files.insert(parameter.getSource().getFile().str());
    } else if (parameter &&
               !isReadable(context.file, *context.graph.initializers.at(
                                             parameter.getName().str()))) {
      absent.push_back("'" + parameter.getName().str() + "'");
    }
  }
  for (const std::string &name : files) {
    if (access((context.file.folder + name).c_str(), F_OK) != 0) {
      report.notes.push_back(absl::StrCat(
          "the weights file '", name,
          "' is not beside the model: to train, put it there, or give "
          "--load-weights or --init-missing"));
    }
  }
  if (!absent.empty()) {
    report.notes.push_back(
        absl::StrCat("the model has no values of ", listOf(absent),
                     ": to train, give --load-weights or --init-missing"));
  }
  for (const Parameter &parameter : parameters) {
    if (parameter.reason == kUnreadableConstant) {
      constants.push_back("'" + parameter.tensor->name() + "'");
    }
  }
  if (!constants.empty()) {
    // --init-missing makes initial weights, which they are not.
    report.warnings.push_back(absl::StrCat(
        "no file has the values of ", listOf(constants),
        ", constants that are not trained: to train, give them by "
        "--load-weights; --init-missing would make others, with which the "
        "model computes something else"));
  }
}

SmallVector<Attribute> Arguments::finish() {
  SmallVector<Attribute> attributes;
  finishInputs(attributes);
  finishParameters(attributes);
  noteFiles(attributes);
  return attributes;
}

} // namespace zerograph::frontend
