//===- Flatten.cpp - from the values of files to keys of the table --------===//

#include "config/Flatten.h"

#include "absl/strings/match.h"

#include <algorithm>

namespace zerograph::config {
namespace {

/// `true` of a key that is a device now.
Value deviceOf(Value value) {
  if (std::optional<bool> on = value.boolean()) {
    value.text = *on ? "cpu" : "none";
  }
  return value;
}

std::string joined(const std::string &path, const std::string &name) {
  return path.empty() ? name : absl::StrCat(path, ".", name);
}

bool sameValue(const Value &a, const Value &b, Type type) {
  return type == Type::Number || type == Type::Integer
             ? a.number() == b.number()
         : type == Type::Bool ? a.boolean() == b.boolean()
                              : absl::EqualsIgnoreCase(a.shown(), b.shown());
}

} // namespace

bool isAccelerate(const Value &root) {
  constexpr const char *kKeys[] = {"compute_environment", "distributed_type",
                                   "deepspeed_config", "num_processes",
                                   "mixed_precision"};
  return std::any_of(root.children.begin(), root.children.end(),
                     [&](const Value &child) {
                       return std::find(std::begin(kKeys), std::end(kKeys),
                                        child.name) != std::end(kKeys);
                     });
}

const ConfigEntry *Flatten::find(absl::string_view path) const {
  for (const ConfigEntry &found : given) {
    if (found.key->path == path) {
      return &found;
    }
  }
  return nullptr;
}

/// One key has one value: twice is an error, in two files where they differ.
void Flatten::add(ConfigEntry found) {
  auto other =
      std::find_if(given.begin(), given.end(), [&](const ConfigEntry &old) {
        return old.key == found.key;
      });
  if (other == given.end()) {
    given.push_back(std::move(found));
    return;
  }
  if (other->file == found.file) {
    problems.push_back(absl::StrCat(found.named(), " is given twice: also as ",
                                    other->named()));
    return;
  }
  if (found.value.isAuto() || found.value.isNull()) {
    return; // the other file fills it in
  }
  if (other->value.isAuto() || other->value.isNull()) {
    *other = std::move(found);
    return;
  }
  if (!sameValue(other->value, found.value, found.key->type)) {
    problems.push_back(absl::StrCat(
        found.named(), " is ", found.value.shown(), ", but ", other->named(),
        " is ", other->value.shown(), ": leave one of them out"));
  }
}

void Flatten::addUnknown(const ConfigEntry &found, const std::string &meant) {
  unknown.push_back(absl::StrCat(found.named(), ": there is no such key",
                                 meant.empty() ? "" : "; ", meant));
}

void Flatten::flattenKey(const Value &child, Dialect dialect, std::string path,
                         const std::string &written, const std::string &file) {
  ConfigEntry found{nullptr,       child, written, file,
                    child.shown(), "",    "",      false};
  const Alias *alias =
      dialect == Dialect::DeepSpeed ? findAlias(path) : nullptr;
  if (alias != nullptr) {
    path = alias->target;
    found.note = alias->text.empty()
                     ? absl::StrCat("the same as '", path, "'")
                     : absl::StrCat(alias->text, "; now '", path, "'");
    if (absl::EndsWith(path, ".device")) {
      found.value = deviceOf(child);
    }
  }
  found.key = findKey(dialect, path);
  if (absl::StrContains(child.name, '.')) { // a path is no name
    bool exists = found.key != nullptr;
    addUnknown(found,
               exists ? absl::StrCat("did you mean '", leafOf(path),
                                     "' in a section '", parentOf(path), "'?")
                      : "");
    return;
  }
  if (found.key == nullptr) {
    addUnknown(found, nearestKey(dialect, path));
    return;
  }
  if (found.key->type != Type::Section) {
    add(std::move(found));
    return;
  }
  if (path == "zero_optimization" && child.boolean()) {
    found.key = findKey(dialect, "zero_optimization.stage");
    found.value = Value::of(*child.boolean() ? "1" : "0", child.line);
    found.note = "true is stage 1";
    add(std::move(found));
    return;
  }
  if (child.isNull()) {
    return;
  }
  if (!child.isMap()) {
    problems.push_back(absl::StrCat(found.named(), " is ", child.shown(),
                                    ": expected ", nameOf(Type::Section)));
    return;
  }
  // A file may name a section once; another file may have it as well.
  std::string once = absl::StrCat(file, "\n", path);
  for (const auto &[section, name] : sections) {
    if (section == once) {
      problems.push_back(
          absl::StrCat(found.named(), " is given twice: also as ", name));
      return;
    }
  }
  sections.emplace_back(once, found.named());
  flatten(child, dialect, path, written, file);
}

void Flatten::flatten(const Value &map, Dialect dialect,
                      const std::string &path, const std::string &written,
                      const std::string &file) {
  for (const Value &child : map.children) {
    flattenKey(child, dialect, joined(path, child.name),
               joined(written, child.name), file);
  }
}

void Flatten::addDeepSpeed(const Value &root, const std::string &file) {
  flatten(root, Dialect::DeepSpeed, "", "", file);
}

/// Its word for both types of 16 bits.
void Flatten::addMixedPrecision(const ConfigEntry &found) {
  if (found.value.isNull()) {
    return;
  }
  std::string type = found.value.text;
  if (found.value.boolean() == false) {
    type = "no"; // YAML's word for false
  }
  if (type != "no" && type != "bf16" && type != "fp16") {
    ConfigEntry refused = found;
    refused.problem = "there are no, bf16 and fp16";
    add(std::move(refused));
    return;
  }
  for (const char *section : {"bf16", "fp16"}) {
    ConfigEntry part = found;
    part.key = findKey(Dialect::DeepSpeed, absl::StrCat(section, ".enabled"));
    part.value =
        Value::of(type == section ? "true" : "false", found.value.line);
    part.silent = section != (type == "fp16" ? type : "bf16");
    add(std::move(part));
  }
}

/// Checks what kind of run Accelerate is asked for.
void Flatten::checkKind() {
  auto kind =
      std::find_if(given.begin(), given.end(), [](const ConfigEntry &found) {
        return found.key->path == "distributed_type";
      });
  bool there = kind != given.end() && !kind->value.isNull();
  deepspeed = there && absl::EqualsIgnoreCase(kind->value.text, "DEEPSPEED");
  bool plain = !there || kind->value.boolean() == false;
  for (const char *type : {"NO", "MULTI_CPU", "MULTI_GPU"}) {
    plain |= there && absl::EqualsIgnoreCase(kind->value.text, type);
  }
  if (!deepspeed && !plain) {
    kind->problem = "there are DEEPSPEED, MULTI_CPU, MULTI_GPU and NO; of "
                    "FSDP, DEEPSPEED with zero_stage 3 divides the same";
  }
  for (const auto &[section, name] : sections) {
    if (!deepspeed && absl::EndsWith(section, "\ndeepspeed_config")) {
      problems.push_back(absl::StrCat(
          name, " has an effect only with distributed_type DEEPSPEED: write "
                "that, or leave the section out"));
    }
  }
}

void Flatten::addAccelerate(const Value &root, const std::string &file) {
  flatten(root, Dialect::Accelerate, "", "", file);
  checkKind();
  std::vector<ConfigEntry> own;
  own.swap(given);
  for (ConfigEntry &found : own) {
    if (found.key->path == "mixed_precision") {
      addMixedPrecision(found);
      continue;
    }
    if (!found.key->target.empty()) {
      found.note = absl::StrCat("'", found.key->target, "'");
      found.key = findKey(Dialect::DeepSpeed, found.key->target);
    }
    add(std::move(found));
  }
}

void Flatten::addDefaults(const std::string &file) {
  bool section =
      std::any_of(sections.begin(), sections.end(), [](const auto &met) {
        return absl::EndsWith(met.first, "\ndeepspeed_config");
      });
  if (section && find("zero_optimization.stage") == nullptr &&
      find("deepspeed_config.deepspeed_config_file") == nullptr) {
    given.push_back({findKey(Dialect::DeepSpeed, "zero_optimization.stage"),
                     Value::of("2", 0), "deepspeed_config.zero_stage", file,
                     "missing", "2, as in Accelerate", "", false});
  }
}

} // namespace zerograph::config
