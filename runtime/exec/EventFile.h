//===- EventFile.h - numbers of a run for TensorBoard ---------------------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_EVENTFILE_H
#define ZEROGRAPH_RUNTIME_EXEC_EVENTFILE_H

#include "runtime/base/Status.h"

#include "absl/types/span.h"

#include <cstdio>
#include <memory>
#include <string>

namespace zerograph {

/// A number of a step and its name.
struct NamedNumber {
  std::string name;
  double value;
};

/// Returns the CRC-32C (Castagnoli) of `bytes`, as TFRecord files mask it:
/// rotated, so that the sum of bytes that hold a sum is still a check.
uint32_t maskedCrc32c(absl::string_view bytes);

/// A file of events in a folder, which may hold those of other runs too. One
/// that gets no event is removed.
class EventFile {
public:
  /// Makes the folder if it is not there.
  static absl::StatusOr<std::unique_ptr<EventFile>>
  open(const std::string &folder);
  ~EventFile();

  /// Adds all numbers of a step. They are in the file when this returns.
  absl::Status add(uint64_t step, absl::Span<const NamedNumber> numbers);

private:
  EventFile() = default;
  absl::Status write(const std::string &event);

  std::string folder, path;
  std::FILE *file = nullptr;
  bool created = false; // the folder
  bool started = false; // an event is there
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_EVENTFILE_H
