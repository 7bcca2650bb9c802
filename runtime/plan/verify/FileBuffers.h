//===- FileBuffers.h - states on their way from a file and back -----------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_VERIFY_FILEBUFFERS_H
#define ZEROGRAPH_RUNTIME_PLAN_VERIFY_FILEBUFFERS_H

#include "runtime/plan/ByteMap.h"
#include "runtime/plan/Mesh.h"

#include <map>

namespace zerograph::verify {

/// Tracks, in one program, whose steps are told in issue order, what its
/// buffers hold that was read from a file, or is made to be written to one, and
/// which bytes of it are updated.
class FileBuffers {
public:
  explicit FileBuffers(const Mesh &mesh) : mesh(&mesh) {}

  /// A step reads the bytes of `from`, of a file, to those of `to`.
  void read(const plan::Access &from, const plan::Access &to) {
    buffers[to.slice()] = {&from, &to, {}};
  }
  /// A slice holds what is made for a file.
  void make(uint32_t slice) { buffers[slice]; }
  /// Returns whether the slice holds what was read, or is made for a file.
  bool holds(uint32_t slice) const { return buffers.count(slice) != 0; }
  /// Another step has written bytes of a slice that holds something.
  void update(const plan::Access &access) {
    ByteMap<bool> &updated = buffers.at(access.slice()).updated;
    visitRanks(access, [&](uint64_t begin, uint64_t end) {
      updated.assign(begin, end, true);
    });
  }
  /// Returns whether what lies at `from` may be written to `to`: it is all that
  /// was read from just there, or nothing was read to its buffer.
  bool mayReplace(const plan::Access &from, const plan::Access &to) const {
    auto found = buffers.find(from.slice());
    if (found == buffers.end()) {
      return false;
    }
    const Buffer &buffer = found->second;
    return !buffer.from ||
           (sameBytes(*buffer.to, from) && sameBytes(*buffer.from, to));
  }
  bool isUpdated(const plan::Access &access) const {
    bool all = true;
    const ByteMap<bool> &updated = buffers.at(access.slice()).updated;
    visitRanks(access, [&](uint64_t begin, uint64_t end) {
      all = all && !updated.firstGap(begin, end);
    });
    return all;
  }

private:
  struct Buffer {
    const plan::Access *from = nullptr, *to = nullptr;
    ByteMap<bool> updated;
  };

  bool sameBytes(const plan::Access &a, const plan::Access &b) const {
    return a.slice() == b.slice() && a.offset() == b.offset() &&
           a.bytes() == b.bytes() && mesh->strides(a) == mesh->strides(b);
  }
  template <typename Visit>
  void visitRanks(const plan::Access &access, const Visit &visit) const {
    mesh->visitRanks(access.offset(), access.bytes(), mesh->strides(access),
                     visit);
  }

  const Mesh *mesh;
  std::map<uint32_t, Buffer> buffers; // by slice
};

} // namespace zerograph::verify

#endif // ZEROGRAPH_RUNTIME_PLAN_VERIFY_FILEBUFFERS_H
