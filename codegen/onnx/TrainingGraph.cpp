//===- TrainingGraph.cpp - a program of nn as an ONNX file ----------------===//

#include "codegen/onnx/TrainingGraph.h"

#include "codegen/onnx/Forms.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/differentiate/Passes.h"
#include "runtime/base/Status.h"
#include "runtime/base/Version.h"

#include "absl/strings/str_join.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "runtime/base/Text.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::nn;
using onnx::TensorProto;
using zerograph::frontend::DataFile;
using zerograph::frontend::ExportedModel;
using zerograph::frontend::TrainedWeight;
using zerograph::frontend::TrainedWeights;

namespace {

/// More than this goes to a file of its own: an ONNX file ends at 2 GiB.
constexpr int64_t kMostEmbedded = int64_t(1) << 30;
/// So that a runtime can map the file.
constexpr int64_t kDataAlignment = 4096;

/// The type of a parameter in the model: what its bytes are.
Type ownType(Value argument, ParameterAttr parameter) {
  return parameter.getType() ? parameter.getType()
                             : getElementTypeOrSelf(argument.getType());
}

onnx::ValueInfoProto describe(const std::string &name, Type element,
                              ArrayRef<int64_t> shape) {
  onnx::ValueInfoProto info;
  info.set_name(name);
  auto &type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnxType(element));
  type.mutable_shape(); // there also of scalars
  for (int64_t size : shape) {
    type.mutable_shape()->add_dim()->set_dim_value(size);
  }
  return info;
}

class Writer {
public:
  Writer(ProgramOp program, const TrainedWeights &weights,
         const std::string &output)
      : program(program), weights(weights), graph(*model.mutable_graph()),
        builder(graph) {
    dataFile.name = llvm::StringRef(output).rsplit('/').second.str();
    if (dataFile.name.empty()) {
      dataFile.name = output;
    }
    dataFile.name += ".data";
  }

  absl::StatusOr<ExportedModel> run();

private:
  absl::Status reserveNames();
  absl::Status addParameter(BlockArgument argument, ParameterAttr parameter);
  absl::Status addArguments();
  absl::Status addOps();
  void addResults();
  std::string nameOfResult(unsigned result);
  absl::StatusOr<ExportedModel> finish();

  ProgramOp program;
  const TrainedWeights &weights;
  onnx::ModelProto model;
  onnx::GraphProto &graph;
  OnnxGraph builder;
  bool embeds = true;
  DataFile dataFile;
  std::vector<std::string> toFeed; ///< parameters without a value
};

std::string Writer::nameOfResult(unsigned result) {
  auto text = [&](StringRef attr) {
    auto name = program.getResultAttrOfType<StringAttr>(result, attr);
    return name ? name.str() : std::string();
  };
  if (std::string name = text(kGradientAttr); !name.empty()) {
    return name + kGradientSuffix;
  }
  if (std::string name = text(kNextValueAttr); !name.empty()) {
    return name + kNextSuffix;
  }
  return text(kOutputAttr);
}

/// Names that mean something: no node may have them.
absl::Status Writer::reserveNames() {
  std::vector<std::string> twice;
  auto reserve = [&](const std::string &name) {
    if (!builder.reserve(name)) {
      twice.push_back(name);
    }
  };
  for (BlockArgument argument : program.getArguments()) {
    unsigned i = argument.getArgNumber();
    if (auto input = program.getArgAttrOfType<InputAttr>(i, kInputAttr)) {
      reserve(input.getName().str());
    } else if (auto parameter =
                   program.getArgAttrOfType<ParameterAttr>(i, kParameterAttr)) {
      reserve(parameter.getName().str());
    }
  }
  for (unsigned i = 0; i < program.getNumResults(); ++i) {
    reserve(nameOfResult(i));
  }
  return twice.empty()
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat(
                   "the gradient graph would have two values named ",
                   absl::StrJoin(twice, ", "),
                   ": a gradient is named PARAMETER", kGradientSuffix,
                   ", a new running statistic PARAMETER", kNextSuffix));
}

absl::Status Writer::addParameter(BlockArgument argument,
                                  ParameterAttr parameter) {
  std::string name = parameter.getName().str();
  Type own = ownType(argument, parameter);
  auto type = cast<RankedTensorType>(argument.getType());
  *graph.add_input() = describe(name, own, type.getShape());
  auto weight = weights.find(name);
  if (weight == weights.end()) {
    toFeed.push_back(name);
  } else {
    TensorProto &tensor = *graph.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnxType(own));
    for (int64_t size : type.getShape()) {
      tensor.add_dims(size);
    }
    const TrainedWeight &value = weight->second;
    if (embeds) {
      ZG_ASSIGN_OR_RETURN(*tensor.mutable_raw_data(), value.read(value.dtype));
    } else {
      int64_t bytes = type.getNumElements() * elementBytes(own);
      dataFile.bytes = llvm::alignTo(dataFile.bytes, kDataAlignment);
      dataFile.parts.push_back({dataFile.bytes, name, value.dtype});
      tensor.set_data_location(TensorProto::EXTERNAL);
      auto add = [&](const char *key, const std::string &text) {
        auto &entry = *tensor.add_external_data();
        entry.set_key(key);
        entry.set_value(text);
      };
      add("location", dataFile.name);
      add("offset", absl::StrCat(dataFile.bytes));
      add("length", absl::StrCat(bytes));
      dataFile.bytes += bytes;
    }
  }
  builder.begin(program);
  builder.set(argument, own == type.getElementType()
                            ? name
                            : builder.convert(name, type.getElementType()));
  return absl::OkStatus();
}

absl::Status Writer::addArguments() {
  int64_t bytes = 0;
  for (BlockArgument argument : program.getArguments()) {
    auto parameter = program.getArgAttrOfType<ParameterAttr>(
        argument.getArgNumber(), kParameterAttr);
    if (parameter && weights.count(parameter.getName().str()) != 0) {
      bytes += tensorBytes(argument.getType());
    }
  }
  embeds = bytes <= kMostEmbedded;
  for (BlockArgument argument : program.getArguments()) {
    unsigned i = argument.getArgNumber();
    auto type = cast<RankedTensorType>(argument.getType());
    if (auto input = program.getArgAttrOfType<InputAttr>(i, kInputAttr)) {
      std::string name = input.getName().str();
      *graph.add_input() =
          describe(name, type.getElementType(), type.getShape());
      builder.set(argument, name);
    } else if (auto parameter =
                   program.getArgAttrOfType<ParameterAttr>(i, kParameterAttr)) {
      ZG_RETURN_IF_ERROR(addParameter(argument, parameter));
    } else {
      return absl::InternalError(
          absl::StrCat("argument ", i,
                       " of the program is neither an input "
                       "nor a parameter"));
    }
  }
  return absl::OkStatus();
}

/// Nodes that draw random numbers, once each: the backward graph draws them
/// again.
std::vector<std::string> randomNodes(Block &body) {
  std::vector<std::string> nodes;
  for (Operation &op : body) {
    if (isa<DropoutOp, RandomLikeOp>(op)) {
      std::string name = nameOf(op.getLoc());
      if (!StringRef(name).ends_with(kGradientSuffix)) {
        nodes.push_back(absl::StrCat("'", name, "'"));
      }
    }
  }
  return nodes;
}

absl::Status Writer::addOps() {
  std::vector<std::string> random = randomNodes(program.front()), problems;
  if (!random.empty()) {
    return absl::UnimplementedError(absl::StrCat(
        random.size(), random.size() == 1 ? " node draws" : " nodes draw",
        " random numbers, which are others in each runtime; --dropout 0 turns "
        "dropout off:\n  ",
        zerograph::linesOf(random)));
  }
  for (Operation &op : program.front().without_terminator()) {
    const OnnxForm *form = findForm(&op);
    if (form == nullptr) {
      problems.push_back(absl::StrCat("node '", nameOf(op.getLoc()), "' (",
                                      op.getName().getStringRef().str(), ")"));
    } else if (problems.empty()) { // else operands may have no name
      builder.begin(&op);
      form->write(&op, builder);
    }
  }
  return problems.empty()
             ? absl::OkStatus()
             : absl::UnimplementedError(absl::StrCat(
                   problems.size(),
                   problems.size() == 1 ? " op has" : " ops have",
                   " no form in ONNX:\n  ", zerograph::linesOf(problems)));
}

/// Each under a name that says what it is.
void Writer::addResults() {
  Operation *terminator = program.front().getTerminator();
  for (auto [i, result] : llvm::enumerate(terminator->getOperands())) {
    std::string name = nameOfResult(unsigned(i));
    auto type = cast<RankedTensorType>(result.getType());
    onnx::NodeProto node;
    node.set_name(name);
    node.set_op_type("Identity");
    node.add_input(builder.value(result));
    node.add_output(name);
    *graph.add_node() = node;
    *graph.add_output() =
        describe(name, type.getElementType(), type.getShape());
  }
}

absl::StatusOr<ExportedModel> Writer::finish() {
  model.set_ir_version(kOnnxIrVersion);
  model.set_producer_name(zerograph::kProducer);
  model.add_opset_import()->set_version(kOnnxOpset);
  ExportedModel exported;
  google::protobuf::io::StringOutputStream stream(&exported.bytes);
  google::protobuf::io::CodedOutputStream output(&stream);
  output.SetSerializationDeterministic(true);
  if (!model.SerializeToCodedStream(&output)) {
    return absl::InternalError("the gradient graph cannot be serialized");
  }
  output.Trim();
  if (!dataFile.parts.empty()) {
    exported.data.push_back(std::move(dataFile));
  }
  if (!toFeed.empty()) {
    size_t more = toFeed.size() - 1;
    exported.notes.push_back(absl::StrCat(
        "parameters without a value, which have to be fed: '", toFeed.front(),
        "'", more > 0 ? absl::StrCat(" and ", more, " more") : ""));
  }
  return exported;
}

absl::StatusOr<ExportedModel> Writer::run() {
  std::string name = nameOf(program->getParentOp()->getLoc());
  graph.set_name(name.empty() ? "gradients" : name); // ONNX wants one
  ZG_RETURN_IF_ERROR(reserveNames());
  ZG_RETURN_IF_ERROR(addArguments());
  ZG_RETURN_IF_ERROR(addOps());
  addResults();
  return finish();
}

} // namespace

absl::StatusOr<ExportedModel>
mlir::zg::writeTrainingGraph(ModuleOp module, const TrainedWeights &weights,
                             const std::string &output) {
  auto program = module.lookupSymbol<ProgramOp>(kMicroFunction);
  if (!program) {
    return absl::InternalError("there is no program @micro to write");
  }
  return Writer(program, weights, output).run();
}
