//===- Opcodes.cpp - the operations of a pickle ---------------------------===//

#include "runtime/io/torch/Opcodes.h"

#include "absl/strings/str_format.h"

#include <algorithm>
#include <iterator>

using namespace zerograph;

namespace {

struct Named {
  uint8_t opcode;
  const char *name;
};

/// Those that are refused.
constexpr Named kOthers[] = {
    {'0', "POP"},           {'1', "POP_MARK"},       {'2', "DUP"},
    {'B', "BINBYTES"},      {'C', "SHORT_BINBYTES"}, {'F', "FLOAT"},
    {'I', "INT"},           {'L', "LONG"},           {'P', "PERSID"},
    {'S', "STRING"},        {'T', "BINSTRING"},      {'U', "SHORT_BINSTRING"},
    {'V', "UNICODE"},       {'d', "DICT"},           {'g', "GET"},
    {'i', "INST"},          {'l', "LIST"},           {'o', "OBJ"},
    {'p', "PUT"},           {0x82, "EXT1"},          {0x83, "EXT2"},
    {0x84, "EXT4"},         {0x8b, "LONG4"},         {0x8c, "SHORT_BINUNICODE"},
    {0x8d, "BINUNICODE8"},  {0x8e, "BINBYTES8"},     {0x8f, "EMPTY_SET"},
    {0x90, "ADDITEMS"},     {0x91, "FROZENSET"},     {0x92, "NEWOBJ_EX"},
    {0x93, "STACK_GLOBAL"}, {0x94, "MEMOIZE"},       {0x95, "FRAME"},
    {0x96, "BYTEARRAY8"},   {0x97, "NEXT_BUFFER"},   {0x98, "READONLY_BUFFER"},
};

} // namespace

std::string pickle::opcodeText(uint8_t opcode) {
  const auto *found =
      std::find_if(std::begin(kOthers), std::end(kOthers),
                   [&](const Named &other) { return other.opcode == opcode; });
  return found == std::end(kOthers)
             ? absl::StrFormat("0x%02x", opcode)
             : absl::StrFormat("%s (0x%02x)", found->name, opcode);
}
