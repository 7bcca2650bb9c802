//===- Suggest.h - names in messages --------------------------------------===//

#ifndef ZEROGRAPH_FRONTEND_BASE_SUGGEST_H
#define ZEROGRAPH_FRONTEND_BASE_SUGGEST_H

#include <string>
#include <vector>

namespace zerograph::frontend {

/// The end of a message about a glob pattern that matches none of `names`: if a
/// part of a name is nearly the pattern, "; did you mean 'fc1.weight'?", else
/// "; there are a, b and 3 more".
std::string suggestFor(const std::string &pattern,
                       const std::vector<std::string> &names);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_BASE_SUGGEST_H
