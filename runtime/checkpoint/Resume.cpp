//===- Resume.cpp - states as a checkpoint has them -----------------------===//

#include "runtime/checkpoint/Resume.h"

#include "runtime/base/Text.h"
#include "runtime/checkpoint/OwnedPieces.h"
#include "runtime/checkpoint/RunOfPlan.h"
#include "runtime/plan/UnitParts.h"
#include "runtime/state/Convert.h"

#include "absl/strings/str_join.h"
#include <nlohmann/json.hpp>

#include <set>

using namespace zerograph;
using nlohmann::json;

namespace {

/// Most differences that a message lists.
constexpr size_t kMost = 10;

/// The tensors that differ, by kind of difference.
struct Differences {
  std::vector<std::string> missing, superfluous, shapes, precision, types;

  std::string text(const std::string &path) const {
    std::vector<std::string> parts;
    auto add = [&](const std::string &what,
                   const std::vector<std::string> &list) {
      if (!list.empty()) {
        parts.push_back(absl::StrCat(what, ": ", listOf(list, kMost)));
      }
    };
    add("it lacks", missing);
    add("the plan does not have", superfluous);
    add("of another shape", shapes);
    add("of another precision", precision);
    add("of a type that cannot be converted", types);
    return parts.empty() ? ""
                         : absl::StrCat(path, " does not fit the plan: ",
                                        absl::StrJoin(parts, "; "));
  }
};

std::string typeText(const CheckpointTensor &tensor) {
  return tensor.type == tensor.computed
             ? plan::ElementType_Name(tensor.type)
             : absl::StrCat(plan::ElementType_Name(tensor.computed),
                            " with masters in ",
                            plan::ElementType_Name(tensor.type));
}

void compareOne(const CheckpointTensor &wanted, const CheckpointTensor &found,
                Differences &differences) {
  std::string name = wanted.text();
  if (wanted.shape != found.shape) {
    differences.shapes.push_back(
        absl::StrCat(name, " is ", shapeText(found.shape), ", expected ",
                     shapeText(wanted.shape)));
  } else if (!canConvert(found.type, wanted.type)) {
    differences.types.push_back(
        absl::StrCat(name, " is ", plan::ElementType_Name(found.type),
                     ", expected ", plan::ElementType_Name(wanted.type)));
  } else if (wanted.type != found.type || wanted.computed != found.computed) {
    differences.precision.push_back(absl::StrCat(
        name, " is ", typeText(found), ", expected ", typeText(wanted)));
  }
}

} // namespace

/// Finds a tensor; of what each rank has its own, its own or rank 0's.
const CheckpointTensor *Resume::find(const CheckpointTensor &wanted) const {
  const CheckpointTensor *found =
      checkpoint.find(wanted.name, wanted.isValues(), wanted.role, wanted.rank);
  bool same_ranks = checkpoint.index().run.ranks == worldOf(plan);
  if (wanted.rank && !same_ranks) {
    found = checkpoint.find(wanted.name, wanted.isValues(), wanted.role, 0);
  }
  return found;
}

absl::Status Resume::compare(bool convert) {
  Differences differences;
  std::set<const CheckpointTensor *> used;
  bool own = false; // some tensors are each rank's own
  for (unsigned rank = 0; rank < worldOf(plan); ++rank) {
    for (const CheckpointTensor &wanted : savedTensors(plan, rank)) {
      const CheckpointTensor *found = find(wanted);
      own |= wanted.rank.has_value();
      if (!found) {
        differences.missing.push_back(wanted.text());
      } else if (used.insert(found).second) {
        compareOne(wanted, *found, differences);
      }
    }
  }
  for (const CheckpointTensor &tensor : checkpoint.index().tensors) {
    if (used.count(&tensor) == 0 && tensor.rank.value_or(0) == 0) {
      differences.superfluous.push_back(tensor.text());
    }
  }
  bool precision = !differences.precision.empty();
  if (convert && precision) {
    said.push_back(absl::StrCat(
        checkpoint.path(), ": values are converted, since it is ",
        listOf({differences.precision.front()}),
        differences.precision.size() > 1
            ? absl::StrCat(", and ", differences.precision.size() - 1,
                           " more are of another precision")
            : ""));
    differences.precision.clear();
  }
  if (std::string text = differences.text(checkpoint.path()); !text.empty()) {
    absl::StrAppend(&text, ". A checkpoint goes on with the model, the "
                           "trained parameters and the optimizer that it was "
                           "made with");
    if (!differences.precision.empty()) {
      absl::StrAppend(&text, "; of another precision, with "
                             "--convert-precision");
    }
    return absl::FailedPreconditionError(text);
  }
  uint32_t ranks = checkpoint.index().run.ranks;
  if (own && ranks != worldOf(plan)) {
    warned.push_back(absl::StrCat(
        checkpoint.path(), " is of ", ranks,
        " ranks: running statistics, of which each has its own, are rank 0's "
        "for all"));
  }
  return absl::OkStatus();
}

/// They may be changed on purpose; that they are is said.
void Resume::compareSettings() {
  json before = json::parse(checkpoint.index().run.settings, nullptr, false);
  json now = json::parse(settingsOf(plan), nullptr, false);
  if (before == now) {
    return;
  }
  std::vector<std::string> changes;
  for (const json &change : json::diff(before, now)) {
    json::json_pointer place(change["path"].get<std::string>());
    std::string was = before.contains(place) ? before[place].dump() : "unset";
    std::string is = now.contains(place) ? now[place].dump() : "unset";
    changes.push_back(absl::StrCat(change["path"].get<std::string>().substr(1),
                                   " is ", is, ", was ", was));
  }
  said.push_back(absl::StrCat("the run goes on with other settings than ",
                              checkpoint.path(),
                              " was made with: ", listOf(changes, kMost)));
}

absl::StatusOr<std::unique_ptr<Resume>>
Resume::open(const plan::Plan &plan, const Checkpoint &checkpoint,
             bool convert) {
  std::unique_ptr<Resume> resume(new Resume(plan, checkpoint));
  const std::string &kind = checkpoint.index().run.optimizer;
  if (kind != optimizerOf(plan)) {
    return absl::FailedPreconditionError(absl::StrCat(
        checkpoint.path(), " was made with --optimizer ", kind,
        ", and the plan is for ", optimizerOf(plan),
        ": what one keeps means nothing to the other. To begin anew from its "
        "weights, write them by 'zerograph checkpoint convert' and give "
        "--load-weights"));
  }
  ZG_RETURN_IF_ERROR(resume->compare(convert));
  resume->compareSettings();
  return resume;
}

absl::Status Resume::initialize(const RankMemory &memory) const {
  ZG_RETURN_IF_ERROR(zeroStates(plan, memory));
  return forHeld(plan, memory, [&](const ParameterPart &part) {
    return roleOf(*part.state) == Role::Gradient ? absl::OkStatus()
                                                 : write(part, memory.rank);
  });
}

absl::Status Resume::write(const ParameterPart &part, unsigned rank) const {
  const CheckpointTensor *found =
      find(tensorOf(*part.unit, *part.state, *part.parameter, rank));
  plan::ElementType to = part.state->type();
  if (!found || !canConvert(found->type, to)) {
    return absl::InternalError(
        absl::StrCat("no values of '", part.parameter->name(), "'"));
  }
  uint64_t element = elementSize(to);
  std::vector<std::byte> converted;
  return checkpoint.read(
      *found, part.first, part.count,
      [&](uint64_t first, uint64_t count, const std::byte *data) {
        if (found->type != to) {
          converted.resize(count * element);
          convertElements(found->type, data, to, converted.data(), count);
          data = converted.data();
        }
        return part.bytes.part((first - part.first) * element, count * element)
            .write(data);
      });
}
