//===- Globs.h - patterns of names ----------------------------------------===//

#ifndef ZEROGRAPH_OPTIONS_GLOBS_H
#define ZEROGRAPH_OPTIONS_GLOBS_H

#include <fnmatch.h>
#include <string>

namespace zerograph::options {

/// Returns whether the pattern matches the whole name: *, ?, [abc] as a
/// shell's, and @(one|other) for either, as glibc's FNM_EXTMATCH has it.
inline bool matches(const std::string &pattern, const std::string &name) {
  return fnmatch(pattern.c_str(), name.c_str(), FNM_EXTMATCH) == 0;
}

} // namespace zerograph::options

#endif // ZEROGRAPH_OPTIONS_GLOBS_H
