//===- FuzzNpy.cpp - bytes as a .npy or .npz file -------------------------===//

#include "tests/fuzz/ReadBack.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace zerograph;

/// A folder of one array, gone with the process.
struct Folder {
  Folder() {
    // In memory where there is such a place: a file is made for every input.
    path = std::filesystem::is_directory("/dev/shm") ? "/dev/shm" : "/tmp";
    path += "/zerograph-fuzz-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) {
      std::perror(path.c_str());
      std::exit(1); // of the machine, not of the code under test
    }
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string path;
};

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const Folder folder;
  std::ofstream(folder.path + "/x.npy", std::ios::binary)
      .write(reinterpret_cast<const char *>(data),
             static_cast<std::streamsize>(size));
  fuzz::requireReadable(readNpyFolder(folder.path));
  fuzz::requireReadable(readNpz(folder.path + "/x.npy"));
  return 0;
}
