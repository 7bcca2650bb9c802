//===- ValueTest.cpp - JSON, hjson and YAML as values ---------------------===//

#include "config/Value.h"
#include "tests/support/Says.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "absl/strings/str_cat.h"

namespace zerograph::config {
namespace {

using testing::HasSubstr;

std::string shown(absl::string_view text) {
  absl::StatusOr<Value> value = parseValue(text);
  return value.ok() ? value->shown()
                    : absl::StrCat("error: ", value.status().message());
}

TEST(Value, IsReadFromHjson) {
  const char *kExpected = "{a: 1, b: {c: [1, 2], d: true}}";
  for (const char *text : {
           R"({"a":1,"b":{"c":[1,2],"d":true}})",
           "{a: 1, b: {c: [1, 2,], d: true,},}",
           "{a:1\nb:{c:[1\n2]\nd:true}}",
           "# x\n{ // y\n a: 1 /* {z: 3,\n */ , b: {c: [1, 2] # {\n d: true}}",
           "\t{\"a\":\t1,\r\n\t\"b\":\t{\"c\": [1,\n2],\n\"d\"\n: "
           "true}\n}\n//end",
       }) {
    std::string quoted = shown(text);
    EXPECT_EQ(quoted, kExpected) << text;
  }
  EXPECT_EQ(shown("{a: 5 //example.com, b: 1\n c: \"# // /*\"}"),
            "{a: 5, c: \"# // /*\"}")
      << "a comment begins where a word does";
  EXPECT_EQ(shown("{a: http://x\n b: x#y}"), "{a: http://x, b: x#y}");
  EXPECT_EQ(shown(R"({"a": "x \" } // y"})"), "{a: \"x \" } // y\"}");
  EXPECT_EQ(shown("{a: null, b: \"null\", c: ~}"),
            "{a: null, b: \"null\", c: null}");
}

TEST(Value, IsReadFromYaml) {
  EXPECT_EQ(shown("a: 1\nb:\n  c: 'no' # x\n  d: []\n"),
            "{a: 1, b: {c: \"no\", d: []}}");
  EXPECT_EQ(shown("url: //x\n"), "{url: //x}");
  EXPECT_EQ(parseValue("a: 1\n\nb: 2\n")->children[1].line, 3);
  EXPECT_EQ(parseValue("{\n// x\n\"a\": 1\n \"b\":\n 2}")->children[1].line, 4);
}

TEST(Value, KeepsWhatIsGivenTwice) {
  EXPECT_EQ(shown(R"({"a": 1, "a": 2})"), "{a: 1, a: 2}");
}

TEST(Value, IsRefusedWithItsLine) {
  expectSays(shown("{\n\"a\": [1\n"), "error: line");
  expectSays(shown("{\"a\": 1} x"), "more after the last brace");
  expectSays(shown("{\"a\": \"x}"), "a string has no end");
  expectSays(shown("{\"a\": 1]"), "error:");
  expectSays(shown("a: [1\n"), "error: line");
  for (const char *text :
       {"", "[1, 2]", "1", "a: 1\n---\nb: 2\n", ",\na: 1\n"}) {
    EXPECT_THAT(shown(text), HasSubstr("one mapping")) << text;
  }
  expectSays(shown("{[a]: 1}"), "a key that is no word");
  // YAML may hold itself, or the same a thousand times.
  expectSays(shown("a: &x [*x]"), "too many values");
  std::string many = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (int i = 1; i < 8; ++i) {
    absl::StrAppend(&many, "a", i, ": &a", i, " [");
    for (int k = 0; k < 10; ++k) {
      absl::StrAppend(&many, k > 0 ? ", " : "", "*a", i - 1);
    }
    many += "]\n";
  }
  expectSays(shown(many), "too many values");
  std::string longText = absl::StrCat("a: &a ", std::string(100000, 'x'), "\n");
  for (int i = 0; i < 100; ++i) {
    absl::StrAppend(&longText, "a", i, ": *a\n");
  }
  expectSays(shown(longText), "too much text");
  expectSays(shown(std::string(100000, '{')), "error");
  expectSays(shown("a: " + std::string(100000, '[')), "error");
}

TEST(Value, HasTheTypeThatItIsReadAs) {
  EXPECT_EQ(Value::of("5e8", 0).integer(), 500000000);
  EXPECT_EQ(Value::of("2.0", 0).integer(), 2);
  EXPECT_EQ(Value::of("9223372036854775807", 0).integer(), INT64_MAX);
  for (const char *text : {"2.5", "1e30", "x", "", "nan", "inf"}) {
    EXPECT_EQ(Value::of(text, 0).integer(), std::nullopt) << text;
  }
  EXPECT_EQ(Value::of("1e-5", 0).number(), 1e-5);
  for (const char *text : {"nan", "Infinity", "1e999", "x"}) {
    EXPECT_EQ(Value::of(text, 0).number(), std::nullopt) << text;
  }
  EXPECT_EQ(Value::of("True", 0).boolean(), true);
  EXPECT_EQ(Value::of("no", 0).boolean(), false);
  EXPECT_EQ(Value::of("2", 0).boolean(), std::nullopt);
  EXPECT_EQ(numberText(0.001), "0.001");
  EXPECT_EQ(numberText(3e-7), "3e-07");
}

} // namespace
} // namespace zerograph::config
