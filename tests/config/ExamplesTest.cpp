//===- ExamplesTest.cpp - files as people have them, key by key -----------===//
//
// Each file of examples/ has beside it what its keys mean: NAME.expected.
// Where that is to change, ZEROGRAPH_UPDATE=1 writes it anew.
//
//===----------------------------------------------------------------------===//

#include "tests/config/Read.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace zerograph::config {
namespace {

std::string contentOf(const std::filesystem::path &path) {
  std::stringstream content;
  content << std::ifstream(path).rdbuf();
  return content.str();
}

/// Messages have the file's name, not where it lies.
std::string withoutFolder(std::string text, const std::string &folder) {
  for (size_t at; (at = text.find(folder + "/")) != std::string::npos;) {
    text.erase(at, folder.size() + 1);
  }
  return text;
}

std::string described(const Config &config) {
  std::string text;
  for (const TranslatedKey &meaning : config.meanings) {
    absl::StrAppend(&text, meaning.key, " = ", meaning.value, ": ",
                    nameOf(meaning.does));
    for (size_t index : meaning.settings) {
      const Setting &setting = config.settings[index];
      absl::StrAppend(&text, " --", setting.option, " ", setting.value);
    }
    absl::StrAppend(&text, meaning.text.empty() ? "" : "; ", meaning.text,
                    "\n");
  }
  for (const Setting &setting : config.settings) {
    absl::StrAppend(&text, "--", setting.option, " ", setting.value, "\n");
  }
  for (const std::string &note : config.notes) {
    absl::StrAppend(&text, "note: ", note, "\n");
  }
  for (const std::string &problem : config.problems) {
    absl::StrAppend(&text, "problem: ", problem, "\n");
  }
  return text;
}

/// How many keys a file has, those of sections counted, not the sections.
size_t keysOf(const Value &value, Dialect dialect, const std::string &path) {
  size_t count = 0;
  for (const Value &child : value.children) {
    std::string name = path.empty() ? child.name : path + "." + child.name;
    const Key *key = findKey(dialect, name);
    bool section =
        key != nullptr && key->type == Type::Section && child.isMap();
    count += section ? keysOf(child, dialect, name) : 1;
  }
  return count;
}

TEST(Examples, AreExplainedKeyByKey) {
  std::string folder = std::string(ZEROGRAPH_TEST_DATA) + "/examples";
  std::vector<std::filesystem::path> files;
  for (const auto &entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".expected") {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  EXPECT_GE(files.size(), 12u);
  for (const std::filesystem::path &file : files) {
    auto config = read(file.string(), Known()).value();
    std::string text = withoutFolder(described(config), folder);
    std::filesystem::path expected = file;
    expected += ".expected";
    if (std::getenv("ZEROGRAPH_UPDATE") != nullptr) {
      std::ofstream(expected) << text;
    }
    EXPECT_EQ(text, contentOf(expected)) << file;
    absl::StatusOr<Value> value = parseValue(contentOf(file));
    bool yaml = file.extension() == ".yaml";
    size_t keys =
        keysOf(*value, yaml ? Dialect::Accelerate : Dialect::DeepSpeed, "");
    if (file.filename() != "accelerate_file.yaml") { // it has another's too
      EXPECT_EQ(config.meanings.size(), keys) << file;
    }
  }
}

} // namespace
} // namespace zerograph::config
