//===- CopiedSums.h - sums of gradients that are added to elsewhere -------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_VERIFY_COPIEDSUMS_H
#define ZEROGRAPH_RUNTIME_PLAN_VERIFY_COPIEDSUMS_H

#include "runtime/plan/ByteMap.h"
#include "runtime/plan/plan.pb.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>

namespace zerograph::verify {

/// The host, or the rank's file, may keep the sum of gradients over
/// micro-batches: then it is copied to a buffer, something is added there, and
/// it goes back. Follows the steps of a micro-batch, in issue order, and says
/// which bytes of a sum each buffer holds.
class CopiedSums {
public:
  /// `sums`: slices that are carried, each with its unit. `own`: of them, those
  /// that the rank adds to by any step, not by reductions alone.
  CopiedSums(const std::map<uint32_t, int> &sums, const std::set<uint32_t> &own)
      : sums(sums), own(own) {}

  /// Returns whether access `index` of the step writes bytes of a sum, made of
  /// the same bytes and of something else.
  bool goesBack(const plan::Step &step, int index) const;

  /// Takes in what the step does, which has number `s`. False if it adds
  /// gradients to what is no sum.
  bool follow(const plan::Step &step, int s);

  /// Calls visit(sum, step) for what the step added to a copy of the sum, and
  /// never went back.
  template <typename Visit>
  void visitAway(Visit visit) const {
    for (const auto &of : away) {
      of.second.visit(0, ~uint64_t(0), [&](uint64_t, uint64_t, int step) {
        visit(of.first, step);
      });
    }
  }

private:
  /// Bytes of a sum that lie in a row.
  struct Part {
    uint32_t sum = 0; // the slice that is carried
    uint64_t offset = 0;
    bool added = false; // to them, since the micro-batch began
  };
  /// Likewise, from each byte of a buffer on.
  struct Piece {
    uint32_t sum;
    int64_t shift; // from a byte of the buffer to that of the sum
    bool added;
  };

  std::optional<Part> partOf(const plan::Access &access) const;
  std::optional<Part> partOfCopy(const plan::Access &access) const;
  std::optional<Part> partRead(const plan::Step &step, int index) const;
  std::optional<Part> madeFrom(const plan::Step &step, int index) const;
  void setCopy(const plan::Access &access, const std::optional<Part> &part);
  bool reduce(const plan::Access &shard, int s);
  void forget(const plan::Access &sum);

  const std::map<uint32_t, int> &sums;
  const std::set<uint32_t> &own;
  std::map<uint32_t, ByteMap<Piece>> copies; // by buffer
  std::map<uint32_t, ByteMap<int>> away;     // by sum: which step added
};

} // namespace zerograph::verify

#endif // ZEROGRAPH_RUNTIME_PLAN_VERIFY_COPIEDSUMS_H
