//===- Mutate.h - changes protobuf messages as messages -------------------===//
//
// Bytes that are flipped at random seldom stay a message, and hardly ever one
// that says something. Here a field of the tree is changed: a number, a name
// to one that is used elsewhere, an element dropped, doubled, swapped or taken
// from another place.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_TESTS_FUZZ_MUTATE_H
#define ZEROGRAPH_TESTS_FUZZ_MUTATE_H

#include <google/protobuf/message.h>

#include <cstddef>
#include <cstdint>

namespace zerograph::fuzz {

/// libFuzzer's custom mutator for the bytes of a `message` (whose content is
/// lost): the new size. One in sixteen changes the bytes instead.
size_t mutateMessage(google::protobuf::Message &message, uint8_t *data,
                     size_t size, size_t maxSize, unsigned seed);

/// libFuzzer's custom cross-over: a part of `b` put into `a`.
size_t crossMessages(google::protobuf::Message &a, google::protobuf::Message &b,
                     const uint8_t *dataA, size_t sizeA, const uint8_t *dataB,
                     size_t sizeB, uint8_t *out, size_t maxSize, unsigned seed);

} // namespace zerograph::fuzz

/// Defines what libFuzzer calls where inputs are the bytes of a Message.
#define ZG_FUZZ_MESSAGES(Message)                                              \
  extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,        \
                                            size_t maxSize, unsigned seed) {   \
    Message message;                                                           \
    return zerograph::fuzz::mutateMessage(message, data, size, maxSize, seed); \
  }                                                                            \
  extern "C" size_t LLVMFuzzerCustomCrossOver(                                 \
      const uint8_t *dataA, size_t sizeA, const uint8_t *dataB, size_t sizeB,  \
      uint8_t *out, size_t maxSize, unsigned seed) {                           \
    Message a, b;                                                              \
    return zerograph::fuzz::crossMessages(a, b, dataA, sizeA, dataB, sizeB,    \
                                          out, maxSize, seed);                 \
  }

#endif // ZEROGRAPH_TESTS_FUZZ_MUTATE_H
