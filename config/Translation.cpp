//===- Translation.cpp - keys of a configuration as options ---------------===//

#include "config/Translation.h"

#include "config/Converters.h"

#include "absl/strings/match.h"

#include <algorithm>

namespace zerograph::config {
namespace {

/// Returns whether the switch of a section is on.
bool isOn(const Value *value) {
  return value != nullptr && !value->isNull() && !value->isAuto() &&
         value->boolean() != false &&
         !absl::EqualsIgnoreCase(value->text, "none");
}

/// Why a key has no effect where the command line has something else than its
/// section; or empty.
std::string replacedBecause(const Key &key, const Translation &to) {
  for (auto *replaced :
       {replacedOptimizer, replacedSchedule, replacedPrecision}) {
    if (std::string why = replaced(key, to); !why.empty()) {
      return why;
    }
  }
  return "";
}

} // namespace

std::string ConfigEntry::named() const {
  std::string at = value.line > 0 ? absl::StrCat(", line ", value.line) : "";
  return absl::StrCat("'", written, "' (", file, at, ")");
}

const ConfigEntry *Translation::find(absl::string_view path) const {
  for (const ConfigEntry &found : all) {
    if (found.key->path == path) {
      return &found;
    }
  }
  return nullptr;
}

const Value *Translation::value(absl::string_view path) const {
  const ConfigEntry *found = find(path);
  return found == nullptr || found->value.isNull() || found->value.isAuto() ||
                 !hasType(found->value, found->key->type)
             ? nullptr
             : &found->value;
}

std::optional<std::string> Translation::given(const std::string &option) const {
  auto found = known.options.find(option);
  return found == known.options.end() ? std::nullopt
                                      : std::optional(found->second);
}

bool Translation::isAuto(absl::string_view path) const {
  const ConfigEntry *found = find(path);
  return found != nullptr && found->value.isAuto();
}

int64_t Translation::stage() const {
  const Value *stage = value("zero_optimization.stage");
  if (known.stage) {
    return *known.stage;
  }
  return stage != nullptr ? *stage->integer() : 0;
}

std::string Translation::precision() const {
  if (given("precision")) {
    return *given("precision");
  }
  for (const char *half : {"fp16", "bf16"}) {
    const Value *on = value(absl::StrCat(half, ".enabled"));
    if (on != nullptr && on->boolean() == true) {
      return half;
    }
  }
  return "fp32";
}

void Translation::set(const ConfigEntry &from, const std::string &option,
                      std::string value, bool by_default) {
  size_t at = 0;
  while (at < config.settings.size() && config.settings[at].option != option) {
    ++at;
  }
  if (at == config.settings.size()) {
    config.settings.push_back({option, value, from.named(), by_default});
  } else if (config.settings[at].value == value) {
    // Both mean the same.
  } else if (std::optional<std::string> wins = given(option)) {
    if (*wins != value) {
      noEffect(
          absl::StrCat("the command line's --", option, " ", *wins, " wins"));
      note(absl::StrCat("--", option, " ", *wins,
                        " of the command line wins over ", from.named()));
      return;
    }
  } else {
    config.problems.push_back(
        absl::StrCat(from.named(), " means --", option, " ", value, ", but ",
                     config.settings[at].key, " means --", option, " ",
                     config.settings[at].value, ": leave one of them out"));
  }
  now->settings.push_back(at);
}

void Translation::noEffect(std::string text) {
  now->does = KeySupport::NoEffect;
  now->text = std::move(text);
}

void Translation::refuse(const ConfigEntry &what, absl::string_view why) {
  now->does = KeySupport::Refused;
  now->text = std::string(why);
  config.problems.push_back(
      absl::StrCat(what.named(), " is ", what.shown, ": ", why));
}

void Translation::say(absl::string_view text) {
  if (!text.empty()) {
    absl::StrAppend(&now->text, now->text.empty() ? "" : "; ", text);
  }
}

/// Why nothing in the key's section has an effect; empty where it has.
std::string Translation::offBecause(const Key &key) const {
  for (size_t dot = key.path.find('.'); dot != std::string::npos;
       dot = key.path.find('.', dot + 1)) {
    std::string section = key.path.substr(0, dot);
    const Key *row = findKey(key.dialect, section);
    std::string path = absl::StrCat(section, ".", row ? row->on : "");
    if (row == nullptr || row->on.empty() || path == key.path) {
      continue;
    }
    const Key *on = findKey(key.dialect, path);
    std::optional<bool> switched = on->converter->switched != nullptr
                                       ? on->converter->switched(*on, *this)
                                       : std::nullopt;
    if (switched == true) {
      continue;
    }
    if (switched == false) {
      return absl::StrCat("--", on->option, " ", *given(on->option),
                          " was given");
    }
    const ConfigEntry *found = find(path);
    if (found == nullptr) {
      return absl::StrCat("'", path, "' is missing");
    }
    if (!isOn(&found->value)) {
      return absl::StrCat("'", path, "' is ", found->value.shown());
    }
  }
  return "";
}

/// Gives each key a part in a setting that is made of several.
void Translation::linkSettings(const ConfigEntry &found) {
  for (size_t i = 0; i < config.settings.size(); ++i) {
    std::vector<size_t> &linked = now->settings;
    if (config.settings[i].key == found.named() &&
        std::find(linked.begin(), linked.end(), i) == linked.end()) {
      linked.push_back(i);
    }
  }
}

/// A value that is neither null nor auto.
void Translation::apply(const ConfigEntry &found) {
  const Key &key = *found.key;
  if (key.converter->read != nullptr) {
    key.converter->read(found, *this);
  } else if (key.does == KeySupport::Refused && asks(found.value, key)) {
    refuse(found, key.text);
  } else if (key.does == KeySupport::Refused) {
    bool word = found.value.kind == Value::Kind::Scalar && isOn(&found.value);
    noEffect(word ? "the default" : "off");
  }
  linkSettings(found);
  bool said = key.does == KeySupport::Applied &&
              (!now->settings.empty() || !now->text.empty());
  if (now->does == key.does && key.does != KeySupport::Refused && !said) {
    say(key.text);
  }
}

void Translation::translate(const ConfigEntry &found) {
  const Key &key = *found.key;
  TranslatedKey meaning{found.written,    found.shown, found.file,
                        found.value.line, key.does,    asks(found.value, key),
                        found.note,       {}};
  now = &meaning;
  if (!found.problem.empty()) {
    refuse(found, found.problem);
  } else if (std::string off = offBecause(key); !off.empty()) {
    noEffect(off);
  } else if (std::string by = replacedBecause(key, *this); !by.empty()) {
    noEffect(by);
    if (leafOf(key.path) == "type") { // of the whole section
      note(absl::StrCat(found.named(), " has no effect: ", by));
    }
  } else if (key.does != KeySupport::NoEffect &&
             key.does != KeySupport::OutOfScope &&
             !hasType(found.value, key.type)) {
    refuse(found, absl::StrCat("expected ", nameOf(key.type)));
  } else if (found.value.isAuto() && key.does != KeySupport::NoEffect) {
    sayAuto(found);
  } else if (found.value.isNull()) {
    say("as if it were missing");
  } else {
    apply(found);
  }
  if (!found.silent) {
    config.meanings.push_back(std::move(meaning));
  }
}

Config Translation::translate() {
  fillIn();
  reconcileBatch();
  setBatch();
  for (const ConfigEntry &found : all) {
    translate(found);
  }
  sayDefaults();
  return std::move(config);
}

} // namespace zerograph::config
