//===- Convolution.cpp - convolutions by the device's library -------------===//

#include "runtime/plan/Describe.h"
#include "runtime/plan/Supported.h"
#include "runtime/plan/steps/Kinds.h"

namespace zerograph {
namespace {

absl::Status needShape(const plan::Step &step) {
  const plan::Convolution &c = step.convolution();
  uint64_t element = elementSize(c.element_type());
  int places = c.input_size();
  if (places < 1 || places > 3 || c.window_size() != places ||
      c.output_size() != places || c.strides_size() != places ||
      c.low_size() != places || c.dilations_size() != places) {
    return steps::invalid(
        "has not the same number, 1 to 3, of sizes for input, "
        "window, output, strides, low and dilations");
  }
  if (c.samples() == 0 || c.groups() == 0 || c.channels() == 0 ||
      c.features() == 0 || c.channels() % c.groups() != 0 ||
      c.features() % c.groups() != 0) {
    return steps::invalid("convolves ", c.samples(), " samples of ",
                          c.channels(), " channels to ", c.features(),
                          " features in ", c.groups(), " groups");
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
        return steps::invalid("place dimension ", i,
                              " has a size of 0 or above 2^31");
      }
    }
    // Below 2^64 each. Behind the last window less is left than would make
    // another.
    uint64_t window = (c.window(i) - 1) * c.dilations(i) + 1;
    uint64_t last = (c.output(i) - 1) * c.strides(i) + window;
    uint64_t reach = c.input(i) + c.low(i);
    if (reach > last && reach - last >= c.strides(i)) {
      return steps::invalid("place dimension ", i, " has ", c.output(i),
                            " windows of ", window, " elements, ", c.strides(i),
                            " apart, which do not fit ", c.input(i),
                            " elements behind ", c.low(i), " zeros");
    }
  }
  Checked sizes[] = {input, weights, output};
  constexpr int kOrder[3][3] = {{0, 1, 2}, {2, 1, 0}, {0, 2, 1}};
  const char *const kNames[] = {"input", "weights", "output"};
  for (int i = 0; i < 3; ++i) {
    int tensor = kOrder[c.kind() - plan::CONVOLVE][i];
    Checked bytes = sizes[tensor] * element;
    uint64_t has = step.accesses(i).bytes();
    if (!bytes.is(has)) {
      return steps::invalid("access ", i, " has ", has,
                            " bytes, which is not the ", kNames[tensor],
                            " of the convolution");
    }
  }
  return absl::OkStatus();
}

class Convolution final : public LibraryStep {
public:
  absl::string_view name() const override { return "convolution"; }

  absl::Status validate(const plan::Plan &plan,
                        const plan::Step &step) const override {
    const plan::Convolution &c = step.convolution();
    const plan::Target &device =
        plan.devices(int(plan.streams(int(step.stream())).device()));
    ZG_RETURN_IF_ERROR(steps::needLibraryType(device, convolved(device),
                                              c.element_type(), "convolves"));
    if (c.kind() < plan::CONVOLVE || c.kind() > plan::WEIGHTS_GRADIENT) {
      return steps::invalid("is a convolution of the unknown kind ", c.kind());
    }
    ZG_RETURN_IF_ERROR(
        steps::needLibraryAccesses(plan, step, elementSize(c.element_type())));
    return needShape(step);
  }

protected:
  /// Counts products with the zeros around the input too.
  Checked multiplyAdds(const plan::Step &step) const override {
    const plan::Convolution &op = step.convolution();
    Checked outputs =
        Checked(op.samples()) * op.features() * product(op.output());
    return outputs * (op.channels() / op.groups()) * product(op.window());
  }

private:
  plan::ElementType elementType(const plan::Step &step) const override {
    return step.convolution().element_type();
  }
};

} // namespace

ZG_STEP_KIND(Convolution, convolution)

} // namespace zerograph
