//===- Mailbox.h - what ranks of emulated NCCL send each other ------------===//
//
// Files in a folder that the communicator's id names, so that ranks may be
// threads or processes.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_MAILBOX_H
#define ZEROGRAPH_TESTS_EMULATOR_MAILBOX_H

#include <cstdint>
#include <string>

namespace zerograph::emulator {

class Mailbox {
public:
  explicit Mailbox(std::string folder) : folder(std::move(folder)) {}

  const std::string &name() const { return folder; }

  /// A folder that is there for nobody else; empty where none can be made.
  static std::string makeFolder();
  static void removeFolder(const std::string &folder);

  /// Message `number` of a rank; who asks for it sees all of it, or nothing.
  void put(unsigned rank, uint64_t number, const std::string &message) const;
  bool has(unsigned rank, uint64_t number) const;
  std::string get(unsigned rank, uint64_t number) const;
  void remove(unsigned rank, uint64_t number) const;

private:
  std::string path(unsigned rank, uint64_t number) const;

  std::string folder;
};

} // namespace zerograph::emulator

#endif // ZEROGRAPH_TESTS_EMULATOR_MAILBOX_H
