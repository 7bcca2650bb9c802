//===- NonfiniteSearch.cpp - where a value that is not finite comes from --===//

#include "runtime/exec/NonfiniteSearch.h"

#include "runtime/plan/Describe.h"
#include "runtime/plan/Matrices.h"
#include "runtime/plan/SliceTypes.h"
#include "runtime/plan/steps/Step.h"

#include "absl/strings/numbers.h"

#include <algorithm>
#include <cstring>
#include <set>

using namespace zerograph;

namespace {

bool isFloat(plan::ElementType type) {
  return type == plan::F64 || type == plan::F32 || type == plan::F16 ||
         type == plan::BF16;
}

bool overlap(const DeviceRange &a, const DeviceRange &b) {
  return a.buffer == b.buffer && a.offset < b.offset + b.bytes &&
         b.offset < a.offset + a.bytes;
}

bool covers(const DeviceRange &outer, const DeviceRange &inner) {
  return outer.buffer == inner.buffer && outer.offset <= inner.offset &&
         inner.offset + inner.bytes <= outer.offset + outer.bytes;
}

/// Looks at elements from `offset` bytes on of what has these rows, and at
/// nothing that lies between rows.
std::optional<NotFinite> findInRows(const NonfiniteRows &rows,
                                    plan::ElementType type, uint64_t offset,
                                    const std::byte *data, uint64_t bytes,
                                    bool infinite_allowed) {
  uint64_t element = elementSize(type);
  uint64_t first = offset / element, end = first + bytes / element;
  for (uint64_t at = first; at < end;) {
    uint64_t row = at / rows.leading, column = at % rows.leading;
    uint64_t count = std::min(rows.leading - column, end - at);
    uint64_t meant =
        column < rows.columns ? std::min(rows.columns - column, count) : 0;
    auto found = findNotFinite(type, data + (at - first) * element, meant,
                               infinite_allowed);
    if (found) {
      found->index += row * rows.columns + column;
      return found;
    }
    at += count;
  }
  return std::nullopt;
}

/// Returns the first NaN or, where there is none, the first infinity.
absl::StatusOr<std::optional<NotFinite>>
findWorst(const DeviceRange &range, plan::ElementType type,
          bool infinite_allowed = false, const NonfiniteRows &rows = {}) {
  std::optional<NotFinite> nan, infinite;
  ZG_RETURN_IF_ERROR(readBlocks(
      range, [&](uint64_t offset, const std::byte *data, uint64_t bytes) {
        auto find = [&](bool allowed) {
          return findInRows(rows, type, offset, data, bytes, allowed);
        };
        nan = nan ? nan : find(/*allowed=*/true);
        infinite = infinite ? infinite : find(infinite_allowed);
        return absl::OkStatus();
      }));
  return nan ? nan : infinite;
}

} // namespace

uint64_t NonfiniteSearch::Region::elements() const {
  uint64_t all = bytes.bytes / elementSize(type);
  return all / rows.leading * rows.columns + all % rows.leading;
}

bool NonfiniteSearch::Region::isNan() const {
  return found && std::strcmp(found->name, "NaN") == 0;
}

NonfiniteSearch::NonfiniteSearch(const plan::Plan &plan,
                                 const RankMemory &memory)
    : plan(plan), memory(memory), parts(plan), types(sliceTypes(plan)),
      rows(size_t(plan.slices_size())) {
  for (const plan::Program &program : plan.programs()) {
    for (const plan::Step &step : program.steps()) {
      if (step.has_matmul()) {
        addRows(step);
      }
    }
  }
  for (const plan::Program &program : plan.programs()) {
    std::vector<Step> &steps = programs.emplace_back();
    for (const plan::Step &step : program.steps()) {
      Step &regions = steps.emplace_back();
      for (int i = 0; i < step.accesses_size(); ++i) {
        addRegions(step, i, regions);
      }
    }
  }
}

/// Adds how the matrices of a product lie: what has rows that lie apart is one.
void NonfiniteSearch::addRows(const plan::Step &step) {
  StoredMatrices matrices = matricesOf(step.matmul());
  const StoredMatrix *stored[] = {&matrices.a, &matrices.b, &matrices.c};
  for (int i = 0; i < 3; ++i) {
    if (stored[i]->leading != stored[i]->columns) {
      rows[step.accesses(i).slice()] = {stored[i]->columns, stored[i]->leading};
    }
  }
}

/// Adds the bytes that a step writes; for a unit, those of its parameters: the
/// bytes between them mean nothing.
void NonfiniteSearch::addRegions(const plan::Step &step, int access,
                                 Step &to) const {
  const plan::Access &touched = step.accesses(access);
  plan::ElementType type = kindOf(step).type(plan, step, access);
  type = type == plan::ELEMENT_INVALID ? types[touched.slice()] : type;
  if (!effectOf(step, access).writes || !isFloat(type)) {
    return;
  }
  Region whole;
  whole.access = access;
  whole.bytes = memory.access(plan, touched);
  whole.type = type;
  whole.rows = rows[touched.slice()];
  std::optional<UnitPart> part = parts.of(touched);
  if (!part || part->elements == 0) {
    to.push_back(whole);
    return;
  }
  uint64_t size = elementSize(type);
  uint64_t base = part->begin + Mesh(plan).offset(part->strides, memory.rank);
  for (const plan::Parameter &parameter : plan.units(part->unit).parameters()) {
    uint64_t begin = std::max(base, parameter.offset());
    uint64_t end = std::min(base + part->elements,
                            parameter.offset() + parameter.elements());
    if (begin < end) {
      Region region = whole;
      region.bytes =
          whole.bytes.part((begin - base) * size, (end - begin) * size);
      region.parameter = &parameter;
      region.first = begin - parameter.offset();
      region.role = roleOf(part->role);
      to.push_back(region);
    }
  }
}

void NonfiniteSearch::begin(unsigned program) {
  for (Step &step : programs[program]) {
    for (Region &region : step) {
      region.found.reset();
    }
  }
}

absl::Status NonfiniteSearch::look(unsigned program, uint32_t step) {
  for (Region &region : programs[program][step]) {
    ZG_ASSIGN_OR_RETURN(region.found,
                        findWorst(region.bytes, region.type,
                                  /*infinite_allowed=*/false, region.rows));
  }
  return absl::OkStatus();
}

/// Returns the loss, if it is not finite: then forward made it so. Else returns
/// the first region that lasts.
std::optional<NonfiniteSearch::Place>
NonfiniteSearch::lasting(unsigned program) const {
  const std::vector<Step> &steps = programs[program];
  std::optional<Place> first;
  for (uint32_t s = 0; s < steps.size(); ++s) {
    for (const Region &region : steps[s]) {
      if (!region.found) {
        continue;
      }
      uint32_t slice = plan.programs(int(program))
                           .steps(int(s))
                           .accesses(region.access)
                           .slice();
      plan::SliceClass of = plan.slices(int(slice)).slice_class();
      if ((plan.has_loss() && slice == plan.loss().slice()) ||
          (plan.has_evaluation() && slice == plan.evaluation().slice())) {
        return Place{s, &region};
      }
      bool gradient = of == plan::GRAD || of == plan::GRAD_SHARD;
      bool lasts = of == plan::PARAM_SHARD || of == plan::OPTIMIZER ||
                   (gradient && !plan.skip_nonfinite());
      if (lasts && !first) {
        first = Place{s, &region};
      }
    }
  }
  return first;
}

/// Adds the steps that wrote these bytes last, back to one that wrote all of
/// them.
void NonfiniteSearch::addWriters(unsigned program, uint32_t before,
                                 const DeviceRange &read,
                                 std::vector<Place> &to) const {
  for (uint32_t s = before; s-- > 0;) {
    for (const Region &region : programs[program][s]) {
      if (region.found && overlap(region.bytes, read)) {
        to.push_back({s, &region});
      }
    }
    const plan::Step &step = plan.programs(int(program)).steps(int(s));
    for (int i = 0; i < step.accesses_size(); ++i) {
      if (effectOf(step, i).writes &&
          covers(memory.access(plan, step.accesses(i)), read)) {
        return;
      }
    }
  }
}

/// Returns where a NaN comes from: from a NaN if one was read, else from
/// infinities.
std::vector<NonfiniteSearch::Place>
NonfiniteSearch::sources(unsigned program, Place place) const {
  const plan::Step &step = plan.programs(int(program)).steps(int(place.step));
  std::vector<Place> all, nan;
  for (int i = 0; i < step.accesses_size(); ++i) {
    if (effectOf(step, i).reads) {
      addWriters(program, place.step, memory.access(plan, step.accesses(i)),
                 all);
    }
  }
  std::copy_if(all.begin(), all.end(), std::back_inserter(nan),
               [](const Place &source) { return source.region->isNan(); });
  return nan.empty() ? all : nan;
}

/// Goes from source to source. Sources come earlier in the program: the
/// earliest of all has none.
std::optional<NonfiniteOrigin> NonfiniteSearch::origin(unsigned program) const {
  std::optional<Place> end = lasting(program);
  if (!end) {
    return std::nullopt;
  }
  Place earliest = *end;
  std::set<const Region *> seen = {end->region};
  for (std::vector<Place> open = {*end}; !open.empty();) {
    Place place = open.back();
    open.pop_back();
    earliest = place.step < earliest.step ? place : earliest;
    for (const Place &source : sources(program, place)) {
      if (seen.insert(source.region).second) {
        open.push_back(source);
      }
    }
  }
  return NonfiniteOrigin{earliest.step, describe(program, earliest, *end)};
}

absl::Status
zerograph::checkBeginning(const std::vector<ParameterPart> &parts) {
  for (const ParameterPart &part : parts) {
    plan::ElementType type = part.state->type();
    // A frozen mask may well hold -inf.
    ZG_ASSIGN_OR_RETURN(
        std::optional<NotFinite> found,
        findWorst(part.bytes, type,
                  /*infinite_allowed=*/!part.parameter->trainable()));
    if (found) {
      return absl::InvalidArgumentError(absl::StrCat(
          "before the first step element ", part.first + found->index,
          " of the ", part.parameter->elements(), " of parameter '",
          part.parameter->name(), "' (its \"", part.state->role(), "\") is ",
          found->name, ": give other weights to begin with"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string>
zerograph::nonfiniteWeight(const plan::Plan &plan, const RankMemory &memory) {
  for (const plan::Unit &unit : plan.units()) {
    for (const plan::State &state : unit.states()) {
      if (!(unit.trainable() || unit.local()) ||
          roleOf(state) != roleOfValues(unit)) {
        continue;
      }
      for (const HeldRange &range : ownedRanges(plan, unit, state, memory)) {
        for (const ParameterPart &part : partsOf(unit, state, range)) {
          ZG_ASSIGN_OR_RETURN(std::optional<NotFinite> found,
                              findWorst(part.bytes, state.type()));
          if (found) {
            return absl::StrCat("element ", part.first + found->index,
                                " of the ", part.parameter->elements(), " of '",
                                part.parameter->name(), "' is ", found->name);
          }
        }
      }
    }
  }
  return "";
}

absl::Status
zerograph::agreeOnOrigin(ControlPlane &control,
                         const std::optional<NonfiniteOrigin> &own) {
  ZG_ASSIGN_OR_RETURN(std::vector<std::string> texts,
                      control.exchange("looking for values that are not finite",
                                       own ? absl::StrCat(own->step) : ""));
  std::optional<size_t> first;
  uint32_t earliest = 0;
  for (size_t rank = 0; rank < texts.size(); ++rank) {
    uint32_t step = 0;
    if (absl::SimpleAtoi(texts[rank], &step) && (!first || step < earliest)) {
      first = rank;
      earliest = step;
    }
  }
  if (!first) {
    return absl::OkStatus();
  }
  return *first == control.rank()
             ? absl::OutOfRangeError(own->text)
             : absl::CancelledError(absl::StrCat(
                   "rank ", *first, " has a value that is not finite"));
}

std::string NonfiniteSearch::nameOf(unsigned program, Place place) const {
  const Region &region = *place.region;
  uint32_t slice = plan.programs(int(program))
                       .steps(int(place.step))
                       .accesses(region.access)
                       .slice();
  if (region.parameter) {
    const char *what = region.role == Role::Gradient    ? "the gradient of "
                       : region.role == Role::Optimizer ? "the state of "
                                                        : "parameter ";
    return absl::StrCat(what, "'", region.parameter->name(), "'");
  }
  if (plan.has_loss() && slice == plan.loss().slice()) {
    return "the loss";
  }
  for (const plan::Input &input : plan.inputs()) {
    if (input.slice() == slice) {
      return absl::StrCat("input '", input.name(), "'");
    }
  }
  return absl::StrCat("'", plan.slices(int(slice)).name(), "'");
}

std::string NonfiniteSearch::describe(unsigned program, Place origin,
                                      Place end) const {
  const Region &region = *origin.region;
  uint64_t elements =
      region.parameter ? region.parameter->elements() : region.elements();
  std::string text = absl::StrCat(
      describeStep(plan, program, origin.step), ": element ",
      region.first + region.found->index, " of the ", elements, " of ",
      nameOf(program, origin), " (", zerograph::nameOf(region.type), ") is ",
      region.found->name, ", the first value that is not finite");
  if (end.region != origin.region) {
    absl::StrAppend(&text, "; it reached ", nameOf(program, end), " as ",
                    end.region->found->name);
  }
  return absl::StrCat(text, ". ", advice(program, origin));
}

std::string NonfiniteSearch::advice(unsigned program, Place origin) const {
  const plan::Program &of = plan.programs(int(program));
  const plan::Step &step = of.steps(int(origin.step));
  if (step.has_copy_in()) {
    uint32_t slice = step.accesses(origin.region->access).slice();
    for (const plan::Input &input : plan.inputs()) {
      if (input.slice() == slice && input.per_sample()) {
        uint64_t elements =
            origin.region->bytes.bytes / elementSize(origin.region->type);
        return absl::StrCat("It is so in the data: look at sample ",
                            origin.region->found->index /
                                (elements / input.shape(0)),
                            " of the micro-batch");
      }
    }
    return "It is so in the data";
  }
  if (step.has_all_gather()) {
    return "The parameter was so before the step: look at the weights that "
           "the run began with";
  }
  const plan::Parameter *parameter = origin.region->parameter;
  bool updates = parameter && parameter->trainable() &&
                 origin.region->role != Role::Gradient;
  if (updates || of.kind() == plan::UPDATE) {
    return "The update made it: give a lower --lr, or --clip-norm";
  }
  if (!step.has_launch()) {
    return "It adds up what is too large: give a lower --lr, or --clip-norm, "
           "or look at the size of the data and the first weights";
  }
  return absl::StrCat(
      "The step computes '", step.name(),
      "', perhaps together with nodes before it: look for a logarithm, a root "
      "or a quotient there whose operand leaves its range. Where numbers grow "
      "from step to step, give a lower --lr, or --clip-norm");
}
