//===- ValidateLibrary.cpp - library calls against their accesses ---------===//

#include "runtime/plan/Validate.h"

#include "runtime/base/Checked.h"
#include "runtime/plan/Describe.h"
#include "runtime/plan/StepChecks.h"
#include "runtime/plan/Supported.h"

namespace zerograph::detail {
namespace {

/// What libraries want of scratch.
constexpr uint64_t kScratchAlignment = 64;

/// Two operands that are read, a result that is written and, if there are four
/// accesses, scratch; what is written lies apart from the rest.
absl::Status validateAccesses(const plan::Plan &plan, const plan::Step &step,
                              uint64_t element) {
  if (step.accesses_size() != 3) {
    ZG_RETURN_IF_ERROR(needAccesses(step, 4));
    ZG_RETURN_IF_ERROR(needMode(step, 3, {plan::WRITE, plan::READ_WRITE}));
    ZG_RETURN_IF_ERROR(needAligned(plan, step, 3, kScratchAlignment));
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

//===----------------------------------------------------------------------===//
// Products of matrices
//===----------------------------------------------------------------------===//

/// `batch` dense matrices of `rows` x `columns` elements.
absl::Status needMatrices(const plan::Step &step, int index,
                          absl::string_view name, uint64_t rows,
                          uint64_t columns, uint64_t element) {
  Checked elements = Checked(step.matmul().batch()) * rows * columns;
  if (!(elements * element).is(step.accesses(index).bytes())) {
    return invalid("the matrices ", name, ", ", step.matmul().batch(), " of ",
                   rows, " x ", columns, ", are not the ",
                   step.accesses(index).bytes(), " bytes of access ", index);
  }
  return absl::OkStatus();
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
  ZG_RETURN_IF_ERROR(needMatrices(step, 0, "A", m, k, element));
  ZG_RETURN_IF_ERROR(needMatrices(step, 1, "B", k, n, element));
  return needMatrices(step, 2, "C", m, n, element);
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
  return absl::OkStatus();
}

} // namespace zerograph::detail
