//===- ReadColumns.cpp - reads a Parquet file by Apache Arrow -------------===//
//
// All of libzg_parquet.so.
//
//===----------------------------------------------------------------------===//

#include "runtime/io/parquet/Columns.h"

#include <arrow/array.h>
#include <arrow/io/file.h>
#include <arrow/table.h>
#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>

#include <algorithm>

using namespace zerograph::parquet;

namespace {

/// Null for what no array can hold.
const char *typeName(arrow::Type::type type) {
  switch (type) {
  case arrow::Type::BOOL:
    return "BOOL";
  case arrow::Type::INT8:
    return "I8";
  case arrow::Type::UINT8:
    return "U8";
  case arrow::Type::INT16:
    return "I16";
  case arrow::Type::INT32:
    return "I32";
  case arrow::Type::INT64:
    return "I64";
  case arrow::Type::HALF_FLOAT:
    return "F16";
  case arrow::Type::FLOAT:
    return "F32";
  case arrow::Type::DOUBLE:
    return "F64";
  default:
    return nullptr;
  }
}

bool isList(arrow::Type::type type) {
  return type == arrow::Type::LIST || type == arrow::Type::LARGE_LIST ||
         type == arrow::Type::FIXED_SIZE_LIST;
}

std::shared_ptr<arrow::DataType>
elementOf(std::shared_ptr<arrow::DataType> type) {
  while (isList(type->id())) {
    type = type->field(0)->type();
  }
  return type;
}

template <typename List>
int64_t lengthAt(const arrow::Array &array, int64_t row) {
  return static_cast<const List &>(array).value_length(row);
}

int64_t listLength(const arrow::Array &array, int64_t row) {
  switch (array.type_id()) {
  case arrow::Type::LIST:
    return lengthAt<arrow::ListArray>(array, row);
  case arrow::Type::LARGE_LIST:
    return lengthAt<arrow::LargeListArray>(array, row);
  default:
    return lengthAt<arrow::FixedSizeListArray>(array, row);
  }
}

/// The values of all lists, one after the other.
arrow::Result<std::shared_ptr<arrow::Array>>
flatten(const arrow::Array &array) {
  switch (array.type_id()) {
  case arrow::Type::LIST:
    return static_cast<const arrow::ListArray &>(array).Flatten();
  case arrow::Type::LARGE_LIST:
    return static_cast<const arrow::LargeListArray &>(array).Flatten();
  default:
    return static_cast<const arrow::FixedSizeListArray &>(array).Flatten();
  }
}

/// Writes a file's columns, row group by row group.
class Reading {
public:
  Reading(parquet::arrow::FileReader &reader, Sink &sink)
      : reader(reader), sink(sink) {}

  arrow::Status run() {
    rows = uint64_t(reader.parquet_reader()->metadata()->num_rows());
    for (int group = 0; group < reader.num_row_groups() && !ended; ++group) {
      ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Table> table,
                            reader.ReadRowGroup(group));
      if (table->num_rows() == 0) {
        continue;
      }
      if (columns.empty()) {
        ARROW_RETURN_NOT_OK(begin(*table));
      }
      for (size_t i = 0; i < columns.size() && !ended; ++i) {
        for (const std::shared_ptr<arrow::Array> &chunk :
             table->column(places[i])->chunks()) {
          ARROW_RETURN_NOT_OK(write(i, *chunk));
        }
      }
      row += uint64_t(table->num_rows());
    }
    for (size_t i = 0; i < columns.size() && !ended; ++i) {
      if (written[i] != columns[i].bytes) {
        return arrow::Status::Invalid("column '", columns[i].name,
                                      "' has fewer rows than the file says");
      }
    }
    if (columns.empty() && !ended) {
      return arrow::Status::Invalid(
          "it has no rows, or no column of numbers or of lists of them");
    }
    return arrow::Status::OK();
  }

private:
  /// Lists are as long as those of the first row.
  arrow::Status begin(const arrow::Table &table) {
    for (int place = 0; place < table.num_columns(); ++place) {
      std::shared_ptr<arrow::ChunkedArray> values = table.column(place);
      std::shared_ptr<arrow::DataType> element = elementOf(values->type());
      const char *type = typeName(element->id());
      if (!type) {
        continue;
      }
      Column column{table.field(place)->name(), type, {rows}};
      std::shared_ptr<arrow::Array> array = values->Slice(0, 1)->chunk(0);
      while (isList(array->type_id())) {
        int64_t length = array->null_count() ? 0 : listLength(*array, 0);
        column.shape.push_back(uint64_t(length));
        ARROW_ASSIGN_OR_RAISE(array, flatten(*array));
      }
      unsigned width = std::max(1, element->bit_width() / 8);
      column.bytes = width;
      for (uint64_t size : column.shape) {
        if (__builtin_mul_overflow(column.bytes, size, &column.bytes)) {
          return arrow::Status::Invalid("column '", column.name,
                                        "' has too many elements");
        }
      }
      columns.push_back(std::move(column));
      places.push_back(place);
      widths.push_back(width);
      written.push_back(0);
    }
    ended = !columns.empty() && !sink.begin(columns);
    return arrow::Status::OK();
  }

  arrow::Status write(size_t i, const arrow::Array &chunk) {
    const Column &column = columns[i];
    std::shared_ptr<arrow::Array> array = chunk.Slice(0);
    for (size_t level = 1; level < column.shape.size(); ++level) {
      ARROW_RETURN_NOT_OK(needNoNulls(column, *array));
      for (int64_t k = 0; k < array->length(); ++k) {
        if (uint64_t(listLength(*array, k)) != column.shape[level]) {
          return arrow::Status::Invalid(
              "column '", column.name, "' has a list of ",
              listLength(*array, k), " elements, and one of ",
              column.shape[level],
              " in its first row; an array needs lists of equal length, so pad "
              "or cut them");
        }
      }
      ARROW_ASSIGN_OR_RAISE(array, flatten(*array));
    }
    ARROW_RETURN_NOT_OK(needNoNulls(column, *array));
    uint64_t bytes = uint64_t(array->length()) * widths[i];
    if (written[i] + bytes > column.bytes) {
      return arrow::Status::Invalid("column '", column.name,
                                    "' has more rows than the file says");
    }
    put(i, *array, bytes);
    written[i] += bytes;
    return arrow::Status::OK();
  }

  void put(size_t i, const arrow::Array &array, uint64_t bytes) {
    if (array.type_id() != arrow::Type::BOOL) {
      const uint8_t *data = array.data()->GetValues<uint8_t>(1, 0);
      ended = !sink.write(i, written[i],
                          data + array.offset() * int64_t(widths[i]), bytes);
      return;
    }
    // Arrow has eight in a byte.
    std::vector<uint8_t> values(bytes);
    for (int64_t k = 0; k < array.length(); ++k) {
      values[size_t(k)] =
          static_cast<const arrow::BooleanArray &>(array).Value(k);
    }
    ended = !sink.write(i, written[i], values.data(), bytes);
  }

  arrow::Status needNoNulls(const Column &column, const arrow::Array &array) {
    return array.null_count() == 0
               ? arrow::Status::OK()
               : arrow::Status::Invalid("column '", column.name, "' has ",
                                        array.null_count(),
                                        " values that are missing (null) in "
                                        "the rows from ",
                                        row, " on; fill them in");
  }

  parquet::arrow::FileReader &reader;
  Sink &sink;
  uint64_t rows = 0, row = 0;
  bool ended = false;
  std::vector<Column> columns;
  // Hold, of each column: its place in the table, bytes of an element, bytes so
  // far.
  std::vector<int> places;
  std::vector<unsigned> widths;
  std::vector<uint64_t> written;
};

arrow::Status read(const std::string &path, Sink &sink) {
  ARROW_ASSIGN_OR_RAISE(auto file, arrow::io::ReadableFile::Open(path));
  ARROW_ASSIGN_OR_RAISE(auto reader, parquet::arrow::OpenFile(
                                         file, arrow::default_memory_pool()));
  return Reading(*reader, sink).run();
}

} // namespace

extern "C" __attribute__((visibility("default"))) std::string
zg_read_parquet_columns(const std::string &path, Sink &sink) {
  // Arrow says of a damaged file by exceptions what it does not by a Status.
  try {
    arrow::Status status = read(path, sink);
    return status.ok() ? "" : status.message();
  } catch (const std::exception &error) {
    return error.what();
  }
}
