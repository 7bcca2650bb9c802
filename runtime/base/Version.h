//===- Version.h - which Zerograph this is --------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_BASE_VERSION_H
#define ZEROGRAPH_RUNTIME_BASE_VERSION_H

namespace zerograph {

#define ZEROGRAPH_VERSION "0.1.0"

inline constexpr char kVersion[] = ZEROGRAPH_VERSION;
/// Plans state it as their producer.
inline constexpr char kProducer[] = "zerograph " ZEROGRAPH_VERSION;

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_BASE_VERSION_H
