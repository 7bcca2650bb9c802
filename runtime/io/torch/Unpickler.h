//===- Unpickler.h - the machine that a pickle is written for -------------===//

#ifndef ZEROGRAPH_RUNTIME_IO_TORCH_UNPICKLER_H
#define ZEROGRAPH_RUNTIME_IO_TORCH_UNPICKLER_H

#include "runtime/base/LittleEndian.h"
#include "runtime/io/torch/Pickle.h"

#include <unordered_map>

namespace zerograph {

/// Has a stack, and values by number. An operation takes values from the stack
/// and puts what it makes of them there.
class Unpickler {
public:
  Unpickler(const std::string &path, uint64_t offset, absl::string_view bytes,
            const std::set<std::string> &globals)
      : path(path), offset(offset), bytes(bytes), globals(globals),
        pickle(new Pickle) {}

  /// All of it; once.
  absl::StatusOr<std::unique_ptr<Pickle>> run();

private:
  using Popped = absl::StatusOr<PickleValue *>;
  using Parts = std::vector<const PickleValue *>;

  absl::Status bad(const std::string &what) const {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": byte ", offset + begun, ": ", what));
  }

  absl::StatusOr<absl::string_view> take(uint64_t count);
  absl::StatusOr<uint64_t> number(size_t count) {
    ZG_ASSIGN_OR_RETURN(absl::string_view taken, take(count));
    return littleEndian(taken.data(), count);
  }
  absl::StatusOr<std::string> line();

  PickleValue *make(PickleValue::Kind kind) {
    PickleValue *value = &pickle->values.emplace_back();
    value->kind = kind;
    return value;
  }
  PickleValue *push(PickleValue::Kind kind) { return push(make(kind)); }
  PickleValue *push(PickleValue *value) {
    stack.push_back(value);
    return value;
  }

  /// Returns how much lies above the last mark, as far as there is one.
  size_t height() const {
    return stack.size() - (marks.empty() ? 0 : marks.back());
  }
  Popped pop();
  /// Pops what is to become a part of another.
  Popped popPart() {
    ZG_ASSIGN_OR_RETURN(PickleValue * value, pop());
    value->closed = true;
    return value;
  }
  absl::StatusOr<Parts> popParts(size_t count);
  absl::StatusOr<Parts> popToMark();

  absl::Status step(uint8_t opcode);
  absl::Status simple(uint8_t opcode, bool &known);
  absl::Status pushInteger(size_t count, bool is_signed);
  absl::Status pushReal();
  absl::Status pushGlobal();
  absl::Status get(size_t count);
  absl::Status put(size_t count);
  absl::Status pushTuple(Parts parts);
  absl::Status add(Parts parts, bool pairs);
  absl::Status makeObject();
  absl::Status build();

  const std::string &path;
  const uint64_t offset;
  const absl::string_view bytes;
  const std::set<std::string> &globals;
  std::unique_ptr<Pickle> pickle;
  uint64_t at = 0, begun = 0; // of the operation
  std::vector<PickleValue *> stack;
  std::vector<size_t> marks;
  std::unordered_map<uint64_t, PickleValue *> memo;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_IO_TORCH_UNPICKLER_H
