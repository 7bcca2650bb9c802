//===- CopiedSums.cpp - sums of gradients that are added to elsewhere -----===//

#include "runtime/plan/verify/CopiedSums.h"

#include "runtime/plan/steps/Step.h"

#include <utility>
#include <vector>

namespace zerograph::verify {

/// Nothing, unless the bytes are of one sum and lie in a row there.
std::optional<CopiedSums::Part>
CopiedSums::partOfCopy(const plan::Access &access) const {
  auto buffer = copies.find(access.slice());
  if (buffer == copies.end() || access.strides_size() != 0) {
    return std::nullopt;
  }
  uint64_t begin = access.offset(), end = begin + access.bytes();
  std::optional<Piece> one;
  bool same = !buffer->second.firstGap(begin, end);
  buffer->second.visit(begin, end, [&](uint64_t, uint64_t, const Piece &piece) {
    one = one ? one : piece;
    same &= one->sum == piece.sum && one->shift == piece.shift &&
            one->added == piece.added;
  });
  return one && same ? std::optional<Part>(
                           {one->sum, uint64_t(int64_t(begin) + one->shift),
                            one->added})
                     : std::nullopt;
}

std::optional<CopiedSums::Part>
CopiedSums::partOf(const plan::Access &access) const {
  return sums.count(access.slice()) != 0 ? Part{access.slice(), access.offset()}
                                         : partOfCopy(access);
}

/// The bytes that the step copies to its access `index`, or adds to.
std::optional<CopiedSums::Part> CopiedSums::madeFrom(const plan::Step &step,
                                                     int index) const {
  if (int from = kindOf(step).copied(index); from >= 0) {
    return partOf(step.accesses(from));
  }
  const plan::Access &made = step.accesses(index);
  std::optional<Part> from;
  for (int i = 0; i < step.accesses_size() && !from; ++i) {
    std::optional<Part> part = partRead(step, i);
    bool fits = part && own.count(part->sum) != 0 &&
                step.accesses(i).bytes() == made.bytes() &&
                (sums.count(made.slice()) == 0 || part->sum == made.slice());
    from = fits ? part : std::nullopt;
  }
  for (int i = 0; from && i < step.accesses_size(); ++i) {
    std::optional<Part> part = partRead(step, i);
    from->added |= effectOf(step, i).reads && !(part && part->sum == from->sum);
  }
  return from;
}

std::optional<CopiedSums::Part> CopiedSums::partRead(const plan::Step &step,
                                                     int index) const {
  return effectOf(step, index).reads ? partOf(step.accesses(index))
                                     : std::nullopt;
}

/// Forgets what was copied of bytes that are written now.
void CopiedSums::forget(const plan::Access &sum) {
  uint64_t first = sum.offset(), last = first + sum.bytes();
  for (auto &[slice, buffer] : copies) {
    std::vector<std::pair<uint64_t, uint64_t>> old;
    buffer.visit(0, ~uint64_t(0),
                 [&](uint64_t begin, uint64_t end, const Piece &piece) {
                   int64_t at = int64_t(begin) + piece.shift;
                   if (piece.sum == sum.slice() && at < int64_t(last) &&
                       at + int64_t(end - begin) > int64_t(first)) {
                     old.emplace_back(begin, end);
                   }
                 });
    for (auto [begin, end] : old) {
      buffer.erase(begin, end);
    }
  }
}

bool CopiedSums::goesBack(const plan::Step &step, int index) const {
  const plan::Access &access = step.accesses(index);
  std::optional<Part> part = madeFrom(step, index);
  return part && part->added && part->sum == access.slice() &&
         part->offset == access.offset();
}

void CopiedSums::setCopy(const plan::Access &access,
                         const std::optional<Part> &part) {
  uint64_t begin = access.offset(), end = begin + access.bytes();
  ByteMap<Piece> &buffer = copies[access.slice()];
  if (access.strides_size() != 0) {
    buffer.clear(); // each rank writes elsewhere
  } else if (part) {
    buffer.assign(
        begin, end,
        {part->sum, int64_t(part->offset) - int64_t(begin), part->added});
  } else {
    buffer.erase(begin, end);
  }
}

bool CopiedSums::reduce(const plan::Access &shard, int s) {
  std::optional<Part> part = partOf(shard);
  if (part && sums.count(shard.slice()) == 0) {
    part->added = true;
    setCopy(shard, part);
    away[part->sum].assign(part->offset, part->offset + shard.bytes(), s);
  }
  return part.has_value();
}

bool CopiedSums::follow(const plan::Step &step, int s) {
  if (step.has_reduce_scatter()) {
    return !step.reduce_scatter().accumulate() || reduce(step.accesses(1), s);
  }
  std::set<uint32_t> written; // sums
  std::vector<int> returned;  // accesses to them
  for (int i = 0; i < step.accesses_size(); ++i) {
    const plan::Access &access = step.accesses(i);
    if (effectOf(step, i).writes && sums.count(access.slice()) != 0) {
      written.insert(access.slice());
      returned.push_back(i);
      if (goesBack(step, i)) {
        away[access.slice()].erase(access.offset(),
                                   access.offset() + access.bytes());
      }
    }
  }
  for (int i = 0; i < step.accesses_size(); ++i) {
    const plan::Access &access = step.accesses(i);
    if (!effectOf(step, i).writes || sums.count(access.slice()) != 0) {
      continue;
    }
    std::optional<Part> part = madeFrom(step, i);
    setCopy(access, part);
    if (part && part->added && !step.has_copy() &&
        written.count(part->sum) == 0) {
      away[part->sum].assign(part->offset, part->offset + access.bytes(), s);
    }
  }
  for (int i : returned) {
    forget(step.accesses(i));
  }
  return true;
}

} // namespace zerograph::verify
