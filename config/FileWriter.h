//===- FileWriter.h - a DeepSpeed file while it is written ----------------===//

#ifndef ZEROGRAPH_CONFIG_FILEWRITER_H
#define ZEROGRAPH_CONFIG_FILEWRITER_H

#include "config/Keys.h"
#include "config/Write.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace zerograph::config {

/// Gathers what a DeepSpeed file says of the options that are given. Options
/// are named without dashes.
class FileWriter {
public:
  explicit FileWriter(const std::map<std::string, std::string> &given)
      : given(given) {}

  bool has(const std::string &option) const { return given.count(option) > 0; }
  /// Returns what the option is given, or its default.
  std::string value(const std::string &option) const;
  /// The same as a whole number; 0 where it is none.
  int64_t integer(const std::string &option) const;

  /// Writes a key, which speaks for its option from then on. `text` is as on a
  /// command line; what is not of the key's type, as auto, becomes a word.
  void put(const Key &key, std::string text);
  void putWhether(const Key &key, bool on) { put(key, on ? "true" : "false"); }
  /// Says that what was written speaks for this option too.
  void cover(const std::string &option) { said.insert(option); }
  /// Writes the value of the key's option, where it is given.
  void putGiven(const Key &key);
  bool wrote(absl::string_view path) const;
  /// Says what the file means otherwise there.
  void note(std::string text) { notes.push_back(std::move(text)); }

  /// The file, and the options that no key has spoken for.
  Written finish();

private:
  const std::map<std::string, std::string> &given;
  std::vector<std::pair<const Key *, std::string>> lines;
  std::set<std::string> said;
  std::vector<std::string> notes;
};

} // namespace zerograph::config

#endif // ZEROGRAPH_CONFIG_FILEWRITER_H
