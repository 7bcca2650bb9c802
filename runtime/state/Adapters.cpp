//===- Adapters.cpp - low-rank adapters as files and as sums --------------===//

#include "runtime/state/Adapters.h"

#include "runtime/plan/Describe.h"

#include "absl/strings/str_join.h"

#include <cstring>
#include <set>
#include <utility>

using namespace zerograph;

namespace {

constexpr char kAlphaKey[] = "lora_alpha";

template <typename Visit>
void eachParameter(const plan::Plan &plan, Visit visit) {
  for (const plan::Unit &unit : plan.units()) {
    for (const plan::Parameter &parameter : unit.parameters()) {
      visit(unit, parameter);
    }
  }
}

/// The place in the product of the matrices of the elements that are added to.
struct Place {
  uint64_t columns = 0; // of the weight
  bool transposed = false;
};

/// B A for B [out, rank] and A [rank, in].
template <typename Element>
void addProduct(const Element *b, const Element *a, uint64_t rank, uint64_t in,
                double scale, Place place, uint64_t first, uint64_t count,
                Element *values) {
  for (uint64_t i = first; i < first + count; ++i) {
    uint64_t row = i / place.columns, column = i % place.columns;
    if (place.transposed) {
      std::swap(row, column);
    }
    double sum = 0;
    for (uint64_t k = 0; k < rank; ++k) {
      sum += double(b[row * rank + k]) * double(a[k * in + column]);
    }
    *values = Element(double(*values) + scale * sum);
    ++values;
  }
}

} // namespace

bool zerograph::isOfAdapter(const plan::Parameter &parameter) {
  return parameter.init() == plan::LORA_A || parameter.init() == plan::LORA_B;
}

bool zerograph::hasAdapters(const plan::Plan &plan) {
  bool any = false;
  eachParameter(plan, [&](auto &, const plan::Parameter &parameter) {
    any |= parameter.has_adapter();
  });
  return any;
}

Metadata zerograph::metadataOfAdapters(const plan::Plan &plan) {
  std::set<uint64_t> ranks;
  double alpha = 0;
  eachParameter(plan, [&](auto &, const plan::Parameter &parameter) {
    if (parameter.init() == plan::LORA_A) {
      ranks.insert(parameter.shape(0));
    }
    if (parameter.has_adapter()) {
      alpha = parameter.adapter().alpha();
    }
  });
  if (ranks.empty()) {
    return {};
  }
  return {{"peft_type", "LORA"},
          {"r", absl::StrJoin(ranks, ",")},
          {kAlphaKey, absl::StrCat(alpha)}};
}

absl::Status zerograph::checkAdapters(const std::string &path,
                                      const Metadata &metadata,
                                      const plan::Plan &plan) {
  auto found = metadata.find(kAlphaKey);
  if (found == metadata.end()) {
    return absl::OkStatus();
  }
  if (!hasAdapters(plan)) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, " has adapters, and the plan has none: compile with --lora, or "
              "load what --save-weights wrote, which has them added"));
  }
  std::string mine = metadataOfAdapters(plan)[kAlphaKey];
  if (found->second == mine) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      path, " has adapters of alpha ", found->second, ", and the plan's have ",
      mine, ": compile with --lora-alpha ", found->second));
}

AdapterValues::AdapterValues(const plan::Plan &plan) {
  eachParameter(
      plan, [&](const plan::Unit &unit, const plan::Parameter &parameter) {
        if (isOfAdapter(parameter)) {
          matrices[parameter.name()] = {
              parameter.shape(0), parameter.shape(1),
              std::vector<std::byte>(parameter.elements() *
                                     elementSize(ownType(unit, parameter)))};
        }
      });
}

absl::Status AdapterValues::write(const std::string &name, uint64_t offset,
                                  uint64_t bytes, const void *data) {
  auto found = matrices.find(name);
  if (found == matrices.end() || offset > found->second.bytes.size() ||
      bytes > found->second.bytes.size() - offset) {
    return absl::InternalError(absl::StrCat("'", name, "' has no bytes [",
                                            offset, ", ", offset + bytes, ")"));
  }
  std::memcpy(found->second.bytes.data() + offset, data, bytes);
  return absl::OkStatus();
}

void AdapterValues::add(const plan::Parameter &weight, plan::ElementType type,
                        uint64_t first, uint64_t count,
                        std::byte *values) const {
  const plan::Adapter &adapter = weight.adapter();
  const Matrix &a = matrices.at(adapter.a()), &b = matrices.at(adapter.b());
  Place place{adapter.transposed() ? b.rows : a.columns, adapter.transposed()};
  double scale = adapter.alpha() / double(a.rows);
  auto add = [&]<typename Element>(Element) {
    addProduct(reinterpret_cast<const Element *>(b.bytes.data()),
               reinterpret_cast<const Element *>(a.bytes.data()), a.rows,
               a.columns, scale, place, first, count,
               reinterpret_cast<Element *>(values));
  };
  type == plan::F64 ? add(double()) : add(float());
}
