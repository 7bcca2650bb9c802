//===- ZeroBytes.h - bytes that a program has made zero -------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_VERIFY_ZEROBYTES_H
#define ZEROGRAPH_RUNTIME_PLAN_VERIFY_ZEROBYTES_H

#include "runtime/plan/ByteMap.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/steps/Step.h"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace zerograph::verify {

/// Which bytes of slices are zero at this point of a program. Zeros are what a
/// step writes that reads nothing, or copies from such bytes.
class ZeroBytes {
public:
  explicit ZeroBytes(const Mesh &mesh) : mesh(mesh) {}

  /// True if all that the step writes is zero.
  bool madeBy(const plan::Step &step) const {
    bool reads = false;
    for (int i = 0; i < step.accesses_size(); ++i) {
      if (int from = kindOf(step).copied(i); from >= 0) {
        return holds(step.accesses(from));
      }
      reads |= effectOf(step, i).reads;
    }
    return !reads;
  }

  /// Returns whether an access, on any rank, touches zeros.
  bool touches(const plan::Access &access) const {
    auto it = bytes.find(access.slice());
    bool found = false;
    visitRanks(access, [&](uint64_t begin, uint64_t end) {
      found |= it != bytes.end() && it->second.touches(begin, end);
    });
    return found;
  }

  /// Says whether what an access writes on all ranks is zero from now on.
  void set(const plan::Access &access, bool zero) {
    visitRanks(access, [&](uint64_t begin, uint64_t end) {
      zero ? bytes[access.slice()].assign(begin, end, true)
           : bytes[access.slice()].erase(begin, end);
    });
  }

  /// The first bytes of a slice that are not zero.
  std::optional<std::pair<uint64_t, uint64_t>> firstOther(uint32_t slice,
                                                          uint64_t size) {
    return bytes[slice].firstGap(0, size);
  }

  void clear() { bytes.clear(); }

private:
  bool holds(const plan::Access &access) const {
    auto it = bytes.find(access.slice());
    bool zero = it != bytes.end();
    visitRanks(access, [&](uint64_t begin, uint64_t end) {
      zero = zero && !it->second.firstGap(begin, end);
    });
    return zero;
  }

  template <typename Visit>
  void visitRanks(const plan::Access &access, Visit visit) const {
    mesh.visitRanks(access.offset(), access.bytes(), mesh.strides(access),
                    visit);
  }

  const Mesh &mesh;
  std::map<uint32_t, ByteMap<bool>> bytes; // by slice
};

} // namespace zerograph::verify

#endif // ZEROGRAPH_RUNTIME_PLAN_VERIFY_ZEROBYTES_H
