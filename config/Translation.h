//===- Translation.h - keys of a configuration as options -----------------===//

#ifndef ZEROGRAPH_CONFIG_TRANSLATION_H
#define ZEROGRAPH_CONFIG_TRANSLATION_H

#include "config/Keys.h"

#include "absl/strings/str_cat.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace zerograph::config {

/// A key that was found.
struct ConfigEntry {
  const Key *key;
  Value value;
  std::string written; ///< its path as in the file
  std::string file;
  std::string shown;   ///< its value as in the file
  std::string note;    ///< about another spelling
  std::string problem; ///< why it is refused whatever the table says; or empty
  bool silent = false; ///< follows from a key that is listed already

  /// "'optimizer.params.lr' (ds.json, line 4)".
  std::string named() const;
};

/// An option that a key gives a value.
struct Setting {
  std::string option; ///< without dashes
  std::string value;  ///< as on a command line; "true" of a flag
  std::string key;    ///< as ConfigEntry::named
  /// The key asks for what DeepSpeed does anyway: no harm where there is no
  /// such option yet.
  bool by_default = false;
};

/// The meaning of a key here.
struct TranslatedKey {
  std::string key, value, file;
  int line = 0;
  KeySupport does = KeySupport::Applied;
  bool asks = false;            ///< for what DeepSpeed does not do anyway
  std::string text;             ///< why, or how
  std::vector<size_t> settings; ///< indices in Config::settings
};

/// A key that is auto, and has our default where Transformers has another.
struct Auto {
  std::string key, option;
  std::string ours, theirs;
};

/// The facts that are known besides the file.
struct Known {
  std::optional<int64_t> ranks;
  std::string ranks_from; ///< "--ranks", "the processes that were started"
  /// Come from the command line.
  std::optional<int64_t> micro_batch, accumulate, global_batch;
  std::optional<int64_t> stage; ///< also from the command line
  /// All that the command line gives, without dashes, and the values.
  std::map<std::string, std::string> options;
  std::optional<int64_t> model_batch; ///< that the model fixes
  std::optional<int64_t> hidden_size; ///< the model's, if it has one
  /// Fills in "auto" as Transformers does without arguments.
  bool like_transformers = false;
};

/// Samples of a step and what they are made of, where known.
struct Batch {
  std::optional<int64_t> train, micro, accumulate, ranks;
};

/// A configuration, translated.
struct Config {
  std::vector<TranslatedKey>
      meanings;                  ///< one for each key, in the file's order
  std::vector<Setting> settings; ///< no option twice
  std::vector<Auto> autos;       ///< that hold unless the option is given
  std::vector<std::string> notes;
  std::vector<std::string> problems;
  std::vector<std::string> unknown; ///< those keys that there are not
  Batch batch;
};

/// Makes options of what was found. Converters.h has what a key does to it.
class Translation {
public:
  /// `deepspeed`: what is missing is as by DeepSpeed; else as by PyTorch.
  Translation(std::vector<ConfigEntry> found, const Known &known,
              bool deepspeed)
      : all(std::move(found)), known(known), deepspeed(deepspeed) {}

  Config translate();

  // For converters, of the key that is being translated.

  /// The value of a key; null where it is missing, null or auto.
  const Value *value(absl::string_view path) const;
  bool has(absl::string_view path) const { return find(path) != nullptr; }
  bool isMissing(absl::string_view path) const;
  bool isAuto(absl::string_view path) const;
  int64_t stage() const;
  /// Returns what the run computes with: the command line's, or the file's; or
  /// fp32.
  std::string precision() const;
  /// Returns what the command line gives an option, which wins over every key.
  std::optional<std::string> given(const std::string &option) const;
  /// Gives an option its value. Two keys may disagree where the command line
  /// decides.
  void set(const ConfigEntry &from, const std::string &option,
           std::string value, bool by_default = false);
  /// The key has no effect after all.
  void noEffect(std::string text);
  void refuse(const ConfigEntry &what, absl::string_view why);
  void note(std::string text) { config.notes.push_back(std::move(text)); }
  /// Says what the key has become, which is one number of a batch.
  void sayBatch(const ConfigEntry &found);
  /// Adds to what is said of the key.
  void say(absl::string_view text);
  /// Says that the key is auto, and what its option's default is: the table's,
  /// unless it depends on the run.
  void sayDefault(const ConfigEntry &found);
  void sayDefault(const ConfigEntry &found, const std::string &text);

private:
  const ConfigEntry *find(absl::string_view path) const;
  void translate(const ConfigEntry &found);
  void fillIn();
  void fillInDefaults(ConfigEntry &found);
  void sayAuto(const ConfigEntry &found);
  void apply(const ConfigEntry &found);
  void linkSettings(const ConfigEntry &found);
  std::string offBecause(const Key &key) const;
  /// Returns whether the command line leaves the micro-batch to the compiler.
  bool choosesMicroBatch() const { return given("micro-batch") == "auto"; }
  void reconcileBatch();
  void setBatch();
  void sayDefaults();
  void setDefault(const char *option, const char *value, const char *whose);
  void addDeepSpeedDefaults();
  void addOffloadOfGradients();
  void sayReducePrecision();
  void sayAutoPrecision();
  void addGradScaler();

  std::vector<ConfigEntry> all;
  const Known &known;
  bool deepspeed;
  Config config;
  TranslatedKey *now = nullptr;
};

/// The batch that the file and what is known besides make; where the numbers do
/// not fit, an error that shows all four. Ranks are inferred where the other
/// three are given.
absl::StatusOr<Batch> reconcile(const Batch &given);

} // namespace zerograph::config

#endif // ZEROGRAPH_CONFIG_TRANSLATION_H
