//===- Matmul.cpp - products of matrices by the device's library ----------===//

#include "runtime/plan/Describe.h"
#include "runtime/plan/Matrices.h"
#include "runtime/plan/Supported.h"
#include "runtime/plan/steps/Kinds.h"

#include <algorithm>
#include <array>
#include <limits>

namespace zerograph {
namespace {

/// Checks that the access has all matrices of the batch, rows with their ends.
absl::Status needMatrices(const plan::Step &step, int index,
                          absl::string_view name, const StoredMatrix &matrix,
                          uint64_t element) {
  if (matrix.leading < matrix.columns) {
    return steps::invalid("the rows of ", name, " have ", matrix.columns,
                          " elements and begin ", matrix.leading, " apart");
  }
  Checked elements = Checked(step.matmul().batch()) * matrix.stride;
  if (!(elements * element).is(step.accesses(index).bytes())) {
    return steps::invalid(
        "the matrices ", name, ", ", step.matmul().batch(), " of ", matrix.rows,
        " rows that begin ", matrix.leading, " apart, are not the ",
        step.accesses(index).bytes(), " bytes of access ", index);
  }
  return absl::OkStatus();
}

/// The device's library takes the type and, of a GPU's, which counts in 32
/// bits, the sizes.
absl::Status needMultiplied(const plan::Plan &plan, const plan::Step &step) {
  const plan::Matmul &matmul = step.matmul();
  const plan::Target &device =
      plan.devices(int(plan.streams(int(step.stream())).device()));
  ZG_RETURN_IF_ERROR(steps::needLibraryType(
      device, multiplied(device), matmul.element_type(), "multiplies"));
  plan::ElementType type = matmul.element_type();
  if (resultType(matmul) != type &&
      (resultType(matmul) != plan::F32 ||
       (type != plan::BF16 && type != plan::F16))) {
    return steps::invalid("multiplies elements of type ", nameOf(type),
                          " to some of type ", nameOf(resultType(matmul)),
                          "; expected their own or, of BF16 and F16, F32");
  }
  constexpr uint64_t kMost = std::numeric_limits<int32_t>::max();
  if (isGpu(device) &&
      std::max({matmul.batch(), matmul.m(), matmul.n(), matmul.k(),
                matmul.lda(), matmul.ldb(), matmul.ldc()}) > kMost) {
    return steps::invalid("multiplies ", matmul.batch(), " times ", matmul.m(),
                          " x ", matmul.k(), " by ", matmul.k(), " x ",
                          matmul.n(), "; cuBLASLt takes sizes up to ", kMost);
  }
  return absl::OkStatus();
}

/// Checks access 3, whose elements have as many bytes as C's.
absl::Status needBias(const plan::Plan &plan, const plan::Step &step,
                      uint64_t element) {
  const plan::Matmul &matmul = step.matmul();
  if (matmul.accumulate()) {
    return steps::invalid("adds to what C has, and has a bias; expected one");
  }
  if (!(Checked(matmul.n()) * element).is(step.accesses(3).bytes())) {
    return steps::invalid("a bias of ", matmul.n(), " elements is not the ",
                          step.accesses(3).bytes(), " bytes of access 3");
  }
  return steps::needAligned(plan, step, 3, element);
}

class Matmul final : public LibraryStep {
public:
  absl::string_view name() const override { return "matmul"; }

  absl::Status validate(const plan::Plan &plan,
                        const plan::Step &step) const override {
    const plan::Matmul &matmul = step.matmul();
    uint64_t m = matmul.m(), n = matmul.n(), k = matmul.k();
    uint64_t element = elementSize(matmul.element_type());
    if (element == 0 || matmul.batch() == 0 || m == 0 || n == 0 || k == 0) {
      return steps::invalid("multiplies ", matmul.batch(), " times ", m, " x ",
                            k, " by ", k, " x ", n, " elements of type ",
                            nameOf(matmul.element_type()));
    }
    ZG_RETURN_IF_ERROR(needMultiplied(plan, step));
    ZG_RETURN_IF_ERROR(steps::needLibraryAccesses(
        plan, step, element,
        matmul.accumulate() ? plan::READ_WRITE : plan::WRITE, matmul.bias()));
    StoredMatrices matrices = matricesOf(matmul);
    ZG_RETURN_IF_ERROR(needMatrices(step, 0, "A", matrices.a, element));
    ZG_RETURN_IF_ERROR(needMatrices(step, 1, "B", matrices.b, element));
    uint64_t sum = elementSize(zerograph::resultType(matmul));
    ZG_RETURN_IF_ERROR(steps::needAligned(plan, step, 2, sum));
    ZG_RETURN_IF_ERROR(needMatrices(step, 2, "C", matrices.c, sum));
    return matmul.bias() ? needBias(plan, step, sum) : absl::OkStatus();
  }

protected:
  Checked multiplyAdds(const plan::Step &step) const override {
    const plan::Matmul &matmul = step.matmul();
    return product(
        std::array{matmul.batch(), matmul.m(), matmul.n(), matmul.k()});
  }
  std::array<Checked, 2> bytesRead(const plan::Step &step) const override {
    return readInProduct(step.matmul().batch(), step.accesses(0).bytes(),
                         step.accesses(1).bytes(), step.accesses(2).bytes());
  }

private:
  bool hasBias(const plan::Step &step) const override {
    return step.matmul().bias();
  }
  plan::ElementType elementType(const plan::Step &step) const override {
    return step.matmul().element_type();
  }
  plan::ElementType resultType(const plan::Step &step) const override {
    return zerograph::resultType(step.matmul());
  }
};

} // namespace

ZG_STEP_KIND(Matmul, matmul)

} // namespace zerograph
