//===- Patterns.h - the patterns of --train, --freeze, --lora -------------===//

#ifndef ZEROGRAPH_FRONTEND_EXPORTER_PATTERNS_H
#define ZEROGRAPH_FRONTEND_EXPORTER_PATTERNS_H

#include <string>
#include <utility>
#include <vector>

namespace zerograph::frontend {

/// The glob patterns that the user gave to one option.
class Patterns {
public:
  /// `of`: what they are patterns of, for messages.
  Patterns(const char *option, std::vector<std::string> patterns,
           const char *of = "float initializer")
      : option(option), of(of), patterns(std::move(patterns)),
        used(this->patterns.size()), first(this->patterns.size()) {}

  /// The first pattern that matches `name`, or null. Remembers all that do, and
  /// which were the first.
  const std::string *match(const std::string &name);
  /// Adds a line for each pattern that has matched nothing; `names` are those
  /// that it could have matched.
  void addUnused(const std::vector<std::string> &names,
                 std::vector<std::string> &problems) const;
  /// Adds a line for each pattern whose names all match one before it.
  void addLate(std::vector<std::string> &problems) const;

private:
  const char *option, *of;
  std::vector<std::string> patterns;
  std::vector<bool> used, first;
};

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_EXPORTER_PATTERNS_H
