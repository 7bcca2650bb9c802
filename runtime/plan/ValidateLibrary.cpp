//===- ValidateLibrary.cpp - library calls against their accesses ---------===//

#include "runtime/plan/Validate.h"

#include "runtime/base/Checked.h"
#include "runtime/plan/Describe.h"
#include "runtime/plan/StepChecks.h"
#include "runtime/plan/Supported.h"

#include <array>
#include <map>

namespace zerograph::detail {
namespace {

/// What the library wants of the scratch of a part.
constexpr uint64_t kScratchAlignment = 64;

/// Two operands that are read, a result that is written and, if there are four
/// accesses, scratch; what is written lies apart from the rest.
absl::Status validateAccesses(const plan::Plan &plan, const plan::Step &step,
                              uint64_t element) {
  if (step.accesses_size() != 3) {
    ZG_RETURN_IF_ERROR(needAccesses(step, 4));
    ZG_RETURN_IF_ERROR(needMode(step, 3, {plan::WRITE, plan::READ_WRITE}));
  }
  ZG_RETURN_IF_ERROR(needMode(step, 0, {plan::READ}));
  ZG_RETURN_IF_ERROR(needMode(step, 1, {plan::READ}));
  ZG_RETURN_IF_ERROR(needMode(step, 2, {plan::WRITE}));
  for (int i = 0; i < 3; ++i) {
    ZG_RETURN_IF_ERROR(needAligned(plan, step, i, element));
  }
  for (int i = 2; i < step.accesses_size(); ++i) {
    for (int j = 0; j < i; ++j) {
      ZG_RETURN_IF_ERROR(needApart(plan, step, j, i));
    }
  }
  return absl::OkStatus();
}

/// Each part has `stride` bytes of scratch of its own.
absl::Status validateScratch(const plan::Plan &plan, const plan::Step &step,
                             uint64_t parts, uint64_t stride) {
  uint64_t scratch = step.accesses_size() > 3 ? step.accesses(3).bytes() : 0;
  if (!(Checked(stride) * parts).atMost(scratch)) {
    return invalid(parts, " parts of ", stride,
                   " bytes of scratch do not fit in ", scratch);
  }
  if (stride % kScratchAlignment != 0) {
    return invalid("gives each part ", stride,
                   " bytes of scratch; it must be a multiple of ",
                   kScratchAlignment);
  }
  return scratch == 0 ? absl::OkStatus()
                      : needAligned(plan, step, 3, kScratchAlignment);
}

//===----------------------------------------------------------------------===//
// Products of matrices
//===----------------------------------------------------------------------===//

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
  return validateScratch(plan, step, matmul.parts_size(),
                         matmul.scratch_stride());
}

} // namespace

absl::Status validateMatmul(const plan::Plan &plan, const plan::Step &step) {
  const plan::Matmul &matmul = step.matmul();
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
  ZG_RETURN_IF_ERROR(validateAccesses(plan, step, element));
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
  return validateParts(plan, step);
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

absl::Status validateConvolution(const plan::Plan &plan,
                                 const plan::Step &step) {
  const plan::Convolution &c = step.convolution();
  if (!canConvolve(c.type())) {
    return invalid("convolves elements of type ", nameOf(c.type()),
                   "; the library takes f32");
  }
  if (c.kind() < plan::FORWARD || c.kind() > plan::WEIGHTS_GRADIENT) {
    return invalid("is a convolution of the unknown kind ", c.kind());
  }
  uint64_t element = elementSize(c.type());
  ZG_RETURN_IF_ERROR(validateAccesses(plan, step, element));
  int places = c.input_size();
  if (places < 1 || places > 3 || c.window_size() != places ||
      c.output_size() != places || c.strides_size() != places ||
      c.low_size() != places || c.dilations_size() != places) {
    return invalid("has not the same number, 1 to 3, of sizes for input, "
                   "window, output, strides, low and dilations");
  }
  if (c.samples() == 0 || c.groups() == 0 || c.channels() == 0 ||
      c.features() == 0 || c.channels() % c.groups() != 0 ||
      c.features() % c.groups() != 0) {
    return invalid("convolves ", c.samples(), " samples of ", c.channels(),
                   " channels to ", c.features(), " features in ", c.groups(),
                   " groups");
  }
  Checked input = Checked(c.samples()) * c.channels();
  Checked weights = Checked(c.features()) * (c.channels() / c.groups());
  Checked output = Checked(c.samples()) * c.features();
  for (int i = 0; i < places; ++i) {
    input = input * c.input(i);
    weights = weights * c.window(i);
    output = output * c.output(i);
    constexpr uint64_t kMost = uint64_t(1) << 31; // of the library
    for (uint64_t size :
         {c.input(i), c.window(i), c.output(i), c.strides(i), c.dilations(i)}) {
      if (size == 0 || size > kMost || c.low(i) > kMost) {
        return invalid("place dimension ", i, " has a size of 0 or above 2^31");
      }
    }
    // Below 2^64 each. Behind the last window less is left than would make
    // another.
    uint64_t window = (c.window(i) - 1) * c.dilations(i) + 1;
    uint64_t last = (c.output(i) - 1) * c.strides(i) + window;
    uint64_t reach = c.input(i) + c.low(i);
    if (reach > last && reach - last >= c.strides(i)) {
      return invalid("place dimension ", i, " has ", c.output(i),
                     " windows of ", window, " elements, ", c.strides(i),
                     " apart, which do not fit ", c.input(i),
                     " elements behind ", c.low(i), " zeros");
    }
  }
  Checked sizes[] = {input, weights, output};
  constexpr int kOrder[3][3] = {{0, 1, 2}, {2, 1, 0}, {0, 2, 1}};
  const char *const kNames[] = {"input", "weights", "output"};
  for (int i = 0; i < 3; ++i) {
    int tensor = kOrder[c.kind() - plan::FORWARD][i];
    Checked bytes = sizes[tensor] * element;
    uint64_t has = step.accesses(i).bytes();
    if (!bytes.is(has)) {
      return invalid("access ", i, " has ", has, " bytes, which is not the ",
                     kNames[tensor], " of the convolution");
    }
  }
  uint64_t extent =
      c.kind() == plan::WEIGHTS_GRADIENT ? c.features() : c.samples();
  bool ascend = c.cuts_size() >= 2 && c.cuts(0) == 0 &&
                c.cuts(c.cuts_size() - 1) == extent;
  for (int i = 1; ascend && i < c.cuts_size(); ++i) {
    ascend = c.cuts(i - 1) < c.cuts(i);
  }
  if (!ascend) {
    return invalid("its cuts do not ascend from 0 to ", extent);
  }
  return validateScratch(plan, step, uint64_t(c.cuts_size() - 1),
                         c.scratch_stride());
}

} // namespace zerograph::detail
