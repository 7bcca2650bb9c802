//===- Staging.h - inputs and scalars on their way to a program -----------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_STAGING_H
#define ZEROGRAPH_RUNTIME_EXEC_STAGING_H

#include "runtime/exec/Scalars.h"
#include "runtime/state/Layout.h"

#include "absl/functional/function_ref.h"

namespace zerograph {

/// The slots of one program: what it copies in is written into one of them, in
/// turn.
class Staging {
public:
  /// Returns where all of number `input` of the plan's inputs lies, as `bytes`
  /// bytes: where the caller has it, or `room`, once it is read there.
  using FindInput = absl::FunctionRef<absl::StatusOr<const std::byte *>(
      int input, std::byte *room, uint64_t bytes)>;

  /// Fills the slots with zero bytes. The plan is verified, and outlives the
  /// staging.
  static absl::StatusOr<Staging>
  create(const plan::Plan &plan, unsigned program, const RankMemory &memory);

  /// Writes the inputs of the program's next run into the slot that is free; it
  /// may be running meanwhile. Nothing is read where it copies none in.
  absl::Status read(FindInput find);
  /// Writes scalars beside the inputs that were read last, and returns the
  /// slot, which the program's next run is to be given. Nothing is written
  /// where the program copies nothing in.
  absl::StatusOr<unsigned> write(const ScalarInputs &scalars);

private:
  explicit Staging(const plan::Plan &plan) : plan(&plan) {}

  struct InputPart {
    int input;
    uint64_t offset, bytes;
  };
  struct ScalarPart {
    const plan::Scalar *scalar;
    uint64_t offset, bytes;
  };

  const plan::Plan *plan;
  std::vector<InputPart> inputs;
  std::vector<ScalarPart> scalars;
  std::vector<DeviceRange> slots; // two, or none
  std::vector<std::byte> room;    // for the largest part
  unsigned turn = 0;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_STAGING_H
