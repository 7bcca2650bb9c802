//===- PickleWriter.cpp - values as a pickle that torch.load reads --------===//

#include "runtime/io/torch/PickleWriter.h"

#include "runtime/io/TensorFile.h"
#include "runtime/io/torch/LittleEndian.h"
#include "runtime/io/torch/Opcodes.h"
#include "runtime/io/torch/Pickle.h"
#include "runtime/io/torch/TorchNames.h"

#include <algorithm>

using namespace zerograph;
using namespace zerograph::torch_file;

PickleWriter::PickleWriter() {
  op(pickle::kProtocol);
  op(pickle::kProtocolNumber);
}

void PickleWriter::op(uint8_t opcode) { bytes.push_back(char(opcode)); }

void PickleWriter::beginDictionary() {
  op(pickle::kEmptyDictionary);
  op(pickle::kMark);
}
void PickleWriter::endDictionary() { op(pickle::kSetItems); }

void PickleWriter::beginList() {
  op(pickle::kEmptyList);
  op(pickle::kMark);
}
void PickleWriter::endList() { op(pickle::kAppends); }

void PickleWriter::text(absl::string_view text) {
  op(pickle::kBinUnicode);
  appendLittleEndian(bytes, text.size(), 4);
  bytes.append(text.data(), text.size());
}

void PickleWriter::integer(int64_t value) {
  if (value >= INT32_MIN && value <= INT32_MAX) {
    op(pickle::kBinInt);
    appendLittleEndian(bytes, uint64_t(value), 4);
  } else {
    op(pickle::kLong1);
    op(8);
    appendLittleEndian(bytes, uint64_t(value), 8);
  }
}

/// "module.name".
void PickleWriter::global(absl::string_view name) {
  size_t dot = name.rfind('.');
  op(pickle::kGlobal);
  absl::StrAppend(&bytes, name.substr(0, dot), "\n", name.substr(dot + 1),
                  "\n");
}

void PickleWriter::tuple(const std::vector<uint64_t> &numbers) {
  op(pickle::kMark);
  for (uint64_t number : numbers) {
    integer(int64_t(number));
  }
  op(pickle::kTuple);
}

size_t PickleWriter::tensor(plan::ElementType type,
                            const std::vector<uint64_t> &shape) {
  std::vector<uint64_t> strides(shape.size());
  uint64_t elements = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = elements;
    elements *= shape[i];
  }
  size_t number = storage_bytes.size();
  storage_bytes.push_back(elements * elementSize(type));
  const auto *storage =
      std::find_if(std::begin(kStorages), std::end(kStorages),
                   [&](const Storage &own) { return own.type == type; });

  global(kTensor);
  op(pickle::kMark);
  op(pickle::kMark);
  text("storage");
  global(storage->name);
  text(absl::StrCat(number));
  text("cpu");
  integer(int64_t(elements));
  op(pickle::kTuple);
  op(pickle::kBinPersistent);
  integer(0);
  tuple(shape);
  tuple(strides);
  op(pickle::kFalse);         // requires_grad
  global(kOrderedDictionary); // hooks
  op(pickle::kEmptyTuple);
  op(pickle::kReduce);
  op(pickle::kTuple);
  op(pickle::kReduce);
  return number;
}

std::string PickleWriter::finish() {
  op(pickle::kStop);
  return std::move(bytes);
}
