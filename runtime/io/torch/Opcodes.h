//===- Opcodes.h - the operations of a pickle -----------------------------===//

#ifndef ZEROGRAPH_RUNTIME_IO_TORCH_OPCODES_H
#define ZEROGRAPH_RUNTIME_IO_TORCH_OPCODES_H

#include <cstdint>

namespace zerograph::pickle {

/// The operations that torch.save writes, named as in Python's pickletools.
enum Opcode : uint8_t {
  kMark = '(',
  kStop = '.',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kBinPersistent = 'Q',
  kReduce = 'R',
  kBinUnicode = 'X',
  kAppend = 'a',
  kBuild = 'b',
  kGlobal = 'c',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kSetItems = 'u',
  kEmptyDictionary = '}',
  kEmptyList = ']',
  kEmptyTuple = ')',
  kBinFloat = 'G',
  kProtocol = 0x80,
  kNewObject = 0x81,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kTrue = 0x88,
  kFalse = 0x89,
  kLong1 = 0x8a,
};

inline constexpr uint8_t kProtocolNumber = 2;

} // namespace zerograph::pickle

#endif // ZEROGRAPH_RUNTIME_IO_TORCH_OPCODES_H
