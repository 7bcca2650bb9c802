//===- Mailbox.cpp - what ranks of emulated NCCL send each other ----------===//

#include "tests/emulator/Mailbox.h"

#include "absl/strings/str_cat.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

using namespace zerograph::emulator;

std::string Mailbox::makeFolder() {
  // Memory, where the system has it as files.
  std::string name = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  if (const char *given = std::getenv("ZEROGRAPH_EMULATOR_FOLDER")) {
    name = given;
  }
  name += "/zerograph-nccl-XXXXXX";
  return mkdtemp(name.data()) ? name : "";
}

void Mailbox::removeFolder(const std::string &folder) {
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

std::string Mailbox::path(unsigned rank, uint64_t number) const {
  return absl::StrCat(folder, "/", rank, ".", number);
}

void Mailbox::put(unsigned rank, uint64_t number,
                  const std::string &message) const {
  std::string name = path(rank, number), part = name + ".part";
  std::ofstream(part, std::ios::binary) << message;
  std::rename(part.c_str(), name.c_str());
}

bool Mailbox::has(unsigned rank, uint64_t number) const {
  return access(path(rank, number).c_str(), F_OK) == 0;
}

std::string Mailbox::get(unsigned rank, uint64_t number) const {
  std::ifstream file(path(rank, number), std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void Mailbox::remove(unsigned rank, uint64_t number) const {
  std::remove(path(rank, number).c_str());
}
