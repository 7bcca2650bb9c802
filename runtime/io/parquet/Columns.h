//===- Columns.h - what a Parquet file holds, column by column --*- C++ -*-===//
//
// Between the runtime and libzg_parquet.so, which alone is linked to Apache
// Arrow: Arrow has no stable binary interface, and a run without Parquet should
// not load its 60 MB.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_IO_PARQUET_COLUMNS_H
#define ZEROGRAPH_RUNTIME_IO_PARQUET_COLUMNS_H

#include <cstdint>
#include <string>
#include <vector>

namespace zerograph::parquet {

/// A column of numbers, or of lists of numbers of equal length, as an array.
struct Column {
  std::string name;
  std::string type;            // as .safetensors files name it: "I64"
  std::vector<uint64_t> shape; // rows, then lengths of lists
  uint64_t bytes = 0;
};

/// Takes the columns. Both functions return false to end the reading.
class Sink {
public:
  virtual ~Sink() = default;
  /// Once, before all bytes. Columns of other types are left out.
  virtual bool begin(const std::vector<Column> &columns) = 0;
  /// Plain little-endian elements at byte `offset` of column `column`.
  virtual bool write(size_t column, uint64_t offset, const void *data,
                     uint64_t bytes) = 0;
};

/// Reads `path` to its end, or until the sink returns false; returns what is
/// wrong with the file, or an empty text.
using ReadColumns = std::string (*)(const std::string &path, Sink &sink);

inline constexpr char kModule[] = "libzg_parquet.so";
inline constexpr char kReadColumns[] = "zg_read_parquet_columns";

} // namespace zerograph::parquet

#endif // ZEROGRAPH_RUNTIME_IO_PARQUET_COLUMNS_H
