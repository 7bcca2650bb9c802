//===- Temporaries.h - files that have no name yet ------------------------===//
//
// A file is written under a temporary name and renamed when it is whole. A
// signal that ends the process at once must not leave it behind.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_IO_TEMPORARIES_H
#define ZEROGRAPH_RUNTIME_IO_TEMPORARIES_H

#include <string>

namespace zerograph {

/// Removed by removeTemporaries until it is forgotten. Any thread.
void rememberTemporary(const std::string &path);
void forgetTemporary(const std::string &path);

/// Removes what is remembered. For signal handlers: it only reads and unlinks.
void removeTemporaries();

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_IO_TEMPORARIES_H
