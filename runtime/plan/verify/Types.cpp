//===- Types.cpp - bytes keep the type they were written with -------------===//
//
// A slice holds one value, so all who say of what type it is say the same:
// units, inputs, scalars, kernels, library calls and collectives; and a copy
// takes the type along. Working space has no type.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/Describe.h"
#include "runtime/plan/Supported.h"
#include "runtime/plan/verify/Checks.h"

namespace zerograph::verify {
namespace {

class Types {
public:
  Types(const plan::Plan &plan, Problems &problems)
      : plan(plan), problems(problems), known(plan.slices_size()) {}

  void declarations() {
    for (const plan::Unit &unit : plan.units()) {
      for (const plan::State &state : unit.states()) {
        note(state.slice(), unit.type(), "unit ", unit.name());
      }
    }
    for (const plan::Input &input : plan.inputs()) {
      note(input.slice(), input.type(), "input ", input.name());
    }
    for (const plan::Output &output : plan.outputs()) {
      note(output.slice(), output.type(), "output ", output.name());
    }
    for (const plan::Scalar &scalar : plan.scalars()) {
      std::optional<ScalarKind> kind = scalarKind(scalar.name());
      plan::ElementType floating = floatType(plan, scalar.slice());
      note(scalar.slice(), kind ? scalarType(*kind, floating) : plan::F32,
           "scalar ", scalar.name());
    }
  }

  void step(int p, int s) {
    const plan::Step &step = plan.programs(p).steps(s);
    if (step.has_launch()) {
      const plan::Kernel &kernel = plan.kernels(step.launch().kernel());
      for (int i = 0; i < step.accesses_size(); ++i) {
        note(p, s, i, kernel.operands(i).type());
      }
    } else if (isLibraryCall(step)) {
      for (int i = 0; i < 3; ++i) {
        note(p, s, i,
             step.has_matmul() ? step.matmul().type()
                               : step.convolution().type());
      }
    } else if (step.has_all_gather()) {
      all(p, s, step.all_gather().type());
    } else if (step.has_reduce_scatter()) {
      all(p, s, step.reduce_scatter().type());
    } else if (step.has_all_reduce()) {
      all(p, s, step.all_reduce().type());
    }
  }

  void copy(int p, int s) {
    const plan::Step &step = plan.programs(p).steps(s);
    if (step.has_copy()) {
      const Known &from = known[step.accesses(0).slice()];
      if (from.type != plan::ELEMENT_INVALID) {
        note(p, s, 1, from.type);
      }
    }
  }

private:
  struct Known {
    plan::ElementType type = plan::ELEMENT_INVALID;
    std::string by;
  };

  void all(int p, int s, plan::ElementType type) {
    for (int i = 0; i < plan.programs(p).steps(s).accesses_size(); ++i) {
      note(p, s, i, type);
    }
  }

  void note(int p, int s, int access, plan::ElementType type) {
    note(plan.programs(p).steps(s).accesses(access).slice(), type,
         describeStep(plan, p, s));
  }

  template <typename... By>
  void note(uint32_t slice, plan::ElementType type, const By &...by) {
    if (plan.slices(slice).slice_class() == plan::STAGING) {
      return;
    }
    Known &old = known[slice];
    if (old.type == plan::ELEMENT_INVALID) {
      old = {type, absl::StrCat(by...)};
    } else if (old.type != type) {
      problems.add("wrong type: ", absl::StrCat(by...), " takes ",
                   describeSlice(plan, slice), " for ", nameOf(type), ", ",
                   old.by, " for ", nameOf(old.type));
    }
  }

  const plan::Plan &plan;
  Problems &problems;
  std::vector<Known> known; // by slice
};

} // namespace

void checkTypes(const Subject &subject, Problems &problems) {
  const plan::Plan &plan = subject.plan;
  Types types(plan, problems);
  types.declarations();
  for (void (Types::*visit)(int, int) : {&Types::step, &Types::copy}) {
    for (int p = 0; p < plan.programs_size(); ++p) {
      for (int s = 0; s < plan.programs(p).steps_size(); ++s) {
        (types.*visit)(p, s);
      }
    }
  }
}

} // namespace zerograph::verify
