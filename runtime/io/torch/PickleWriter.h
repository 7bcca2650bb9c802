//===- PickleWriter.h - values as a pickle that torch.load reads ----------===//

#ifndef ZEROGRAPH_RUNTIME_IO_TORCH_PICKLEWRITER_H
#define ZEROGRAPH_RUNTIME_IO_TORCH_PICKLEWRITER_H

#include "runtime/plan/Describe.h"

#include "absl/strings/string_view.h"

#include <cstdint>
#include <string>
#include <vector>

namespace zerograph {

/// Writes one value in protocol 2, part by part: of a dictionary each key
/// before its value. Who calls it sees to it that it is a value; torch.load
/// takes it with weights_only=True.
class PickleWriter {
public:
  PickleWriter();

  void beginDictionary();
  void endDictionary();
  void beginList();
  void endList();
  void text(absl::string_view text);
  void integer(int64_t value);
  /// A tensor with a storage of its own. Its shape fits its type. Gives the
  /// number of the storage.
  size_t tensor(plan::ElementType type, const std::vector<uint64_t> &shape);

  /// Ends the pickle; of the storages, the bytes.
  std::string finish();
  const std::vector<uint64_t> &storages() const { return storage_bytes; }

private:
  void op(uint8_t opcode);
  void global(absl::string_view name);
  void tuple(const std::vector<uint64_t> &numbers);

  std::string bytes;
  std::vector<uint64_t> storage_bytes;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_IO_TORCH_PICKLEWRITER_H
