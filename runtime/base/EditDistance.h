//===- EditDistance.h - how far a name is from the one that was meant -----===//

#ifndef ZEROGRAPH_RUNTIME_BASE_EDITDISTANCE_H
#define ZEROGRAPH_RUNTIME_BASE_EDITDISTANCE_H

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace zerograph {

/// The extent of the text that `editDistance` compares with.
enum class Match { whole, part };

/// Fewest letters to insert, remove or replace that turn `given` into `text`
/// (Levenshtein), or into some part of it (Sellers).
inline size_t editDistance(std::string_view given, std::string_view text,
                           Match match = Match::whole) {
  // Entry i: from the first i letters of `given` to the text so far.
  std::vector<size_t> column(given.size() + 1);
  std::iota(column.begin(), column.end(), 0);
  size_t least = column.back();
  for (char letter : text) {
    size_t diagonal = column[0];
    column[0] += match == Match::whole; // a part may begin anywhere
    for (size_t i = 1; i <= given.size(); ++i) {
      size_t substituted = diagonal + (given[i - 1] != letter);
      diagonal = column[i];
      column[i] = std::min({column[i] + 1, column[i - 1] + 1, substituted});
    }
    least = std::min(least, column.back());
  }
  return match == Match::whole ? column.back() : least;
}

/// The name that `given` is most nearly, or a part of; null where none is near:
/// one edit in three letters is a slip, more is another name.
inline const std::string *nearest(std::string_view given,
                                  const std::vector<std::string> &names) {
  size_t least = given.size() / 3 + 1;
  const std::string *best = nullptr;
  for (const std::string &name : names) {
    size_t edits = editDistance(given, name, Match::part);
    if (edits < least) {
      least = edits;
      best = &name;
    }
  }
  return best;
}

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_BASE_EDITDISTANCE_H
