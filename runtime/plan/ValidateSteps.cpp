//===- ValidateSteps.cpp - the operation of a step against its accesses ---===//

#include "runtime/plan/Validate.h"

#include "runtime/base/Checked.h"
#include "runtime/plan/Describe.h"
#include "runtime/plan/Ranges.h"
#include "runtime/plan/Supported.h"

#include <array>
#include <map>

namespace zerograph {
namespace detail {
namespace {

template <typename... Args>
absl::Status invalid(const Args &...args) {
  return absl::InvalidArgumentError(absl::StrCat(args...));
}

absl::Status needAccesses(const plan::Step &step, int count) {
  if (step.accesses_size() != count) {
    return invalid("has ", step.accesses_size(), " accesses and needs ", count);
  }
  return absl::OkStatus();
}

absl::Status needMode(const plan::Step &step, int index,
                      std::initializer_list<plan::Mode> modes) {
  for (plan::Mode mode : modes) {
    if (step.accesses(index).mode() == mode) {
      return absl::OkStatus();
    }
  }
  return invalid("access ", index, " is ", nameOf(step.accesses(index).mode()),
                 " and should be ", nameOf(*modes.begin()));
}

absl::Status needApart(const plan::Plan &plan, const plan::Step &step, int a,
                       int b) {
  if (overlap(arenaRange(plan, step.accesses(a)),
              arenaRange(plan, step.accesses(b)), plan.world())) {
    return invalid("accesses ", a, " and ", b, " share bytes, to ",
                   describeSlice(plan, step.accesses(a).slice()), " and ",
                   describeSlice(plan, step.accesses(b).slice()));
  }
  return absl::OkStatus();
}

/// A shard and its segment are apart, or the shard is the rank's own part.
absl::Status needOwnPartOrApart(const plan::Plan &plan, const plan::Step &step,
                                int shard, int segment) {
  Range part = arenaRange(plan, step.accesses(shard));
  Range whole = arenaRange(plan, step.accesses(segment));
  bool own = part.arena == whole.arena && part.begin == whole.begin &&
             (plan.world() == 1 || part.stride == part.bytes);
  if (!own && overlap(part, whole, plan.world())) {
    return invalid("the shard in ",
                   describeSlice(plan, step.accesses(shard).slice()),
                   " shares bytes with its segment without being the rank's "
                   "own part of it");
  }
  return absl::OkStatus();
}

/// The parts cover C exactly once. A sum of boxes is one box exactly where
/// their corners, with signs, cancel to its corners: no pairs are compared.
bool coverOnce(const plan::Matmul &matmul) {
  std::map<std::array<uint64_t, 3>, int64_t> corners;
  auto add = [&](std::array<uint64_t, 6> box, int64_t sign) {
    for (int corner = 0; corner < 8; ++corner) {
      std::array<uint64_t, 3> at;
      int64_t weight = sign;
      for (int axis = 0; axis < 3; ++axis) {
        bool end = (corner >> axis) & 1;
        at[axis] = box[2 * axis + end];
        weight = end ? -weight : weight;
      }
      corners[at] += weight;
    }
  };
  for (const plan::MatmulPart &part : matmul.parts()) {
    add({part.batch_begin(), part.batch_end(), part.m_begin(), part.m_end(),
         part.n_begin(), part.n_end()},
        1);
  }
  add({0, matmul.batch(), 0, matmul.m(), 0, matmul.n()}, -1);
  for (const auto &[at, weight] : corners) {
    if (weight != 0) {
      return false;
    }
  }
  return true;
}

/// Bytes from the first to the last element of a batch of stored matrices.
absl::Status needMatrix(const plan::Step &step, int index,
                        absl::string_view name, uint64_t rows, uint64_t columns,
                        uint64_t leading, uint64_t stride, uint64_t element) {
  const plan::Matmul &matmul = step.matmul();
  if (leading < columns) {
    return invalid("rows of ", name, " have ", columns, " elements and begin ",
                   leading, " apart");
  }
  Checked elements = Checked(matmul.batch() - 1) * stride +
                     Checked(rows - 1) * leading + columns;
  if (!(elements * element).is(step.accesses(index).bytes())) {
    return invalid("the matrices ", name, ", ", matmul.batch(), " of ", rows,
                   " x ", columns, ", are not the ",
                   step.accesses(index).bytes(), " bytes of access ", index);
  }
  return absl::OkStatus();
}

/// What the library wants of the scratch of a part.
constexpr uint64_t kScratchAlignment = 64;

absl::Status validateParts(const plan::Plan &plan, const plan::Step &step) {
  const plan::Matmul &matmul = step.matmul();
  for (const plan::MatmulPart &part : matmul.parts()) {
    if (part.batch_begin() >= part.batch_end() ||
        part.batch_end() > matmul.batch() || part.m_begin() >= part.m_end() ||
        part.m_end() > matmul.m() || part.n_begin() >= part.n_end() ||
        part.n_end() > matmul.n()) {
      return invalid("a part is empty or outside the ", matmul.batch(), " x ",
                     matmul.m(), " x ", matmul.n(), " of the result");
    }
  }
  if (!coverOnce(matmul)) {
    return invalid("its ", matmul.parts_size(),
                   " parts do not cover the result exactly once");
  }
  uint64_t scratch = step.accesses_size() > 3 ? step.accesses(3).bytes() : 0;
  if (!(Checked(matmul.scratch_stride()) * matmul.parts_size())
           .atMost(scratch)) {
    return invalid(matmul.parts_size(), " parts of ", matmul.scratch_stride(),
                   " bytes of scratch do not fit in ", scratch);
  }
  if (matmul.scratch_stride() % kScratchAlignment != 0) {
    return invalid("gives each part ", matmul.scratch_stride(),
                   " bytes of scratch; it must be a multiple of ",
                   kScratchAlignment);
  }
  return scratch == 0 ? absl::OkStatus()
                      : needAligned(plan, step, 3, kScratchAlignment);
}

absl::Status validateMatmul(const plan::Plan &plan, const plan::Step &step) {
  const plan::Matmul &matmul = step.matmul();
  if (step.accesses_size() != 3) {
    ZG_RETURN_IF_ERROR(needAccesses(step, 4));
    ZG_RETURN_IF_ERROR(needMode(step, 3, {plan::WRITE, plan::READ_WRITE}));
  }
  ZG_RETURN_IF_ERROR(needMode(step, 0, {plan::READ}));
  ZG_RETURN_IF_ERROR(needMode(step, 1, {plan::READ}));
  ZG_RETURN_IF_ERROR(needMode(step, 2, {plan::WRITE}));
  uint64_t element = elementSize(matmul.type());
  if (element == 0 || matmul.batch() == 0 || matmul.m() == 0 ||
      matmul.n() == 0 || matmul.k() == 0) {
    return invalid("multiplies ", matmul.batch(), " times ", matmul.m(), " x ",
                   matmul.k(), " by ", matmul.k(), " x ", matmul.n(),
                   " elements of type ", nameOf(matmul.type()));
  }
  if (!canMultiply(matmul.type())) {
    return invalid("multiplies elements of type ", nameOf(matmul.type()),
                   "; the library multiplies f32 and bf16");
  }
  for (int i = 0; i < 3; ++i) {
    ZG_RETURN_IF_ERROR(needAligned(plan, step, i, element));
  }
  uint64_t m = matmul.m();
  uint64_t n = matmul.n();
  uint64_t k = matmul.k();
  bool ta = matmul.transpose_a();
  bool tb = matmul.transpose_b();
  ZG_RETURN_IF_ERROR(needMatrix(step, 0, "A", ta ? k : m, ta ? m : k,
                                matmul.lda(), matmul.a_stride(), element));
  ZG_RETURN_IF_ERROR(needMatrix(step, 1, "B", tb ? n : k, tb ? k : n,
                                matmul.ldb(), matmul.b_stride(), element));
  ZG_RETURN_IF_ERROR(
      needMatrix(step, 2, "C", m, n, matmul.ldc(), matmul.c_stride(), element));
  // The sizes above fit in memory, so these sums do too. Matrices of C follow
  // each other, or interleave row by row.
  bool follow = matmul.c_stride() >= (m - 1) * matmul.ldc() + n;
  bool interleave =
      matmul.c_stride() >= n &&
      matmul.ldc() >= (matmul.batch() - 1) * matmul.c_stride() + n;
  if (matmul.batch() > 1 && !follow && !interleave) {
    return invalid("the matrices C, ", matmul.c_stride(),
                   " elements apart with rows ", matmul.ldc(),
                   " apart, overlap each other");
  }
  for (int i = 2; i < step.accesses_size(); ++i) {
    for (int j = 0; j < i; ++j) {
      ZG_RETURN_IF_ERROR(needApart(plan, step, j, i));
    }
  }
  return validateParts(plan, step);
}

absl::StatusOr<const plan::Unit *> unitOf(const plan::Plan &plan, int unit) {
  if (unit < 0 || unit >= plan.units_size()) {
    return invalid("names unit ", unit, " of ", plan.units_size());
  }
  return &plan.units(unit);
}

absl::Status needReducible(plan::ElementType type) {
  if (!canReduce(type)) {
    return invalid("adds up elements of type ", nameOf(type),
                   "; reductions of f32 and f64 exist");
  }
  return absl::OkStatus();
}

absl::Status needSegment(const plan::Plan &plan, const plan::Step &step,
                         int whole, int shard, uint64_t elements,
                         plan::ElementType type) {
  // Elements were checked with the unit; a type has at most 8 bytes.
  uint64_t bytes = elements * elementSize(type);
  if (elementSize(type) == 0 || step.accesses(whole).bytes() != bytes ||
      step.accesses(shard).bytes() != bytes / plan.world()) {
    return invalid("a segment has ", elements, " elements of type ",
                   nameOf(type), "; accesses ", whole, " and ", shard,
                   " to it and its shard have ", step.accesses(whole).bytes(),
                   " and ", step.accesses(shard).bytes(), " bytes");
  }
  if (plan.world() > 1 && step.accesses(whole).rank_stride() != 0) {
    return invalid("access ", whole,
                   ", the whole segment, lies elsewhere on each rank");
  }
  for (int index : {whole, shard}) {
    ZG_RETURN_IF_ERROR(needAligned(plan, step, index, elementSize(type)));
  }
  return needOwnPartOrApart(plan, step, shard, whole);
}

absl::Status validateAllGather(const plan::Plan &plan, const plan::Step &step) {
  ZG_ASSIGN_OR_RETURN(const plan::Unit *unit,
                      unitOf(plan, step.all_gather().unit()));
  plan::Stay stay = step.all_gather().stay();
  bool sharded = plan.zero_stage() == 3 && !unit->persistent();
  if (!plan::Stay_IsValid(stay) || (stay == plan::STAY_NONE) == sharded) {
    return invalid("has the stay ", int(stay), ", which a unit that is ",
                   sharded ? "sharded" : "whole", " between steps cannot have");
  }
  ZG_RETURN_IF_ERROR(needAccesses(step, 2 * unit->segments_size()));
  for (int i = 0; i < unit->segments_size(); ++i) {
    ZG_RETURN_IF_ERROR(needMode(step, 2 * i, {plan::READ}));
    ZG_RETURN_IF_ERROR(needMode(step, 2 * i + 1, {plan::WRITE}));
    ZG_RETURN_IF_ERROR(needSegment(plan, step, 2 * i + 1, 2 * i,
                                   unit->segments(i).elements(),
                                   step.all_gather().type()));
  }
  return absl::OkStatus();
}

absl::Status validateReduceScatter(const plan::Plan &plan,
                                   const plan::Step &step) {
  const plan::ReduceScatter &op = step.reduce_scatter();
  ZG_ASSIGN_OR_RETURN(const plan::Unit *unit, unitOf(plan, op.unit()));
  if (op.segment() < 0 || op.segment() >= unit->segments_size()) {
    return invalid("names segment ", op.segment(), " of ",
                   unit->segments_size());
  }
  ZG_RETURN_IF_ERROR(needAccesses(step, 3));
  ZG_RETURN_IF_ERROR(needMode(step, 0, {plan::READ}));
  ZG_RETURN_IF_ERROR(
      needMode(step, 1, {op.accumulate() ? plan::READ_WRITE : plan::WRITE}));
  ZG_RETURN_IF_ERROR(needMode(step, 2, {plan::WRITE, plan::READ_WRITE}));
  ZG_RETURN_IF_ERROR(needSegment(
      plan, step, 0, 1, unit->segments(op.segment()).elements(), op.type()));
  ZG_RETURN_IF_ERROR(needReducible(op.type()));
  ZG_RETURN_IF_ERROR(needAligned(plan, step, 2, elementSize(op.type())));
  if (op.accumulate()) {
    ZG_RETURN_IF_ERROR(needApart(plan, step, 0, 1));
  }
  if (op.chunk_bytes() == 0 || op.chunk_bytes() % elementSize(op.type()) != 0 ||
      !(Checked(op.chunk_bytes()) * plan.world())
           .atMost(step.accesses(2).bytes())) {
    return invalid("exchanges chunks of ", op.chunk_bytes(),
                   " bytes, not whole elements or more than its staging of ",
                   step.accesses(2).bytes(), " bytes holds for ", plan.world(),
                   " ranks");
  }
  ZG_RETURN_IF_ERROR(needApart(plan, step, 0, 2));
  return needApart(plan, step, 1, 2);
}

absl::Status validateAllReduce(const plan::Plan &plan, const plan::Step &step) {
  uint64_t element = elementSize(step.all_reduce().type());
  if (element == 0 || step.accesses_size() == 0 ||
      step.accesses_size() % 2 != 0) {
    return invalid("sums elements of type ", nameOf(step.all_reduce().type()),
                   " in ", step.accesses_size(),
                   " accesses; it needs pairs of values and sums");
  }
  ZG_RETURN_IF_ERROR(needReducible(step.all_reduce().type()));
  for (int i = 0; i < step.accesses_size(); i += 2) {
    ZG_RETURN_IF_ERROR(needMode(step, i, {plan::READ}));
    ZG_RETURN_IF_ERROR(needMode(step, i + 1, {plan::READ_WRITE}));
    ZG_RETURN_IF_ERROR(needAligned(plan, step, i, element));
    ZG_RETURN_IF_ERROR(needAligned(plan, step, i + 1, element));
    uint64_t bytes = step.accesses(i).bytes();
    if (bytes != step.accesses(i + 1).bytes() || bytes % element != 0) {
      return invalid("values of ", bytes, " bytes and their sum of ",
                     step.accesses(i + 1).bytes(),
                     " bytes differ or are no whole elements");
    }
  }
  for (int i = 1; i < step.accesses_size(); i += 2) {
    for (int j = 0; j < step.accesses_size(); ++j) {
      if (i != j) {
        ZG_RETURN_IF_ERROR(needApart(plan, step, j, i));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status validateCopy(const plan::Plan &plan, const plan::Step &step) {
  ZG_RETURN_IF_ERROR(needAccesses(step, 2));
  ZG_RETURN_IF_ERROR(needMode(step, 0, {plan::READ}));
  ZG_RETURN_IF_ERROR(needMode(step, 1, {plan::WRITE}));
  if (step.accesses(0).bytes() != step.accesses(1).bytes()) {
    return invalid("copies ", step.accesses(0).bytes(), " bytes to ",
                   step.accesses(1).bytes());
  }
  return needApart(plan, step, 0, 1);
}

} // namespace

absl::Status needAligned(const plan::Plan &plan, const plan::Step &step,
                         int index, uint64_t element) {
  const plan::Access &access = step.accesses(index);
  if (access.offset() % element != 0 || access.rank_stride() % element != 0) {
    return invalid("access ", index, " to ",
                   describeSlice(plan, access.slice()), " begins at byte ",
                   access.offset(), " + rank * ", access.rank_stride(),
                   "; both must be multiples of ", element);
  }
  return absl::OkStatus();
}

absl::Status validateOperation(const plan::Plan &plan, const plan::Step &step) {
  switch (step.op_case()) {
  case plan::Step::kLaunch:
    return validateLaunch(plan, step);
  case plan::Step::kMatmul:
    return validateMatmul(plan, step);
  case plan::Step::kAllGather:
    return validateAllGather(plan, step);
  case plan::Step::kReduceScatter:
    return validateReduceScatter(plan, step);
  case plan::Step::kAllReduce:
    return validateAllReduce(plan, step);
  case plan::Step::kCopy:
    return validateCopy(plan, step);
  case plan::Step::kFill:
    ZG_RETURN_IF_ERROR(needAccesses(step, 1));
    return needMode(step, 0, {plan::WRITE});
  case plan::Step::OP_NOT_SET:
    break;
  }
  return invalid("does nothing that this program knows");
}

} // namespace detail
} // namespace zerograph
