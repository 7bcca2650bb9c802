//===- FuzzNpy.cpp - bytes as a .npy file ---------------------------------===//

#include "runtime/io/TensorFile.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace zerograph;

/// A folder of one array, gone with the process.
struct Folder {
  Folder() {
    char name[] = "/tmp/zerograph-fuzz-XXXXXX";
    if (mkdtemp(name) == nullptr) {
      std::perror(name);
      std::exit(1); // of the machine, not of the code under test
    }
    path = name;
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
  auto tensors = readNpyFolder(folder.path);
  if (!tensors.ok()) {
    if (tensors.status().message().empty()) {
      std::abort();
    }
    return 0;
  }
  for (const auto &[name, extent] : *tensors) {
    std::string bytes(extent.bytes, '\0');
    if (!extent.file->read(extent.offset, extent.bytes, bytes.data()).ok()) {
      std::abort(); // what was promised can be read
    }
  }
  return 0;
}
