//===- Matrix.h - trainings that take too long to run each time -----------===//

#ifndef ZEROGRAPH_TESTS_E2E_MATRIX_H
#define ZEROGRAPH_TESTS_E2E_MATRIX_H

#include <cstdlib>
#include <fstream>
#include <set>
#include <string>

namespace zerograph::testing {

/// The file of what has passed, where the whole matrix is asked for; or null.
inline const char *matrixFile() { return std::getenv("ZEROGRAPH_MATRIX"); }

/// Names, kept in that file if there is one.
class Passed {
public:
  Passed() {
    if (const char *path = matrixFile()) {
      std::ifstream known(path);
      for (std::string line; std::getline(known, line);) {
        names.insert(line);
      }
      file.open(path, std::ios::app);
    }
  }
  bool has(const std::string &name) const { return names.contains(name); }
  void add(const std::string &name) { file << name << std::endl; }

private:
  std::set<std::string> names;
  std::ofstream file;
};

} // namespace zerograph::testing

#endif // ZEROGRAPH_TESTS_E2E_MATRIX_H
