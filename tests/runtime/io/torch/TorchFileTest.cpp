//===- TorchFileTest.cpp - files of torch.save, whole and broken ----------===//

#include "runtime/io/torch/TorchFile.h"
#include "runtime/base/LittleEndian.h"
#include "runtime/io/torch/TorchWriter.h"
#include "tests/support/Folder.h"
#include "tests/support/Says.h"

#include "gtest/gtest.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <unistd.h>

using namespace zerograph;
namespace fs = std::filesystem;

namespace {

class TorchFileTest : public zerograph::testing::FolderCase {
protected:
  std::string content(const std::string &name) {
    return zerograph::testing::contentOf(path(name));
  }
  void put(const std::string &name, const std::string &bytes) {
    std::ofstream(path(name), std::ios::binary) << bytes;
  }

  /// {"a": [2, 3] of F32, "b": [] of I64, "c": [0, 4] of BF16}.
  absl::Status write(const std::string &name) {
    PickleWriter pickle;
    pickle.beginDictionary();
    pickle.text("a");
    size_t a = pickle.tensor(plan::F32, {2, 3});
    pickle.text("b");
    size_t b = pickle.tensor(plan::I64, {});
    pickle.text("c");
    pickle.tensor(plan::BF16, {0, 4});
    pickle.endDictionary();
    ZG_ASSIGN_OR_RETURN(auto writer,
                        TorchWriter::create(path(name), std::move(pickle)));
    ZG_RETURN_IF_ERROR(writer->append(a, values, 8));
    ZG_RETURN_IF_ERROR(writer->append(a, values + 2, 16));
    int64_t number = -5;
    ZG_RETURN_IF_ERROR(writer->append(b, &number, 8));
    return writer->commit();
  }

  /// Returns the error of a file with these bytes.
  std::string errorOf(const std::string &bytes) {
    put("broken", bytes);
    auto read = readTorch(path("broken"));
    return read.ok() ? "fine" : std::string(read.status().message());
  }
  /// Returns the error of a whole file where `from` is replaced, once, by as
  /// many bytes.
  std::string errorWith(const std::string &from, const std::string &to) {
    std::string bytes = content("f");
    size_t at = bytes.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    EXPECT_EQ(from.size(), to.size());
    return errorOf(bytes.replace(at, from.size(), to));
  }

  const float values[6] = {1, 2, 3, 4, 5, 6};
};

TEST_F(TorchFileTest, WhatIsWrittenIsReadBack) {
  ASSERT_TRUE(write("f").ok());
  auto tensors = readTorch(path("f")).value();
  ASSERT_EQ(tensors.size(), 3u);
  const TensorExtent &a = tensors.at("a");
  EXPECT_EQ(a.type, plan::F32);
  EXPECT_EQ(a.shape, (std::vector<uint64_t>{2, 3}));
  EXPECT_EQ(a.offset % 64, 0u);
  float found[6] = {};
  ASSERT_EQ(a.bytes, sizeof(found));
  ASSERT_TRUE(a.file->read(a.offset, a.bytes, found).ok());
  EXPECT_EQ(std::memcmp(found, values, sizeof(found)), 0);
  const TensorExtent &b = tensors.at("b");
  int64_t number = 0;
  ASSERT_TRUE(b.file->read(b.offset, b.bytes, &number).ok());
  EXPECT_EQ(number, -5);
  EXPECT_EQ(tensors.at("c").bytes, 0u);
  EXPECT_EQ(tensors.at("c").type, plan::BF16);
}

TEST_F(TorchFileTest, TheSameContentHasTheSameBytes) {
  ASSERT_TRUE(write("f").ok());
  ASSERT_TRUE(write("other name").ok());
  EXPECT_EQ(content("f"), content("other name"));
}

TEST_F(TorchFileTest, AStorageIsWrittenWhole) {
  PickleWriter pickle;
  size_t storage = pickle.tensor(plan::F32, {6});
  auto writer = TorchWriter::create(path("f"), std::move(pickle)).value();
  ASSERT_TRUE(writer->append(storage, values, 20).ok());
  EXPECT_FALSE(writer->append(storage, values, 8).ok());
  EXPECT_FALSE(writer->commit().ok());
  writer.reset();
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(TorchFileTest, WhatIsCutShortIsRefused) {
  ASSERT_TRUE(write("f").ok());
  std::string bytes = content("f");
  for (size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_NE(errorOf(bytes.substr(0, i)), "fine") << i;
  }
  expectSays(errorOf(""), "it has no directory at byte 0");
}

/// Whatever is changed, there is an answer, and no tensor out of the file.
TEST_F(TorchFileTest, EveryByteMayBeWrong) {
  ASSERT_TRUE(write("f").ok());
  std::string bytes = content("f");
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (char change : {char(0xff), char(1), char(0x80)}) {
      std::string changed = bytes;
      changed[i] = char(changed[i] ^ change);
      put("broken", changed);
      auto read = readTorch(path("broken"));
      if (read.ok()) {
        for (const auto &[name, extent] : *read) {
          EXPECT_LE(extent.offset + extent.bytes, bytes.size()) << i;
        }
      } else {
        expectSays(read.status(), "broken");
      }
    }
  }
}

TEST_F(TorchFileTest, WhatTheDirectorySaysIsChecked) {
  ASSERT_TRUE(write("f").ok());
  std::string entry = "PK\x01\x02";
  auto field = [&](size_t offset, uint64_t value, size_t count) {
    std::string bytes = content("f"), number;
    appendLittleEndian(number, value, count);
    bytes.replace(bytes.find(entry) + offset, count, number);
    return errorOf(bytes);
  };
  expectSays(field(8, 1, 2), "'archive/data.pkl' is encrypted at byte");
  expectSays(field(10, 8, 2), "is compressed (method 8)");
  expectSays(field(28, 60000, 2), "entry 0 is cut short");
  // Two sizes and the place of the header, with 64 bits, lie after the name.
  size_t large = 46 + std::strlen("archive/data.pkl") + 4;
  expectSays(field(large, uint64_t(1) << 62, 8), "is compressed");
  expectSays(field(large + 16, uint64_t(1) << 62, 8),
             "at byte 4611686018427387904");
  expectSays(field(large + 16, 3, 8), "there is no header of an entry");
  expectSays(field(large - 4, 2, 2), "lacks its size");
  entry = "PK\x06\x06"; // the end with 64 bits
  expectSays(field(32, 1000, 8), "there is no entry 6 of 1000");
  expectSays(field(40, uint64_t(1) << 40, 8), "its directory has the bytes");
  expectSays(field(48, ~uint64_t(0), 8), "its directory has the bytes");
}

TEST_F(TorchFileTest, ATensorIsCheckedAgainstItsStorage) {
  ASSERT_TRUE(write("f").ok());
  std::string six = "J" + std::string("\6\0\0\0", 4);
  std::string seven = "J" + std::string("\7\0\0\0", 4);
  expectSays(errorWith(six, seven),
             "'a' is a part of 7 elements of torch.FloatStorage, "
             "which has 24 bytes");
  expectSays(errorWith("FloatStorage", "UnsetStorage"),
             "it names torch.UnsetStorage");
  // Its key is that of no entry.
  std::string key = "X" + std::string("\1\0\0\0", 4);
  expectSays(errorWith(key + "0", key + "9"),
             "'a' is a part of the torch.FloatStorage '9', which is "
             "not in the file");
  auto number = [](int value) {
    return "J" + std::string{char(value), '\0', '\0', '\0'};
  };
  // From element 0 on, the shape and the strides.
  std::string was = "Q" + number(0) + "(" + number(2) + number(3) + "t(" +
                    number(3) + number(1) + "t";
  auto view = [&](int first, int rows, int stride, int last) {
    return errorWith(was, "Q" + number(first) + "(" + number(rows) + number(3) +
                              "t(" + number(stride) + number(last) + "t");
  };
  EXPECT_EQ(view(0, 2, 3, 1), "fine");
  EXPECT_EQ(view(3, 1, 77, 1), "fine"); // strides of one row do not matter
  expectSays(view(1, 2, 3, 1), "'a' has the shape [2, 3] from element 1 on, "
                               "of a storage of 6");
  expectSays(view(0, 2, 1, 2), "Save tensor.contiguous() instead");
  EXPECT_NE(view(-1, 2, 3, 1), "fine");
}

TEST_F(TorchFileTest, WhatIsNoDictionaryOfTensorsIsRefused) {
  auto save = [&](PickleWriter pickle) {
    auto writer = TorchWriter::create(path("g"), std::move(pickle));
    return writer.ok() && (*writer)->commit().ok();
  };
  PickleWriter list;
  list.beginList();
  list.endList();
  ASSERT_TRUE(save(std::move(list)));
  expectSays(readTorch(path("g")).status(),
             "it holds a list, expected a state_dict");
  PickleWriter number;
  number.beginDictionary();
  number.text("epoch");
  number.integer(3);
  number.endDictionary();
  ASSERT_TRUE(save(std::move(number)));
  expectSays(readTorch(path("g")).status(),
             "'epoch' is the number 3, expected a tensor");
}

TEST_F(TorchFileTest, AFileOfAnotherByteOrderIsRefused) {
  ASSERT_TRUE(write("f").ok());
  expectSays(errorWith("little", "biggie"), "its byte order is 'biggie'");
}

} // namespace
