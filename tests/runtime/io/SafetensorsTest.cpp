//===- SafetensorsTest.cpp - tensor files, whole and broken ---------------===//

#include "runtime/io/SafetensorsWriter.h"
#include "tests/support/Folder.h"
#include "tests/support/Says.h"

#include "gtest/gtest.h"

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace zerograph;

namespace {

class TensorFileTest : public zerograph::testing::FolderCase {
protected:
  void put(const std::string &name, const std::string &bytes) {
    std::ofstream(path(name), std::ios::binary) << bytes;
  }
  /// A file with this header and as many bytes of data.
  std::string safetensors(const std::string &header, size_t data) {
    std::string length(8, '\0');
    uint64_t size = header.size();
    std::memcpy(length.data(), &size, 8);
    return length + header + std::string(data, 'x');
  }
  std::string errorOf(const std::string &bytes) {
    put("t", bytes);
    auto file = readSafetensors(path("t"));
    return file.ok() ? "fine" : std::string(file.status().message());
  }
};

TEST_F(TensorFileTest, WhatIsWrittenByManyIsReadBack) {
  std::vector<double> wide(1000);
  std::vector<float> narrow(70 * 3);
  std::vector<uint8_t> flags = {0, 1, 1};
  for (size_t i = 0; i < wide.size(); ++i) {
    wide[i] = double(i) * 0.1;
  }
  for (size_t i = 0; i < narrow.size(); ++i) {
    narrow[i] = float(i) * 0.3f;
  }
  auto writer =
      SafetensorsWriter::create(path("f"), {{"flags", plan::BOOL, {3}},
                                            {"narrow", plan::F32, {70, 3}},
                                            {"a \"name\"", plan::F64, {1000}},
                                            {"nothing", plan::F32, {0, 5}},
                                            {"scalar", plan::I64, {}}})
          .value();
  EXPECT_FALSE(std::filesystem::exists(path("f")));
  int64_t scalar = -7;
  std::vector<std::thread> ranks;
  for (unsigned rank = 0; rank < 4; ++rank) {
    ranks.emplace_back([&, rank] {
      EXPECT_TRUE(
          writer
              ->write("a \"name\"", rank * 2000, 2000, wide.data() + rank * 250)
              .ok());
    });
  }
  for (std::thread &rank : ranks) {
    rank.join();
  }
  EXPECT_TRUE(writer->write("flags", 0, 3, flags.data()).ok());
  EXPECT_TRUE(writer->write("narrow", 0, 840, narrow.data()).ok());
  EXPECT_TRUE(writer->write("scalar", 0, 8, &scalar).ok());
  EXPECT_FALSE(writer->write("flags", 2, 2, flags.data()).ok());
  EXPECT_FALSE(writer->write("other", 0, 1, flags.data()).ok());
  ASSERT_TRUE(writer->commit().ok());

  auto file = readSafetensors(path("f")).value();
  ASSERT_EQ(file.size(), 5u);
  const TensorExtent &extent = file.at("a \"name\"");
  EXPECT_EQ(extent.offset % 8, 0u);
  std::vector<double> back(1000);
  ASSERT_TRUE(extent.file->read(extent.offset, 8000, back.data()).ok());
  EXPECT_EQ(back, wide);
  EXPECT_EQ(file.at("narrow").shape, (std::vector<uint64_t>{70, 3}));
  EXPECT_EQ(file.at("nothing").bytes, 0u);
  int64_t number = 0;
  ASSERT_TRUE(extent.file->read(file.at("scalar").offset, 8, &number).ok());
  EXPECT_EQ(number, -7);
}

TEST_F(TensorFileTest, AnUnfinishedFileLeavesNothing) {
  {
    auto writer = SafetensorsWriter::create(path("f"), {{"a", plan::F32, {9}}});
    ASSERT_TRUE(writer.ok());
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

/// No space is an error before anything is computed, and leaves no file.
TEST_F(TensorFileTest, AFullDiskIsAnErrorAndNoFile) {
  rlimit before = {};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = {1 << 16, before.rlim_max};
  auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  auto writer =
      SafetensorsWriter::create(path("f"), {{"a", plan::F32, {1 << 20}}});
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, ignored);
  expectSays(writer.status(), "cannot reserve space");
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST_F(TensorFileTest, EveryBrokenHeaderIsRefusedWithItsReason) {
  auto entry = [](const std::string &dtype, const std::string &shape,
                  const std::string &offsets) {
    return R"("a":{"dtype":")" + dtype + R"(","shape":)" + shape +
           R"(,"data_offsets":)" + offsets + "}";
  };
  std::string good = entry("F32", "[2]", "[0,8]");
  EXPECT_EQ(errorOf(safetensors("{" + good + "}", 8)), "fine");
  EXPECT_EQ(errorOf(safetensors(
                R"({"__metadata__":{"format":"pt"},)" + good + "}  ", 8)),
            "fine");
  std::string b = R"("b":{"dtype":"F32","shape":[1],"data_offsets":[)";
  const std::pair<std::string, const char *> cases[] = {
      {"", "it has 0 bytes"},
      {"1234567", "it has 7 bytes"},
      {std::string("\xff\xff\xff\xff\xff\xff\xff\xff", 8), "a header of"},
      {std::string("\x10\0\0\0\0\0\0\0{}", 10), "a header of 16 bytes"},
      {safetensors("[1]", 0), "no JSON object"},
      {safetensors("{" + good, 8), "no JSON object"},
      {safetensors("{" + good + "," + good + "}", 8), "'a' is there twice"},
      {safetensors("{\"a\":3}", 0), "lacks dtype"},
      {safetensors("{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", 8),
       "lacks dtype"},
      {safetensors("{" + entry("F99", "[2]", "[0,8]") + "}", 8),
       "unknown dtype F99"},
      {safetensors("{" + entry("F32", "[-2]", "[0,8]") + "}", 8),
       "no natural number"},
      {safetensors("{" + entry("F32", "[2.0]", "[0,8]") + "}", 8),
       "no natural number"},
      {safetensors("{" + entry("F32", "[2]", "[0,\"8\"]") + "}", 8),
       "no natural number"},
      {safetensors("{" + entry("F32", "[2]", "[8,0]") + "}", 8),
       "has the bytes [8, 0)"},
      {safetensors("{" + entry("F32", "[2]", "[0,8]") + "}", 7),
       "has the bytes [0, 8) of 7"},
      {safetensors("{" + entry("F32", "[3]", "[0,8]") + "}", 8),
       "F32 [3] has 8 bytes"},
      {safetensors("{" + entry("F32", "[4294967296,4294967296]", "[0,8]") + "}",
                   8),
       "has 8 bytes"},
      {safetensors("{" + good + "}", 9), "the tensors end at byte"},
      {safetensors("{" + good + "," + b + "4,8]}}", 8), "inside of"},
      {safetensors("{" + good + "," + b + "12,16]}}", 16), "a gap after"},
  };
  for (const auto &[bytes, reason] : cases) {
    std::string error = errorOf(bytes);
    expectSays(error, reason);
    EXPECT_EQ(error.find(path("t")), 0u) << error;
  }
  EXPECT_TRUE(absl::IsNotFound(readSafetensors(path("none")).status()));
  EXPECT_FALSE(readSafetensors(folder).ok());
}

TEST_F(TensorFileTest, NpyFilesOfAFolderAreRead) {
  auto npy = [](const std::string &dictionary, size_t data, char version = 1) {
    std::string header = dictionary + std::string(20, ' ') + "\n";
    std::string text = std::string("\x93NUMPY") + version + '\0';
    text += char(header.size());
    text += std::string(version == 1 ? 1 : 3, '\0');
    return text + header + std::string(data, '\1');
  };
  put("x.npy",
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 24));
  put("labels.npy",
      npy("{'shape': (4,), 'descr': '<i8', 'fortran_order': False}", 32, 2));
  put("readme.txt", "no array");
  auto file = readTensors(folder).value();
  ASSERT_EQ(file.size(), 2u);
  EXPECT_EQ(file.at("x").type, plan::F32);
  EXPECT_EQ(file.at("x").shape, (std::vector<uint64_t>{2, 3}));
  EXPECT_EQ(file.at("labels").type, plan::I64);
  int32_t first = 0;
  ASSERT_TRUE(file.at("x").file->read(file.at("x").offset, 4, &first).ok());
  EXPECT_EQ(first, 0x01010101);
  const std::pair<std::string, const char *> cases[] = {
      {"short", "does not begin as"},
      {npy("{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}", 8),
       ">f4"},
      {npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2,)}", 8),
       "Fortran order"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 9),
       "[2] has 9 bytes"},
      {npy("{'descr': '<f4', 'fortran_order': False}", 8), "no shape"},
      {npy("{}", 8), "no descr"},
      {npy("{'descr': [('a', '<f4')], 'shape': (2,)}", 8),
       "no plain element type"},
      {npy("{'descr': '<f4', 'descr': '<f4'}", 8), "'descr' twice"},
      {npy("{'descr': '\n<f4'}", 8), "its elements are \\n<f4"},
      {npy("{'shape': (99999999999999999999,)}", 8), "too large"},
      {npy("{'shape': (2 3)}", 8), "no list of numbers"},
      {npy("{'shape': (-2,)}", 8), "no list of numbers"},
      {npy("{'shape': (2,", 8), "no list of numbers"},
      {npy("{'shape': (" + std::string(70, '1') + ")}", 8), "too large"},
      {npy("{'descr': '<f4', 'shape': (2,), 'fortran_order': False} }", 8),
       "goes on behind"}};
  for (const auto &[bytes, reason] : cases) {
    put("x.npy", bytes);
    auto broken = readTensors(folder);
    expectSays(broken.status(), reason);
  }
}

TEST_F(TensorFileTest, ALongShapeOfAnArrayIsNoDeepRecursion) {
  // As long as a header may be.
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,";
  header += std::string(65000 - header.size(), ' ') + ")}\n";
  std::string text("\x93NUMPY\1\0", 8);
  text += static_cast<char>(header.size() & 255);
  text += static_cast<char>(header.size() >> 8);
  put("x.npy", text + header + std::string(8, '\1'));
  auto file = readTensors(folder).value();
  EXPECT_EQ(file.at("x").shape, (std::vector<uint64_t>{2}));

  for (size_t i = text.size() + header.find("(2,") + 3; i < 65000; i += 2) {
    header[i - text.size()] = ',';
  }
  put("x.npy", text + header + std::string(8, '\1'));
  EXPECT_FALSE(readTensors(folder).ok());
}

TEST_F(TensorFileTest, APipeIsNoFileAndNotWaitedFor) {
  ASSERT_EQ(mkfifo(path("p").c_str(), 0600), 0);
  EXPECT_FALSE(readSafetensors(path("p")).ok());
}

TEST_F(TensorFileTest, ExternalDataStaysInItsFolder) {
  std::filesystem::create_directories(path("in/deep"));
  put("outside", "12345678");
  put("in/w", "12345678");
  put("in/deep/w", "12345678");
  std::filesystem::create_symlink("w", path("in/link"));
  std::filesystem::create_symlink("deep", path("in/way"));
  std::filesystem::create_symlink("in", path("same"));
  std::filesystem::create_hard_link(path("outside"), path("in/hard"));
  ASSERT_EQ(mkfifo(path("in/pipe").c_str(), 0600), 0);
  for (const char *good : {"w", "deep/w", "./w", "deep//w"}) {
    auto file = File::openBeneath(path("in"), good).value();
    EXPECT_EQ(file->bytes(), 8u);
  }
  // The folder itself is the user's to name.
  EXPECT_TRUE(File::openBeneath(path("same"), "w").ok());
  const std::pair<const char *, const char *> cases[] = {
      {"../outside", "leaves"},    {"deep/../../outside", "leaves"},
      {"/etc/passwd", "relative"}, {"", "is empty"},
      {"link", "symbolic link"},   {"way/w", "symbolic link"},
      {"hard", "hard link"},       {"pipe", "not a regular file"},
      {"deep", "not a regular"},   {"none", "No such file"},
      {"w/w", "Not a directory"},
  };
  for (auto [name, reason] : cases) {
    auto file = File::openBeneath(path("in"), name);
    expectSays(file.status(), reason);
  }
}

} // namespace
