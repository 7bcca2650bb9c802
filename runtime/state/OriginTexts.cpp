//===- OriginTexts.cpp - what is said of the first values -----------------===//

#include "runtime/state/OriginTexts.h"

#include "runtime/base/Text.h"
#include "runtime/plan/Supported.h"
#include "runtime/state/Adapters.h"

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <map>
#include <set>

using namespace zerograph;

namespace {

std::vector<std::string> namesOf(const LoadedWeights &loaded) {
  std::vector<std::string> names;
  for (const auto &[name, weight] : loaded.weights) {
    names.push_back(name);
  }
  return names;
}

std::set<std::string> namesOf(const plan::Plan &plan) {
  std::set<std::string> names;
  for (const plan::Unit &unit : plan.units()) {
    for (const plan::Parameter &parameter : unit.parameters()) {
      names.insert(parameter.name());
    }
  }
  return names;
}

/// A user who gave a model knows of no plan.
std::string missingText(const Origins &origins,
                        const InitializeOptions &options) {
  std::string files = absl::StrJoin(origins.absent_files, ", ");
  constexpr char kGive[] =
      ". Give them by --load-weights, or have them made by --init-missing "
      "normal:STD";
  if (!files.empty() && !options.model_path.empty()) {
    return absl::StrCat(
        options.model_path, ": the model's weights are in ", files,
        ", which is missing: put it where the model names it. It holds the "
        "values of ",
        origins.missing.size(), " parameters: ", listOf(origins.missing, 10),
        kGive);
  }
  return absl::StrCat("no file holds the values of ", origins.missing.size(),
                      " parameters: ", listOf(origins.missing, 10),
                      files.empty()
                          ? ""
                          : absl::StrCat(" (missing: ", files,
                                         "; put such files beside the plan)"),
                      kGive);
}

/// Returns what stands before one of `others` in a name, up to a dot; empty:
/// nothing does.
template <typename Names>
std::string prefixOf(const std::string &name, const Names &others) {
  for (size_t at = name.find('.'); at != std::string::npos;
       at = name.find('.', at + 1)) {
    if (others.count(name.substr(at + 1)) != 0) {
      return name.substr(0, at + 1);
    }
  }
  return "";
}

/// Says which prefix makes the names of the file equal to the model's, if one
/// does.
std::string prefixText(const std::set<std::string> &names,
                       const LoadedWeights &loaded) {
  for (const std::string &name : names) {
    if (std::string prefix = prefixOf(name, loaded.weights); !prefix.empty()) {
      return absl::StrCat(". The file's '", name.substr(prefix.size()),
                          "' may be '", name, "': put '", prefix,
                          "' in front of its names");
    }
  }
  for (const auto &[name, weight] : loaded.weights) {
    if (std::string prefix = prefixOf(name, names); !prefix.empty()) {
      return absl::StrCat(". The file's '", name, "' may be '",
                          name.substr(prefix.size()), "': leave out the '",
                          prefix, "' in front of its names");
    }
  }
  return "";
}

/// Says that no name of the file is one of the plan's.
std::string foreignText(const std::set<std::string> &names,
                        const LoadedWeights &loaded) {
  return absl::StrCat(
      loaded.path,
      loaded.map.empty() ? "" : absl::StrCat(" by the names of ", loaded.map),
      " holds none of the model's ", names.size(), " parameters",
      names.empty() ? "" : absl::StrCat(", such as ", *names.begin()),
      "; it holds ", listOf(namesOf(loaded)), prefixText(names, loaded),
      ". Names must be equal: those of a module that was exported within "
      "another begin with the attribute's name",
      loaded.map.empty() ? ". Or --names MAP.json says what the file calls them"
                         : "");
}

std::string otherNamesText(const std::vector<std::string> &pairs,
                           const LoadedWeights &loaded) {
  if (!loaded.map.empty()) {
    return absl::StrCat(
        loaded.path, " by the names of ", loaded.map,
        " seems to have another name for a weight: ", listOf(pairs),
        ". If it is the same weight, correct ", loaded.map,
        "; if not, take it out of ", loaded.map, " and of the file");
  }
  return absl::StrCat(loaded.path,
                      " seems to have another name for a weight, as files of "
                      "tied weights do: ",
                      listOf(pairs),
                      ". If it is the same weight, rename it in the file; if "
                      "not, take it out of the file");
}

/// Keeps names of tensors by their shape.
using Names = std::map<std::vector<uint64_t>, std::vector<std::string>>;

/// Returns the trained parameters that the file lacks.
Names lackedBy(const LoadedWeights &loaded, const plan::Plan &plan) {
  Names lacked;
  for (const plan::Unit &unit : plan.units()) {
    for (const plan::Parameter &parameter : unit.parameters()) {
      if (loaded.find(parameter.name()) == nullptr && parameter.trainable() &&
          !isOfAdapter(parameter)) {
        lacked[{parameter.shape().begin(), parameter.shape().end()}].push_back(
            parameter.name());
      }
    }
  }
  return lacked;
}

/// The names that the plan does not know: by the map, and else.
struct Left {
  Names mapped, others;
};

Left leftIn(const LoadedWeights &loaded, const plan::Plan &plan) {
  std::set<std::string> names = namesOf(plan);
  Left left;
  for (const auto &[name, weight] : loaded.weights) {
    if (!names.count(name)) {
      (weight.mapped ? left.mapped : left.others)[weight.shape].push_back(name);
    }
  }
  return left;
}

/// Returns texts that name a trained matrix of the plan that a file lacks, and
/// one of that shape in the file whose name the plan does not know. A tied
/// weight has two names, and a file one of them; to go on would train the
/// model's own values. Says nothing of shapes that several have, unless a map
/// of names names what the plan does not know; then also of other tensors than
/// matrices.
std::vector<std::string> otherNames(const plan::Plan &plan,
                                    const LoadedWeights &loaded) {
  Left left = leftIn(loaded, plan);
  std::vector<std::string> pairs;
  for (const auto &[shape, lacks] : lackedBy(loaded, plan)) {
    auto mapped = left.mapped.find(shape), other = left.others.find(shape);
    const std::string *name = nullptr;
    if (mapped != left.mapped.end()) {
      name = &mapped->second[0];
    } else if (shape.size() > 1 && lacks.size() == 1 &&
               other != left.others.end() && other->second.size() == 1) {
      name = &other->second[0];
    }
    if (name != nullptr) {
      pairs.push_back(absl::StrCat("'", lacks[0], "' ", shapeText(shape),
                                   " is not in it, '", *name, "' is"));
    }
  }
  return pairs;
}

std::vector<std::string> unusedIn(const LoadedWeights &loaded,
                                  const std::set<std::string> &names) {
  std::vector<std::string> unused = loaded.hidden;
  for (const auto &[initializer, weight] : loaded.weights) {
    const std::string &name = weight.as.name;
    // A BatchNorm's count of batches is in each state_dict, and in no graph.
    if (!names.count(initializer) &&
        !absl::EndsWith(name, ".num_batches_tracked")) {
      unused.push_back(
          name == initializer
              ? name
              : absl::StrCat(name, " (", initializer, " in ", loaded.map, ")"));
    }
  }
  return unused;
}

/// On the file of weights.
void addLoadedNotes(std::vector<std::string> &notes, const Origins &origins,
                    const plan::Plan &plan, const LoadedWeights &loaded) {
  const std::string &path = loaded.path;
  if (std::vector<std::string> unused = unusedIn(loaded, namesOf(plan));
      !unused.empty()) {
    notes.push_back(absl::StrCat(
        path, ": not read, as the plan has no such parameter: ", listOf(unused),
        " (one that no gradient reaches keeps the model's value; --freeze NAME "
        "has it loaded)"));
  }
  if (!origins.absent.empty()) {
    notes.push_back(absl::StrCat(path, ": ", origins.absent.size(),
                                 " parameters are not in it and keep the "
                                 "values of the model: ",
                                 listOf(origins.absent)));
  }
  if (!origins.rounded.empty()) {
    notes.push_back(
        absl::StrCat(path, ": rounded to the 16 bits that the model has: ",
                     listOf(origins.rounded)));
  }
  if (!loaded.empty() && !origins.adapters.empty()) {
    notes.push_back(absl::StrCat(path, " has no adapters, which begin anew: ",
                                 listOf(origins.adapters)));
  }
}

void addMadeNotes(std::vector<std::string> &notes, const Origins &origins,
                  const plan::Plan &plan, const InitializeOptions &options) {
  if (!origins.made.empty()) {
    notes.push_back(absl::StrCat(
        origins.made.size(),
        " parameters begin with made up values: ", listOf(origins.made)));
  } else if (options.init_missing || (options.seed != 0 && !isRandom(plan) &&
                                      origins.adapters.empty())) {
    notes.push_back(absl::StrCat(
        options.init_missing ? "--init-missing" : "--seed",
        " has no effect: files hold the values of all parameters"));
  }
}

} // namespace

std::vector<std::string> zerograph::problemsOf(const Origins &origins,
                                               const plan::Plan &plan,
                                               const InitializeOptions &options,
                                               const LoadedWeights &loaded) {
  std::vector<std::string> problems = origins.unfit;
  if (!origins.missing.empty()) {
    problems.push_back(missingText(origins, options));
  }
  std::set<std::string> names = namesOf(plan);
  bool none = absl::c_none_of(names, [&](const std::string &name) {
    return loaded.find(name) != nullptr;
  });
  if (!loaded.empty() && none) {
    problems.push_back(foreignText(names, loaded));
  }
  if (std::vector<std::string> pairs = otherNames(plan, loaded);
      !none && !pairs.empty()) {
    problems.push_back(otherNamesText(pairs, loaded));
  }
  return problems;
}

std::string zerograph::warningOn(const Origins &origins, const plan::Plan &plan,
                                 const LoadedWeights &loaded) {
  std::vector<std::string> unused = unusedIn(loaded, namesOf(plan));
  return loaded.empty() || unused.empty() || origins.absent.empty()
             ? ""
             : absl::StrCat(loaded.path, " has ", listOf(unused),
                            ", which the plan has not, and lacks ",
                            listOf(origins.absent),
                            ", where the model's values stay: is a name "
                            "misspelt?");
}

std::vector<std::string> zerograph::notesOn(const Origins &origins,
                                            const plan::Plan &plan,
                                            const InitializeOptions &options,
                                            const LoadedWeights &loaded) {
  std::vector<std::string> notes;
  for (const auto &[from, to] : origins.moved_files) {
    notes.push_back(absl::StrCat("weights are read from ", to, ": ", from,
                                 ", named by the plan, is gone"));
  }
  if (!options.load_weights.empty()) {
    addLoadedNotes(notes, origins, plan, loaded);
  }
  addMadeNotes(notes, origins, plan, options);
  return notes;
}
