//===- ValueMap.h - the values of all bytes at one point of a program -----===//
//
// Private to runtime/plan.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_VERIFY_VALUEMAP_H
#define ZEROGRAPH_RUNTIME_PLAN_VERIFY_VALUEMAP_H

#include "runtime/plan/ByteMap.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/steps/Step.h"

#include <optional>
#include <utility>
#include <vector>

namespace zerograph::verify {

/// The value of some bytes of a slice. Where each rank has made its own part of
/// what was the same on all, `part` is the access that wrote it, and `rest`
/// says how ranks differ in the parts of the others.
struct Content {
  Value value;
  const plan::Access *part = nullptr; // of the plan
  Sharing rest = Sharing::Replicated;
};

/// Maps every byte of every slice to its content. Bytes without one have the
/// default value. The plan and the mesh must outlive it.
class ValueMap {
public:
  ValueMap(const plan::Plan &plan, const Mesh &mesh)
      : plan(plan), mesh(mesh), slices(plan.slices_size()) {}

  const ByteMap<Content> &of(uint32_t slice) const { return slices[slice]; }

  void clear(uint32_t slice) { slices[slice].clear(); }
  /// Gives all of a slice this value.
  void set(uint32_t slice, const Value &value) {
    slices[slice].assign(0, plan.slices(int(slice)).bytes(), {value});
  }
  void assign(const plan::Access &access, const Content &content) {
    auto [begin, end] = reach(access);
    assign(access.slice(), begin, end, content);
  }
  void assign(uint32_t slice, uint64_t begin, uint64_t end,
              const Content &content) {
    if (content.value == Value()) {
      slices[slice].erase(begin, end);
    } else {
      slices[slice].assign(begin, end, content);
    }
  }

  /// Returns whether ranks touch different bytes.
  bool isShard(const plan::Access &access) const {
    return mesh.strides(access) != Strides{};
  }
  /// Returns the bytes from the first to the last that some rank touches; those
  /// between the parts of ranks count.
  std::pair<uint64_t, uint64_t> reach(const plan::Access &access) const {
    return {access.offset(), access.offset() +
                                 mesh.lastOffset(mesh.strides(access)) +
                                 access.bytes()};
  }
  /// Calls visit(first, last, content) for the bytes that have a content.
  template <typename Visit>
  void visit(const plan::Access &access, Visit visit) const {
    auto [begin, end] = reach(access);
    slices[access.slice()].visit(begin, end, visit);
  }
  bool touches(const plan::Access &access, Terms terms) const {
    bool found = false;
    visit(access, [&](uint64_t, uint64_t, const Content &content) {
      found |= content.value.terms == terms;
    });
    return found;
  }

  /// Joins the values of all bytes, but for their sharing.
  Value valueOf(const plan::Access &access) const {
    std::optional<Value> joined;
    auto add = [&](const Value &value) {
      joined =
          joined ? Value{Sharing::Replicated, join(joined->terms, value.terms),
                         joined->updated && value.updated}
                 : value;
    };
    auto [next, end] = reach(access);
    uint64_t reached = next;
    visit(access, [&](uint64_t first, uint64_t last, const Content &content) {
      if (first > reached) {
        add({});
      }
      add(content.value);
      reached = last;
    });
    if (reached < end) {
      add({});
    }
    return joined.value_or(Value());
  }

private:
  const plan::Plan &plan;
  const Mesh &mesh;
  std::vector<ByteMap<Content>> slices;
};

} // namespace zerograph::verify

#endif // ZEROGRAPH_RUNTIME_PLAN_VERIFY_VALUEMAP_H
