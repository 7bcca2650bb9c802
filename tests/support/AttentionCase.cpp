//===- AttentionCase.cpp - attentions that tests compute ------------------===//

#include "tests/support/AttentionCase.h"

using namespace mlir::zg::testing;

namespace {

std::string typeOf(const std::vector<int64_t> &shape,
                   const std::string &element) {
  std::string type;
  for (int64_t size : shape) {
    type += std::to_string(size) + "x";
  }
  return type + element;
}

std::string tensor(const std::string &type) { return "tensor<" + type + ">"; }

/// %name = nn.select %condition, %of, %masked.
std::string masked(const std::string &condition, const std::string &of,
                   const std::string &number, const std::string &ints,
                   const std::string &type) {
  std::string bools = ints.substr(0, ints.rfind('x') + 1) + "i1";
  return "%masked" + of + " = nn.constant dense<" + number +
         "> : " + tensor(type) + "\n%seen" + of + " = nn.select %" + condition +
         ", %" + of + ", %masked" + of + " : " + tensor(bools) + ", " +
         tensor(type) + "\n";
}

/// Compares the places of keys and queries.
std::string compared(const std::string &name, const std::string &kind,
                     const std::string &left, const std::string &right,
                     const std::string &ints) {
  std::string bools = ints.substr(0, ints.rfind('x') + 1) + "i1";
  return "%" + name + " = nn.compare " + kind + " %" + left + ", %" + right +
         " : " + tensor(ints) + " -> " + tensor(bools) + "\n";
}

bool hasMask(Scores scores) {
  return scores == Scores::Padding || scores == Scores::BiasOfPadded;
}

bool hasBias(Scores scores) {
  return scores == Scores::Bias || scores == Scores::BiasOfWeighed ||
         scores == Scores::BiasOfPadded;
}

} // namespace

std::vector<std::pair<std::string, std::string>>
AttentionCase::arguments() const {
  std::vector<std::pair<std::string, std::string>> arguments = {
      {"q", typeOf({batch, queries, heads, size}, element)},
      {"k", typeOf({batch, keys, keyHeads, size}, element)},
      {"v", typeOf({batch, keys, keyHeads, valueSize}, element)}};
  if (hasMask(scores)) {
    arguments.push_back({"mask", typeOf({batch, keys}, "i1")});
  }
  if (hasBias(scores)) {
    arguments.push_back({"bias", typeOf({heads, keys, queries},
                                        element == "f64" ? "f64" : "f32")});
  }
  return arguments;
}

std::string AttentionCase::outType() const {
  return typeOf({batch, queries, heads, valueSize}, element);
}

std::string AttentionCase::scoreType() const {
  return typeOf({batch, heads, keys, queries},
                element == "f64" ? "f64" : "f32");
}

std::string AttentionCase::region() const {
  std::string type = scoreType();
  std::string ints = type.substr(0, type.rfind('x') + 1) + "i64";
  std::string bools = type.substr(0, type.rfind('x') + 1) + "i1";
  std::string text =
      "%factor = nn.constant dense<0.25> : " + tensor(type) +
      "\n%scaled = nn.binary mul %score, %factor : " + tensor(type) +
      "\n%i = nn.iota 3 : " + tensor(ints) +
      "\n%j = nn.iota 2 : " + tensor(ints) + "\n" +
      compared("causal", "le", "j", "i", ints);
  std::string kept = "%least = nn.constant dense<2> : " + tensor(ints) + "\n" +
                     compared("kept", "ge", "j", "least", ints) +
                     "%more = nn.constant dense<1.25> : " + tensor(type) +
                     "\n" + masked("kept", "more", "0.0", ints, type);
  if (hasMask(scores)) {
    std::string narrow = typeOf({batch, 1, keys, 1}, "i1");
    text += "%narrow = nn.reshape %given_mask : " +
            tensor(typeOf({batch, keys}, "i1")) + " -> " + tensor(narrow) +
            "\n%there = nn.broadcast %narrow : " + tensor(narrow) + " -> " +
            tensor(bools) + "\n";
  }
  if (hasBias(scores)) {
    std::string score = element == "f64" ? "f64" : "f32";
    std::string once = typeOf({1, heads, keys, queries}, score);
    text += "%once = nn.reshape %given_bias : " +
            tensor(typeOf({heads, keys, queries}, score)) + " -> " +
            tensor(once) + "\n%each = nn.broadcast %once : " + tensor(once) +
            " -> " + tensor(type) + "\n";
  }
  switch (scores) {
  case Scores::Scaled:
    return text + "nn.yield %scaled : " + tensor(type) + "\n";
  case Scores::Causal:
    return text + masked("causal", "scaled", "-3.0e38", ints, type) +
           "nn.yield %seenscaled : " + tensor(type) + "\n";
  case Scores::Infinite:
    return text + compared("before", "lt", "j", "i", ints) +
           masked("before", "scaled",
                  element == "f64" ? "0xFFF0000000000000" : "0xFF800000", ints,
                  type) +
           "nn.yield %seenscaled : " + tensor(type) + "\n";
  case Scores::Window:
    return text + "%width = nn.constant dense<40> : " + tensor(ints) +
           "\n%last = nn.binary add %j, %width : " + tensor(ints) + "\n" +
           compared("near", "gt", "last", "i", ints) +
           "%both = nn.binary logical_and %causal, %near : " + tensor(bools) +
           "\n" + masked("both", "scaled", "-3.0e38", ints, type) +
           "nn.yield %seenscaled : " + tensor(type) + "\n";
  case Scores::Added:
    return text + compared("later", "gt", "j", "i", ints) +
           "%not = nn.unary logical_not %later : " + tensor(bools) + " -> " +
           tensor(bools) +
           "\n%zero = nn.constant dense<0.0> : " + tensor(type) + "\n" +
           masked("not", "zero", "-3.0e38", ints, type) +
           "%x = nn.binary add %scaled, %seenzero : " + tensor(type) +
           "\nnn.yield %x : " + tensor(type) + "\n";
  case Scores::Late:
    return text + "%distance = nn.constant dense<70> : " + tensor(ints) +
           "\n%end = nn.binary add %j, %distance : " + tensor(ints) + "\n" +
           compared("before", "le", "end", "i", ints) +
           masked("before", "scaled",
                  element == "f64" ? "0xFFF0000000000000" : "0xFF800000", ints,
                  type) +
           "nn.yield %seenscaled : " + tensor(type) + "\n";
  case Scores::Excluded:
    return text + "%number = nn.constant dense<70> : " + tensor(ints) + "\n" +
           compared("other", "ne", "i", "number", ints) +
           "%both = nn.binary logical_and %causal, %other : " + tensor(bools) +
           "\n" + masked("both", "scaled", "-3.0e38", ints, type) +
           "nn.yield %seenscaled : " + tensor(type) + "\n";
  case Scores::Padding:
    return text +
           "%both = nn.binary logical_and %causal, %there : " + tensor(bools) +
           "\n" + masked("both", "scaled", "-3.0e38", ints, type) +
           "nn.yield %seenscaled : " + tensor(type) + "\n";
  case Scores::Bias:
    return text + "%x = nn.binary add %scaled, %each : " + tensor(type) +
           "\nnn.yield %x : " + tensor(type) + "\n";
  case Scores::BiasOfPadded:
    return text + "%two = nn.constant dense<2.0> : " + tensor(type) +
           "\n%twice = nn.binary mul %each, %two : " + tensor(type) +
           "\n%x = nn.binary add %scaled, %twice : " + tensor(type) +
           "\n%both = nn.binary logical_and %causal, %there : " +
           tensor(bools) + "\n" + masked("both", "x", "-3.0e38", ints, type) +
           "nn.yield %seenx : " + tensor(type) + "\n";
  case Scores::BiasOfWeighed:
    return text + "%x = nn.binary add %scaled, %each : " + tensor(type) + "\n" +
           masked("causal", "x", "-3.0e38", ints, type) + kept +
           "nn.yield %seenx, %seenmore : " + tensor(type) + ", " +
           tensor(type) + "\n";
  case Scores::Weighed:
    return text + kept + "nn.yield %scaled, %seenmore : " + tensor(type) +
           ", " + tensor(type) + "\n";
  case Scores::Capped:
    return text + "%x = nn.unary tanh %scaled : " + tensor(type) + " -> " +
           tensor(type) + "\nnn.yield %x : " + tensor(type) + "\n";
  }
  return {};
}

std::string AttentionCase::text() const {
  std::string types, extras, given;
  for (const auto &[name, type] : arguments()) {
    types += (types.empty() ? "" : ", ") + tensor(type);
    if (name == "mask" || name == "bias") {
      extras += (extras.empty() ? " with %" : ", %") + name;
      given += ", %given_" + name + ": " + tensor(type);
    }
  }
  std::string rows =
      typeOf({batch, heads, queries}, element == "f64" ? "f64" : "f32");
  return "%out, %max, %inverse = nn.attention %q, %k, %v" + extras +
         (zeroMasked ? " zero_masked" : "") + " : (" + types + ") -> (" +
         tensor(outType()) + ", " + tensor(rows) + ", " + tensor(rows) +
         ") {\n^bb0(%score: " + tensor(scoreType()) + given + "):\n" +
         region() + "}\n";
}
