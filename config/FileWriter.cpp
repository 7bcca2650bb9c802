//===- FileWriter.cpp - a DeepSpeed file while it is written --------------===//

#include "config/FileWriter.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace zerograph::config {
namespace {

using nlohmann::ordered_json;

/// An option's text as a value of JSON.
ordered_json typed(const std::string &text, Type type) {
  int64_t whole;
  double real;
  if (type == Type::Bool) {
    return text != "false";
  }
  if (type == Type::Integer && absl::SimpleAtoi(text, &whole)) {
    return whole;
  }
  if (type == Type::Number && absl::SimpleAtod(text, &real)) {
    return real;
  }
  if (type == Type::List) {
    std::vector<ordered_json> all;
    for (absl::string_view part : absl::StrSplit(text, ',')) {
      all.push_back(typed(std::string(part), Type::Number));
    }
    return all;
  }
  return text;
}

} // namespace

std::string FileWriter::value(const std::string &option) const {
  return has(option) ? given.at(option) : defaultOf(option);
}

int64_t FileWriter::integer(const std::string &option) const {
  int64_t number = 0;
  return absl::SimpleAtoi(value(option), &number) ? number : 0;
}

void FileWriter::put(const Key &key, std::string text) {
  lines.emplace_back(&key, std::move(text));
  said.insert(key.option);
}

void FileWriter::putGiven(const Key &key) {
  if (has(key.option)) {
    put(key, value(key.option));
  }
}

bool FileWriter::wrote(absl::string_view path) const {
  return std::any_of(lines.begin(), lines.end(), [&](const auto &line) {
    return line.first->path == path;
  });
}

Written FileWriter::finish() {
  ordered_json json;
  for (const auto &[key, text] : lines) {
    ordered_json *at = &json;
    for (absl::string_view name : absl::StrSplit(key->path, '.')) {
      at = &(*at)[std::string(name)];
    }
    *at = typed(text, key->type);
  }
  Written file{json.dump(2) + "\n", {}, std::move(notes)};
  for (const auto &[option, text] : given) {
    if (!said.count(option)) {
      file.without.push_back(option);
    }
  }
  return file;
}

} // namespace zerograph::config
