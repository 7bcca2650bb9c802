//===- TorchFile.cpp - a file that torch.save wrote -----------------------===//

#include "runtime/io/torch/TorchFile.h"

#include "runtime/io/torch/TorchNames.h"

#include "absl/strings/match.h"
#include "absl/strings/strip.h"

using namespace zerograph;
using namespace zerograph::torch_file;
using Kind = PickleValue::Kind;

namespace {

/// Far more than the names of any model; a pickle is read into memory.
constexpr uint64_t kLargestPickle = 64 << 20;

std::set<std::string> withTensors(std::set<std::string> classes) {
  classes.insert({kTensor, kParameter, kSize, kOrderedDictionary});
  for (const Storage &storage : kStorages) {
    classes.insert(storage.name);
  }
  return classes;
}

/// The natural numbers of a tuple or a torch.Size; false if it is none.
bool numbersOf(const PickleValue *value, std::vector<uint64_t> &numbers) {
  if (value && value->kind == Kind::Object && value->text == kSize) {
    value = value->arguments->at(0);
  }
  if (!value || value->kind != Kind::Tuple) {
    return false;
  }
  for (const PickleValue *item : value->items) {
    if (item->kind != Kind::Integer || item->integer < 0) {
      return false;
    }
    numbers.push_back(uint64_t(item->integer));
  }
  return true;
}

/// Returns whether elements follow one another, row by row. Strides of dims of
/// one element do not matter.
bool isPlain(const std::vector<uint64_t> &shape,
             const std::vector<uint64_t> &strides) {
  uint64_t expected = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1 && strides[i] != expected) {
      return false;
    }
    expected *= shape[i]; // of a shape whose size fits
  }
  return true;
}

} // namespace

absl::Status TorchFile::bad(const std::string &name,
                            const std::string &what) const {
  return absl::InvalidArgumentError(
      absl::StrCat(path(), ": '", name, "' ", what));
}

absl::StatusOr<std::unique_ptr<TorchFile>>
TorchFile::open(const std::string &path, std::set<std::string> classes) {
  std::unique_ptr<TorchFile> made(new TorchFile);
  ZG_ASSIGN_OR_RETURN(made->file, File::openForReading(path));
  ZG_ASSIGN_OR_RETURN(made->entries, readZip(*made->file));
  ZipEntry pickled;
  for (const auto &[name, entry] : made->entries) {
    absl::string_view rest = name;
    if (absl::ConsumeSuffix(&rest, "/data.pkl") &&
        !absl::StrContains(rest, '/')) {
      made->folder = std::string(rest);
      pickled = entry;
    }
  }
  if (pickled.bytes == 0 || pickled.bytes > kLargestPickle) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": torch.save did not write it: it has no data.pkl of at most ",
        kLargestPickle, " bytes"));
  }
  if (auto order = made->entries.find(made->folder + "/byteorder");
      order != made->entries.end()) {
    std::string text(std::min<uint64_t>(order->second.bytes, 16), '\0');
    ZG_RETURN_IF_ERROR(
        made->file->read(order->second.offset, text.size(), text.data()));
    if (text != "little") {
      return absl::InvalidArgumentError(absl::StrCat(
          path, ": its byte order is '", text, "', expected 'little'"));
    }
  }
  std::string bytes(pickled.bytes, '\0');
  ZG_RETURN_IF_ERROR(
      made->file->read(pickled.offset, bytes.size(), bytes.data()));
  ZG_ASSIGN_OR_RETURN(made->pickle,
                      Pickle::parse(path, pickled.offset, bytes,
                                    withTensors(std::move(classes))));
  return made;
}

bool TorchFile::isTensor(const PickleValue &value) {
  return value.kind == Kind::Object &&
         (value.text == kTensor || value.text == kParameter);
}

/// Returns, for ('storage', torch.FloatStorage, '0', 'cpu', 12), the bytes and
/// the type.
absl::StatusOr<ZipEntry> TorchFile::storage(const PickleValue &id,
                                            plan::ElementType &type,
                                            const std::string &name) const {
  const PickleValue *what = id.arguments->at(0);
  const PickleValue *kind = id.arguments->at(1);
  const PickleValue *key = id.arguments->at(2);
  const PickleValue *count = id.arguments->at(4);
  if (!count || what->text != "storage" || kind->kind != Kind::Global ||
      key->kind != Kind::Text || count->kind != Kind::Integer ||
      count->integer < 0) {
    return bad(name, "is a part of what is no storage");
  }
  type = plan::ELEMENT_INVALID;
  for (const Storage &storage : kStorages) {
    if (kind->text == storage.name) {
      type = storage.type;
    }
  }
  auto found = entries.find(absl::StrCat(folder, "/data/", key->text));
  if (type == plan::ELEMENT_INVALID || found == entries.end()) {
    return bad(name, absl::StrCat("is a part of the ", kind->text, " '",
                                  key->text, "', which is not in the file"));
  }
  uint64_t bytes = 0;
  if (!byteCount({uint64_t(count->integer)}, elementSize(type), bytes) ||
      bytes != found->second.bytes) {
    return bad(name, absl::StrCat("is a part of ", count->integer,
                                  " elements of ", kind->text, ", which has ",
                                  found->second.bytes, " bytes"));
  }
  return found->second;
}

absl::StatusOr<TensorExtent> TorchFile::tensor(const PickleValue &value,
                                               const std::string &name) const {
  const PickleValue *made = &value;
  if (made->kind == Kind::Object && made->text == kParameter) {
    made = made->arguments->at(0);
  }
  if (!made || made->kind != Kind::Object || made->text != kTensor) {
    return bad(name, absl::StrCat("is ", made ? made->describe() : "nothing",
                                  ", expected a tensor"));
  }
  const PickleValue *id = made->arguments->at(0);
  const PickleValue *first = made->arguments->at(1);
  TensorExtent extent;
  std::vector<uint64_t> strides;
  if (!first || id->kind != Kind::Persistent || first->kind != Kind::Integer ||
      first->integer < 0 || !numbersOf(made->arguments->at(2), extent.shape) ||
      !numbersOf(made->arguments->at(3), strides) ||
      strides.size() != extent.shape.size()) {
    return bad(name, "is no tensor: its storage, offset, shape or strides are "
                     "not what they should be");
  }
  ZG_ASSIGN_OR_RETURN(ZipEntry stored, storage(*id, extent.type, name));
  uint64_t element = elementSize(extent.type);
  uint64_t begin = uint64_t(first->integer), all = stored.bytes / element;
  if (!byteCount(extent.shape, element, extent.bytes) || begin > all ||
      extent.bytes / element > all - begin) {
    return bad(name, absl::StrCat("has the shape ", shapeText(extent.shape),
                                  " from element ", begin,
                                  " on, of a storage of ", all));
  }
  if (extent.bytes != 0 && !isPlain(extent.shape, strides)) {
    return bad(name, absl::StrCat("is a view of other elements: its strides "
                                  "are ",
                                  shapeText(strides), " for the shape ",
                                  shapeText(extent.shape),
                                  ". Save tensor.contiguous() instead"));
  }
  extent.file = file;
  extent.offset = stored.offset + begin * element;
  return extent;
}

absl::StatusOr<TensorFile> zerograph::readTorch(const std::string &path) {
  ZG_ASSIGN_OR_RETURN(std::unique_ptr<TorchFile> file, TorchFile::open(path));
  const PickleValue &root = file->root();
  if (!root.isMapping()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": it holds ", root.describe(),
                     ", expected a state_dict, or another dictionary of "
                     "tensors by name"));
  }
  TensorFile tensors;
  for (size_t i = 0; i < root.items.size(); i += 2) {
    const PickleValue &key = *root.items[i];
    if (key.kind != Kind::Text) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": ", key.describe(), " is no name of a tensor"));
    }
    ZG_ASSIGN_OR_RETURN(tensors[key.text],
                        file->tensor(*root.items[i + 1], key.text));
  }
  return tensors;
}
