//===- Places.cpp - which part of which unit bytes stand for --------------===//

#include "runtime/plan/verify/Places.h"

#include "absl/strings/str_cat.h"

#include <algorithm>

namespace zerograph::verify {

std::string describePlace(const plan::Plan &plan, const Place &place) {
  const char *what = place.role == Role::Param      ? "parameters"
                     : place.role == Role::Gradient ? "gradients"
                                                    : "optimizer state";
  std::string rank =
      place.stride == 0 ? "" : absl::StrCat(" + rank * ", place.stride);
  return absl::StrCat(what, " [", place.begin, rank, ", + ", place.elements,
                      ") of unit ", place.unit, " (",
                      plan.units(place.unit).name(), ")");
}

Places::Places(const plan::Plan &plan)
    : plan(plan), slices(plan.slices_size()) {
  for (int i = 0; i < plan.slices_size(); ++i) {
    const plan::Slice &slice = plan.slices(i);
    bool shard = slice.slice_class() == plan::GRAD_SHARD;
    if (shard || slice.slice_class() == plan::GRAD) {
      hold(i, Role::Gradient, slice.unit(), slice.segment(), shard);
    }
  }
  for (int unit = 0; unit < plan.units_size(); ++unit) {
    for (const plan::State &state : plan.units(unit).states()) {
      Role role = state.role() == "param"  ? Role::Param
                  : state.role() == "grad" ? Role::Gradient
                                           : Role::Optimizer;
      hold(state.slice(), role, unit, state.segment(), state.sharded());
    }
  }
  gathered();
}

void Places::hold(uint32_t slice, Role role, int unit, int segment,
                  bool sharded) {
  if (unit < 0 || unit >= plan.units_size()) {
    return;
  }
  const plan::Unit &of = plan.units(unit);
  if (segment >= of.segments_size()) {
    return;
  }
  // The shard of a whole buffer is one only where there is one segment.
  if (segment < 0 && sharded) {
    if (of.segments_size() != 1) {
      return;
    }
    segment = 0;
  }
  Place place;
  place.unit = unit;
  place.role = role;
  place.elements = of.elements();
  if (segment >= 0) {
    place = this->segment(unit, segment, role, sharded);
  }
  uint64_t bytes = plan.slices(slice).bytes();
  if (bytes != 0 && bytes % place.elements == 0) {
    slices[slice] = {place, bytes / place.elements};
  }
}

void Places::gathered() {
  for (const plan::Program &program : plan.programs()) {
    for (const plan::Step &step : program.steps()) {
      if (!step.has_all_gather()) {
        continue;
      }
      for (int i = 0; i < step.accesses_size(); i += 2) {
        uint32_t to = step.accesses(i + 1).slice();
        const plan::Slice &slice = plan.slices(to);
        if (slice.slice_class() == plan::GATHERED &&
            slices[to].element_bytes == 0) {
          std::optional<Place> from = ofSlice(step.accesses(i).slice());
          hold(to, from ? from->role : Role::Param, slice.unit(),
               slice.segment(), false);
        }
      }
    }
  }
}

Place Places::segment(int unit, int i, Role role, bool part) const {
  const plan::Segment &segment = plan.units(unit).segments(i);
  Place place;
  place.unit = unit;
  place.role = role;
  place.begin = segment.offset();
  place.elements = segment.elements() / (part ? plan.world() : 1);
  place.stride = part && plan.world() > 1 ? place.elements : 0;
  return place;
}

std::optional<Place> Places::ofSlice(uint32_t slice) const {
  if (slices[slice].element_bytes == 0) {
    return std::nullopt;
  }
  return slices[slice].place;
}

std::optional<Place> Places::of(const plan::Access &access) const {
  const Holding &holding = slices[access.slice()];
  uint64_t size = holding.element_bytes;
  if (size == 0) {
    return std::nullopt;
  }
  Place place = holding.place;
  uint64_t stride = plan.world() > 1 ? access.rank_stride() : 0;
  bool whole = access.offset() % size == 0 && access.bytes() % size == 0 &&
               stride % size == 0;
  place.begin += access.offset() / size;
  place.elements = whole ? access.bytes() / size : 0;
  place.stride += stride / size;
  return place;
}

void addSpans(Spans &spans, uint64_t begin, uint64_t count, uint64_t stride,
              uint32_t world) {
  if (stride == 0 || world == 1) {
    spans.emplace_back(begin, begin + count);
  } else if (stride == count) {
    spans.emplace_back(begin, begin + world * count);
  } else {
    for (uint32_t rank = 0; rank < world; ++rank) {
      spans.emplace_back(begin + rank * stride, begin + rank * stride + count);
    }
  }
}

std::optional<std::pair<uint64_t, uint64_t>> firstGap(Spans spans,
                                                      uint64_t end) {
  std::sort(spans.begin(), spans.end());
  uint64_t reached = 0;
  for (const auto &[first, second] : spans) {
    if (first > reached) {
      break;
    }
    reached = std::max(reached, second);
  }
  if (reached >= end) {
    return std::nullopt;
  }
  for (const auto &[first, second] : spans) {
    if (first > reached) {
      return std::pair(reached, std::min(first, end));
    }
  }
  return std::pair(reached, end);
}

} // namespace zerograph::verify
