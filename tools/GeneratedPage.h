//===- GeneratedPage.h - pages that are made of tables --------------------===//

#ifndef ZEROGRAPH_TOOLS_GENERATEDPAGE_H
#define ZEROGRAPH_TOOLS_GENERATEDPAGE_H

#include <fstream>
#include <functional>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>

namespace zerograph {

/// The main of a program that is called with PAGE, and --write or not: makes
/// the page anew of what it is, and writes it, or fails where it was another.
/// `make` says on standard error why it gives nothing; `table`: what it is made
/// of.
inline int
pageMain(int argc, char **argv, const char *table,
         const std::function<std::optional<std::string>(std::string)> &make) {
  if (argc < 2) {
    std::cerr << "usage: " << argv[0] << " PAGE [--write]\n";
    return 2;
  }
  std::string path = argv[1];
  std::stringstream content;
  content << std::ifstream(path).rdbuf();
  std::optional<std::string> page = make(content.str());
  if (!page) {
    return 1;
  }
  if (argc > 2) {
    return (std::ofstream(path) << *page).flush() ? 0 : 1;
  }
  if (*page != content.str()) {
    std::cerr << path << " is not what " << table << " says; "
              << "`ninja -C build docs` writes it\n";
    return 1;
  }
  return 0;
}

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_GENERATEDPAGE_H
