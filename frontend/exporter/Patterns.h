//===- Patterns.h - the patterns of --train and --freeze ------------------===//

#ifndef ZEROGRAPH_FRONTEND_EXPORTER_PATTERNS_H
#define ZEROGRAPH_FRONTEND_EXPORTER_PATTERNS_H

#include <string>
#include <vector>

namespace zerograph::frontend {

/// The glob patterns that the user gave to one option.
class Patterns {
public:
  Patterns(const char *option, const std::vector<std::string> &patterns)
      : option(option), patterns(patterns), used(patterns.size()) {}

  /// The first pattern that matches `name`, or null. Remembers all that do.
  const std::string *match(const std::string &name);
  /// Adds a line for each pattern that has matched nothing; `names` are those
  /// that it could have matched.
  void addUnused(const std::vector<std::string> &names,
                 std::vector<std::string> &problems) const;

private:
  const char *option;
  const std::vector<std::string> &patterns;
  std::vector<bool> used;
};

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_EXPORTER_PATTERNS_H
