//===- PickleTest.cpp - values of a pickle, and what is refused -----------===//

#include "runtime/io/torch/Pickle.h"
#include "runtime/io/torch/PickleWriter.h"
#include "tests/support/Says.h"

#include "gtest/gtest.h"

using namespace zerograph;
using Kind = PickleValue::Kind;

namespace {

const std::set<std::string> kGlobals = {"collections.OrderedDict", "m.Class"};

/// Parses what follows the beginning of a pickle.
absl::StatusOr<std::unique_ptr<Pickle>> parse(const std::string &text) {
  return Pickle::parse("f.pt", 1000, std::string("\x80\x02") + text, kGlobals);
}

std::string errorOf(const std::string &text) {
  auto pickle = parse(text);
  return pickle.ok() ? "fine" : std::string(pickle.status().message());
}

std::string bytes(std::initializer_list<int> list) {
  return {list.begin(), list.end()};
}

TEST(Pickle, Numbers) {
  // A list of numbers in each form.
  auto pickle =
      parse("](" + bytes({'K', 200}) + bytes({'M', 1, 2}) +
            bytes({'J', 0xfe, 0xff, 0xff, 0xff}) + bytes({0x8a, 2, 0, 0x80}) +
            bytes({0x8a, 0}) + bytes({'G', 0x3f, 0xf8, 0, 0, 0, 0, 0, 0}) +
            bytes({0x88, 0x89, 'N'}) + "e.")
          .value();
  const PickleValue &list = pickle->root();
  ASSERT_EQ(list.items.size(), 9u);
  EXPECT_EQ(list.at(0)->integer, 200);
  EXPECT_EQ(list.at(1)->integer, 0x201);
  EXPECT_EQ(list.at(2)->integer, -2);
  EXPECT_EQ(list.at(3)->integer, -0x8000);
  EXPECT_EQ(list.at(4)->integer, 0);
  EXPECT_EQ(list.at(5)->real, 1.5);
  EXPECT_EQ(list.at(6)->describe(), "True");
  EXPECT_EQ(list.at(7)->describe(), "False");
  EXPECT_EQ(list.at(8)->kind, Kind::None);
  EXPECT_EQ(list.at(9), nullptr);
}

TEST(Pickle, WhatIsWrittenIsReadBack) {
  PickleWriter writer;
  writer.beginDictionary();
  writer.text("small");
  writer.integer(-7);
  writer.text("large");
  writer.integer(int64_t(1) << 40);
  writer.text("list");
  writer.beginList();
  writer.beginDictionary();
  writer.endDictionary();
  writer.text("");
  writer.endList();
  writer.endDictionary();
  std::string text = writer.finish();
  auto pickle = Pickle::parse("f", 0, text, {}).value();
  const PickleValue &root = pickle->root();
  EXPECT_EQ(root.find("small")->integer, -7);
  EXPECT_EQ(root.find("large")->integer, int64_t(1) << 40);
  EXPECT_EQ(root.find("list")->items.size(), 2u);
  EXPECT_EQ(root.find("none"), nullptr);
}

TEST(Pickle, AnObjectIsItsNameArgumentsAndState) {
  auto pickle = parse("cm\nClass\n)\x81}X" + bytes({1, 0, 0, 0, 'x'}) +
                      "NsbNN" + bytes({0x87}) + "q" + bytes({5}) + "h" +
                      bytes({5}) + bytes({0x86}) + ".")
                    .value();
  const PickleValue &pair = pickle->root();
  EXPECT_EQ(pair.at(0), pair.at(1));
  const PickleValue &object = *pair.at(0)->at(0);
  EXPECT_EQ(object.describe(), "an object of m.Class");
  EXPECT_EQ(object.arguments->items.size(), 0u);
  EXPECT_EQ(object.state->find("x")->kind, Kind::None);
}

TEST(Pickle, AnOrderedDictionaryIsADictionary) {
  auto pickle = parse("ccollections\nOrderedDict\n)R(X" +
                      bytes({1, 0, 0, 0, 'x'}) + bytes({'K', 3}) + "u.")
                    .value();
  EXPECT_EQ(pickle->root().find("x")->integer, 3);
}

TEST(Pickle, AnUnknownGlobalIsRefusedByItsName) {
  // The bytes look like os.system("id").
  EXPECT_EQ(errorOf("cposix\nsystem\nX" + bytes({2, 0, 0, 0}) + "id" +
                    bytes({0x85}) + "R."),
            "f.pt: byte 1002: it names posix.system, which is none of the "
            "functions and classes that are known here. Nothing in the file "
            "was executed");
  expectSays(errorOf("cm\nClas\n."), "it names m.Clas,");
  expectSays(errorOf("cm\nClass.\n."), "it names");
}

TEST(Pickle, AnUnknownOperationIsRefusedByItsName) {
  EXPECT_EQ(errorOf("N" + bytes({0x93}) + "."),
            "f.pt: byte 1003: it has the operation STACK_GLOBAL (0x93), which "
            "torch.save does not write by default");
  for (const char *text :
       {"i", "o", "0", "2", "\x82", "\x95", "\x01", "\xff"}) {
    expectSays(errorOf(text), "it has the operation ");
  }
  EXPECT_EQ(Pickle::parse("f", 0, "\x80\x04N.", {}).status().message(),
            "f: byte 0: it is no pickle of protocol 2");
}

TEST(Pickle, WhatIsCutShortIsRefusedWhereverItIs) {
  PickleWriter writer;
  writer.beginDictionary();
  writer.text("name");
  writer.tensor(plan::F32, {2, 300});
  writer.endDictionary();
  std::string text = writer.finish();
  std::set<std::string> globals = {"torch._utils._rebuild_tensor_v2",
                                   "torch.FloatStorage",
                                   "collections.OrderedDict"};
  ASSERT_TRUE(Pickle::parse("f", 0, text, globals).ok());
  for (size_t i = 0; i < text.size(); ++i) {
    EXPECT_FALSE(Pickle::parse("f", 0, text.substr(0, i), globals).ok()) << i;
  }
  EXPECT_EQ(Pickle::parse("f", 0, text + "N", globals).status().message(),
            absl::StrCat("f: byte ", text.size() - 1,
                         ": it ends 1 bytes before its end"));
}

TEST(Pickle, AStackThatDoesNotFitIsRefused) {
  for (const char *text :
       {".",     "e.",      "u.",
        "t.",    "R.",      "b.",
        "NR.",   "Na.",     "(.",
        "NN.",   "(N.",     "](K\1.",
        "N)R.",  ")N\x81.", "NNb.",
        "N(e.",  "](Ne.N",  "}Na.",
        "](Nu.", "}(Nu.",   "ccollections\nOrderedDict\n)R(Ne."}) {
    EXPECT_NE(errorOf(text), "fine") << text;
  }
  expectSays(errorOf("h" + bytes({3}) + "."), "no value of number 3");
  expectSays(errorOf(std::string(2000, '(')), "nested too deep");
  expectSays(errorOf(bytes({0x8a, 9}) + "123456789."), "of 9 bytes");
  expectSays(errorOf("X" + bytes({0xff, 0xff, 0xff, 0xff}) + "."),
             "4294967295 bytes of 1 are wanted");
}

/// A walk through such values would not come to an end.
TEST(Pickle, NothingIsAPartOfItself) {
  std::string put = "q" + bytes({0}), get = "h" + bytes({0});
  for (const std::string &text :
       {"]" + put + get + "a.", "]" + put + get + bytes({0x85}) + "a.",
        "}" + put + "N" + get + "s.", "cm\nClass\n)R" + put + get + "b.",
        "]" + put + "](" + get + "e" + "a."}) {
    expectSays(errorOf(text), "f.pt: byte ");
  }
}

} // namespace
