//===- Version.h - which Zerograph this is --------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_BASE_VERSION_H
#define ZEROGRAPH_RUNTIME_BASE_VERSION_H

namespace zerograph {

/// Plans state it as their producer.
inline constexpr char kProducer[] = "zerograph 0.1.0";

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_BASE_VERSION_H
