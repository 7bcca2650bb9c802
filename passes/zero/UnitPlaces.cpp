//===- UnitPlaces.cpp - where in the user's code a unit is used -----------===//

#include "passes/zero/UnitPlaces.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::zero;

/// Returns whether `path` is `module` or lies in it, as "h.1.mlp" does in
/// "h.1".
static bool isIn(StringRef path, StringRef module) {
  return path.consume_front(module) && (path.empty() || path.front() == '.');
}

/// Returns "h.1" for "h.1.mlp" and "h.1.attn"; empty where nothing is shared.
static StringRef shared(StringRef a, StringRef b) {
  while (!a.empty() && !isIn(b, a)) {
    a = a.contains('.') ? a.rsplit('.').first : "";
  }
  return a;
}

UnitPlaces::UnitPlaces(nn::ProgramOp program) {
  for (Operation &op : program.front()) {
    nn::CodePlace place = nn::codePlaceOf(op.getLoc());
    nn::CodePlace &known = first[place.module];
    if (known.file.empty()) {
      known = place;
    }
  }
}

StringAttr UnitPlaces::beside(StringRef name,
                              ArrayRef<Candidate *> members) const {
  const Candidate &member = *members.front();
  StringRef module = member.parameter.getModule().getValue();
  for (Candidate *other : members) {
    module = shared(module, other->parameter.getModule().getValue());
  }
  if (module.empty()) {
    return {};
  }
  // A block may have parameters in one of its modules alone.
  if (isIn(module, member.unit)) {
    module = member.unit;
  }
  nn::CodePlace place = first.lookup(module);
  place.module = isIn(name, module) ? "" : module.str();
  return place.known() ? StringAttr::get(member.parameter.getContext(),
                                         nn::describe(place))
                       : StringAttr();
}
