// Tables of described structs: which columns they have, and how rows go in and out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "netpipe/trace/hdf5_handle.hpp"
#include "npgpu/field.hpp"
#include "npgpu/names.hpp"

namespace npgpu::trace {

struct Column {
  std::string name, unit, codes;
  enum class Type { i32, u32, i64, u64, f64, flag } type;
  std::size_t bytes;
};
using Columns = std::vector<Column>;
std::size_t row_bytes(const Columns&);

// ---- what a member of a struct is in a row ----

template <class T>
auto stored(T value) {
  if constexpr (std::is_enum_v<T>)
    return static_cast<std::int32_t>(value);
  else if constexpr (std::is_same_v<T, bool>)
    return static_cast<std::uint8_t>(value);
  else
    return value;
}
template <class T>
using Stored = decltype(stored(T{}));

template <class T>
constexpr Column::Type type_of() {
  using enum Column::Type;
  if (std::is_same_v<T, bool>) return flag;
  if (std::is_floating_point_v<T>) return f64;
  if (sizeof(Stored<T>) == 4) return std::is_unsigned_v<T> ? u32 : i32;
  return std::is_unsigned_v<T> ? u64 : i64;
}

template <class T>
std::string codes_of(const FieldInfo& info) {
  std::string text(info.codes);
  if constexpr (std::is_enum_v<T>)
    for (std::size_t i = 0; i < names_of<T>.size(); ++i)
      text += (i == 0 ? "" : ", ") + std::to_string(i) + " " + std::string(names_of<T>[i]);
  return text;
}

template <class Row>
const Columns& columns_of() {
  static const Columns all = [] {
    Columns columns;
    const Row row{};
    visit_fields(row, [&]<class T>(const FieldInfo& info, const T&) {
      columns.push_back(
          {std::string(info.name), std::string(info.unit), codes_of<T>(info), type_of<T>(), sizeof(Stored<T>)});
    });
    return columns;
  }();
  return all;
}

// ---- an open table; throws FormatError naming it ----

// Rows as bytes: the columns' values one after the other, in the order and the widths of the file.
class RawTable {
 public:
  static RawTable create(hid_t group, const std::string& name, const Columns&);
  // It must be a table of this file's own that has these columns. `image_bytes` bounds what it can hold.
  static RawTable open(hid_t group, const std::string& where, const std::string& name, const Columns&,
                       std::uint64_t image_bytes);

  std::uint64_t rows() const { return rows_; }
  // Extends the table; what is there already is not touched.
  void append(std::span<const std::byte>, std::uint64_t rows);
  std::vector<std::byte> read() const;

 private:
  RawTable(Handle dataset, std::string called, const Columns& columns, std::uint64_t rows)
      : dataset_(std::move(dataset)), called_(std::move(called)), columns_(&columns), rows_(rows) {}
  Handle dataset_;
  std::string called_;
  const Columns* columns_;
  std::uint64_t rows_ = 0;
};

template <class Row>
class Table {
 public:
  static Table create(hid_t group, const std::string& name) {
    return Table(RawTable::create(group, name, columns_of<Row>()));
  }
  static Table open(hid_t group, const std::string& where, const std::string& name, std::uint64_t image_bytes) {
    return Table(RawTable::open(group, where, name, columns_of<Row>(), image_bytes));
  }

  std::uint64_t rows() const { return raw_.rows(); }
  void append(std::span<const Row> rows) {
    std::vector<std::byte> bytes(rows.size() * row_bytes(columns_of<Row>()));
    std::byte* to = bytes.data();
    for (const Row& row : rows)
      visit_fields(row, [&](const FieldInfo&, const auto& value) {
        const auto number = stored(value);
        std::memcpy(to, &number, sizeof number);
        to += sizeof number;
      });
    raw_.append(bytes, rows.size());
  }
  std::vector<Row> read() const {
    const std::vector<std::byte> bytes = raw_.read();
    std::vector<Row> rows(raw_.rows());
    const std::byte* from = bytes.data();
    for (Row& row : rows)
      visit_fields(row, [&]<class T>(const FieldInfo&, T& value) {
        Stored<T> number;
        std::memcpy(&number, from, sizeof number);
        from += sizeof number;
        value = static_cast<T>(number);
      });
    return rows;
  }

 private:
  explicit Table(RawTable raw) : raw_(std::move(raw)) {}
  RawTable raw_;
};

// ---- copies ----

enum class Packing { plain, compressed };
// A copy in another group of a table with any columns, with its attributes.
void copy_table(hid_t from, hid_t to, const std::string& name, Packing);

}  // namespace npgpu::trace
