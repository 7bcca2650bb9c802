//===- Write.h - the DeepSpeed file of options ----------------------------===//

#ifndef ZEROGRAPH_CONFIG_WRITE_H
#define ZEROGRAPH_CONFIG_WRITE_H

#include <map>
#include <string>
#include <vector>

namespace zerograph::config {

/// A DeepSpeed file, and the options that no key of it stands for.
struct Written {
  std::string json; ///< ends with a line's end
  std::vector<std::string> without;
  std::vector<std::string> notes; ///< on what it means otherwise there
};

/// Writes a file from options without dashes, with their values as on a command
/// line. What is not given has our default, which the file says where
/// DeepSpeed's is another.
Written writeDeepSpeed(const std::map<std::string, std::string> &given);

/// An option's default as text; empty where it has none.
std::string defaultOf(const std::string &option);

} // namespace zerograph::config

#endif // ZEROGRAPH_CONFIG_WRITE_H
