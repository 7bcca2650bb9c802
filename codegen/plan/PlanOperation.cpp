//===- PlanOperation.cpp - what a step does, as the plan has it -----------===//
//
// Ops of sched say what the plan's messages say, by the same names. So there is
// no case a kind of step here: the message is written through its description.
//
//===----------------------------------------------------------------------===//

#include "codegen/plan/PlanParts.h"
#include "codegen/plan/PlanTypes.h"

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::zg;
namespace plan = zerograph::plan;

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

namespace {

/// Returns whether all steps, or all collectives, have the attribute:
/// `plan::Step` itself says it.
bool isCommon(StringRef attribute) {
  return llvm::is_contained({"accesses", "group", "label",
                             "operandSegmentSizes", "reason", "sequence",
                             "stream"},
                            attribute);
}

/// An attribute's numbers: one, or those of an array. A type's is the plan's, a
/// kernel's its position, a flag's 1.
FailureOr<SmallVector<int64_t>> numbersOf(Attribute attribute,
                                          const PlanIndex &index) {
  if (auto array = dyn_cast<DenseI64ArrayAttr>(attribute)) {
    return SmallVector<int64_t>(array.asArrayRef());
  }
  if (auto integer = dyn_cast<IntegerAttr>(attribute)) {
    return SmallVector<int64_t>{integer.getInt()};
  }
  if (auto type = dyn_cast<TypeAttr>(attribute)) {
    return SmallVector<int64_t>{planType(type.getValue())};
  }
  if (auto kernel = dyn_cast<FlatSymbolRefAttr>(attribute)) {
    return SmallVector<int64_t>{index.kernels.lookup(kernel.getValue())};
  }
  if (isa<UnitAttr>(attribute)) {
    return SmallVector<int64_t>{1};
  }
  return failure();
}

/// Adds a number to a repeated field, or sets the one of another. False where
/// the field holds no numbers.
bool write(int64_t value, const FieldDescriptor *field, Message &message) {
  const google::protobuf::Reflection &to = *message.GetReflection();
  bool many = field->is_repeated();
  switch (field->cpp_type()) {
  case FieldDescriptor::CPPTYPE_INT32:
    many ? to.AddInt32(&message, field, int32_t(value))
         : to.SetInt32(&message, field, int32_t(value));
    return true;
  case FieldDescriptor::CPPTYPE_UINT32:
    many ? to.AddUInt32(&message, field, uint32_t(value))
         : to.SetUInt32(&message, field, uint32_t(value));
    return true;
  case FieldDescriptor::CPPTYPE_UINT64:
    many ? to.AddUInt64(&message, field, uint64_t(value))
         : to.SetUInt64(&message, field, uint64_t(value));
    return true;
  case FieldDescriptor::CPPTYPE_BOOL:
    to.SetBool(&message, field, value != 0);
    return true;
  case FieldDescriptor::CPPTYPE_ENUM:
    to.SetEnumValue(&message, field, int(value));
    return true;
  default:
    return false;
  }
}

/// The device asks for convolutions before there are steps of them, in the
/// plan's terms: that conversion is used again.
void writeConvolution(sched::ConvolutionOp op, plan::Step &step) {
  *step.mutable_convolution() = planConvolution(nn::Convolution(
      op.getKind(), op.getLhs(), op.getRhs(), op.getResult(), op.getStrides(),
      op.getLow(), op.getDilations(), op.getGroups()));
}

} // namespace

std::string mlir::zg::differenceTo(const Descriptor &message,
                                   ArrayRef<StringAttr> attributes) {
  llvm::StringSet<> names;
  for (StringAttr attribute : attributes) {
    if (!isCommon(attribute)) {
      names.insert(attribute);
      if (!message.FindFieldByName(attribute.str())) {
        return "attribute '" + attribute.str() + "' is no field of " +
               message.full_name();
      }
    }
  }
  for (int i = 0; i < message.field_count(); ++i) {
    if (!names.contains(message.field(i)->name())) {
      return "no attribute is field '" + message.field(i)->name() + "' of " +
             message.full_name();
    }
  }
  return "";
}

LogicalResult mlir::zg::writeOperation(sched::Step op, const PlanIndex &index,
                                       plan::Step &step) {
  if (auto convolution = dyn_cast<sched::ConvolutionOp>(op.getOperation())) {
    writeConvolution(convolution, step);
    return success();
  }
  std::string kind = op->getName().stripDialect().str();
  const FieldDescriptor *of = plan::Step::descriptor()->FindFieldByName(kind);
  if (!of || !of->containing_oneof()) {
    return op->emitOpError("is no kind of step of plan.proto");
  }
  ArrayRef<StringAttr> names = op->getName().getAttributeNames();
  std::string difference = differenceTo(*of->message_type(), names);
  if (!difference.empty()) {
    return op->emitOpError("is not what plan.proto has: ") << difference;
  }
  Message &message = *step.GetReflection()->MutableMessage(&step, of);
  for (StringAttr name : names) {
    Attribute attribute = op->getAttr(name);
    if (isCommon(name) || !attribute) {
      continue; // a flag that is not set
    }
    const FieldDescriptor *field =
        of->message_type()->FindFieldByName(name.str());
    auto numbers = numbersOf(attribute, index);
    bool written = succeeded(numbers) &&
                   (field->is_repeated() || numbers->size() == 1) &&
                   llvm::all_of(*numbers, [&](int64_t number) {
                     return write(number, field, message);
                   });
    if (!written) {
      return op->emitOpError("has ")
             << attribute << " for field '" << name.getValue() << "' of "
             << of->message_type()->full_name() << ", which cannot hold it";
    }
  }
  return success();
}
