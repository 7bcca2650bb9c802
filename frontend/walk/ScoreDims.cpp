//===- ScoreDims.cpp - which dims of scores are samples and classes -------===//

#include "frontend/walk/ScoreDims.h"

#include "frontend/base/Error.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace zerograph::frontend {

namespace {

/// The name of the dim of classes, to the user and in a file.
constexpr char kClasses[] = "classes";

/// "'logits' 8x4x5 (time, batch, 5)".
std::string describe(const Scores &scores) {
  std::string text =
      absl::StrCat("'", scores.name, "' ", shapeText(scores.shape));
  if (absl::c_any_of(scores.names, [](auto &name) { return !name.empty(); })) {
    std::vector<std::string> dims;
    for (size_t i = 0; i < scores.names.size(); ++i) {
      dims.push_back(scores.names[i].empty() ? absl::StrCat(scores.shape[i])
                                             : scores.names[i]);
    }
    absl::StrAppend(&text, " (", absl::StrJoin(dims, ", "), ")");
  }
  return text;
}

/// Returns the dim that the file gives a name; none where none or several have
/// it.
std::optional<int64_t> dimCalled(const Scores &scores,
                                 const std::string &name) {
  auto found = absl::c_find(scores.names, name);
  return name.empty() || absl::c_count(scores.names, name) != 1
             ? std::nullopt
             : std::optional<int64_t>(found - scores.names.begin());
}

std::optional<int64_t> namedBatch(const Scores &scores) {
  return dimCalled(scores, scores.batch);
}

bool isNamed(const Scores &scores, int64_t dim) {
  return !scores.names.empty() && !scores.names[dim].empty();
}

ScoreDims parse(const Scores &scores, const std::string &given,
                bool ofClasses) {
  std::vector<std::string> names = absl::StrSplit(given, ',');
  if (names.size() != scores.shape.size()) {
    fail("--loss-dims ", given, " names ", names.size(), " dims, but ",
         describe(scores), " has ", scores.shape.size());
  }
  auto placeOf = [&](const char *name) {
    if (absl::c_count(names, name) != 1) {
      fail("--loss-dims ", given, ": one of the dims must be called ", name,
           ", as in time,batch,classes");
    }
    return absl::c_find(names, name) - names.begin();
  };
  ScoreDims dims{placeOf("batch"), std::nullopt};
  if (ofClasses || absl::c_linear_search(names, kClasses)) {
    dims.classes = placeOf(kClasses);
  }
  return dims;
}

/// Fails where the file or the program contradicts that samples are in `dim`.
void checkBatch(const Scores &scores, const std::string &given, int64_t dim) {
  std::optional<int64_t> named = namedBatch(scores);
  for (auto [known, how] :
       {std::pair(named, "by the file's names of dims"),
        std::pair(scores.tracked, "as followed from the inputs")}) {
    if (known && *known != dim) {
      fail(given.empty() ? "--loss: the file's names say that"
                         : absl::StrCat("--loss-dims ", given, " says that"),
           " dim ", dim, " of ", describe(scores),
           " holds the samples, but they are in dim ", *known, " ", how,
           given.empty() ? ": give --loss-dims, and export with the right names"
                         : ": correct one of them");
    }
  }
}

/// Fails where nothing but a size could say which dim is classes.
void checkClasses(const Scores &scores, const ScoreDims &dims) {
  int64_t rank = scores.shape.size(), classes = *dims.classes;
  auto refuse = [&](const auto &...reason) {
    fail("--loss: which dim of ", describe(scores), " is the classes? ",
         reason..., ": give --loss-dims, as ",
         dims.batch == 0 ? "batch,length,classes or batch,classes,length"
                         : "time,batch,classes");
  };
  if (rank > 3 && dims.batch != 0) {
    refuse("Dim ", dims.batch, " is the samples, and there are ", rank - 1,
           " others");
  }
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (dim == dims.batch || dim == classes) {
      continue;
    }
    if (isNamed(scores, classes) && !isNamed(scores, dim)) {
      refuse("The file leaves the size of dim ", classes,
             " open, as of a length, and fixes that of dim ", dim);
    }
    if (rank == 3 && scores.shape[dim] == scores.shape[classes] &&
        isNamed(scores, dim) == isNamed(scores, classes)) {
      refuse("Dims ", dim, " and ", classes, " have one size");
    }
  }
}

} // namespace

std::vector<int64_t> ScoreDims::order(int64_t rank) const {
  if (rank == 0) {
    return {};
  }
  std::vector<int64_t> order{batch};
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (dim != batch && dim != classes) {
      order.push_back(dim);
    }
  }
  if (classes) {
    order.insert(order.begin() + AddedLoss::classAxis(rank), *classes);
  }
  return order;
}

ScoreDims decideScoreDims(const Scores &scores, const AddedLoss &loss,
                          const std::string &given) {
  if (!given.empty()) {
    ScoreDims dims = parse(scores, given, loss.ofClasses());
    checkBatch(scores, given, dims.batch);
    return dims;
  }
  int64_t rank = scores.shape.size();
  ScoreDims dims;
  dims.batch = namedBatch(scores).value_or(scores.tracked.value_or(0));
  checkBatch(scores, given, dims.batch);
  if (!loss.ofClasses() || rank < 2) {
    return dims;
  }
  std::optional<int64_t> classes = dimCalled(scores, kClasses);
  if (classes && *classes != dims.batch) {
    dims.classes = classes;
    return dims;
  }
  // The axis is counted with the samples moved to the front.
  int64_t axis = AddedLoss::classAxis(rank);
  dims.classes = axis <= dims.batch ? axis - 1 : axis;
  if (rank > 2 && !loss.shift) {
    checkClasses(scores, dims);
  }
  return dims;
}

} // namespace zerograph::frontend
