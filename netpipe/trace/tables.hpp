// Described structs in a file: as attributes of a group, and as rows of a table. Throws FormatError.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "netpipe/trace/hdf5.hpp"
#include "npgpu/vocabulary/field.hpp"
#include "npgpu/vocabulary/trace.hpp"
#include "npgpu/vocabulary/transfer.hpp"

namespace npgpu::trace {

struct Column {
  std::string name, unit, codes;
  enum class Type { i32, u32, i64, u64, f64, flag, text } type;
  std::size_t bytes;
  bool optional = false;  // a file may lack it
};
using Columns = std::vector<Column>;
std::size_t row_bytes(const Columns&);

// ---- what a member of a struct is in a row ----

template <class T> auto stored(T value) {
  if constexpr (std::is_enum_v<T>) return static_cast<std::int32_t>(value);
  else if constexpr (std::is_same_v<T, bool>) return static_cast<std::uint8_t>(value);
  else if constexpr (std::is_same_v<T, ShortText>) return value.raw();
  else return value;
}
template <class T> using Stored = decltype(stored(T{}));

template <class T> constexpr Column::Type type_of() {
  using enum Column::Type;
  if (std::is_same_v<T, bool>) return flag;
  if (std::is_same_v<T, ShortText>) return text;
  if (std::is_floating_point_v<T>) return f64;
  if (sizeof(Stored<T>) == 4) return std::is_unsigned_v<T> ? u32 : i32;
  return std::is_unsigned_v<T> ? u64 : i64;
}

template <class T> std::string codes_of(const FieldInfo& info) {
  std::string text(info.codes);
  if constexpr (std::is_enum_v<T>)
    for (std::size_t i = 0; i < names_of<T>.size(); ++i)
      text += (i == 0 ? "" : ", ") + std::to_string(i) + " " + std::string(names_of<T>[i]);
  return text;
}

template <class Row> const Columns& columns_of() {
  static const Columns all = [] {
    Columns columns;
    const Row row{};
    visit_fields(row, [&]<class T>(const FieldInfo& info, const T&) {
      columns.push_back({std::string(info.name), std::string(info.unit), codes_of<T>(info), type_of<T>(),
                         sizeof(Stored<T>), info.optional});
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
  // It must be a table of this file's own that has these columns, but for optional ones. `image_bytes` bounds what it
  // can hold.
  static RawTable open(hid_t group, const std::string& where, const std::string& name, const Columns&,
                       std::uint64_t image_bytes);

  std::uint64_t rows() const { return rows_; }
  // Extends the table; what is there already is not touched. Columns that the file lacks must hold what `usual` has.
  void append(std::span<const std::byte>, std::uint64_t rows, std::span<const std::byte> usual);
  // Columns that the file lacks hold what `usual`, a row, has.
  std::vector<std::byte> read(std::span<const std::byte> usual) const;

 private:
  RawTable(Handle dataset, std::string called, const Columns& columns, std::uint64_t rows)
      : dataset_(std::move(dataset)), called_(std::move(called)), columns_(&columns), rows_(rows) {}
  Handle dataset_;
  std::string called_;
  const Columns* columns_;
  std::uint64_t rows_ = 0;
  std::size_t file_row_bytes_ = 0;                                 // of a table that was opened
  std::vector<bool> lacks_ = std::vector<bool>(columns_->size());  // by column
};

template <class Row> class Table : RawTable {
 public:
  static Table create(hid_t group, const std::string& name) {
    return Table(RawTable::create(group, name, columns_of<Row>()));
  }
  static Table open(hid_t group, const std::string& where, const std::string& name, std::uint64_t image_bytes) {
    return Table(RawTable::open(group, where, name, columns_of<Row>(), image_bytes));
  }

  using RawTable::rows;
  void append(std::span<const Row> rows) {
    const Row usual{};
    RawTable::append(bytes_of(rows), rows.size(), bytes_of({&usual, 1}));
  }
  std::vector<Row> read() const {
    const Row usual{};
    const std::vector<std::byte> bytes = RawTable::read(bytes_of({&usual, 1}));
    std::vector<Row> rows(this->rows());
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
  explicit Table(RawTable raw) : RawTable(std::move(raw)) {}
  static std::vector<std::byte> bytes_of(std::span<const Row> rows) {
    std::vector<std::byte> bytes(rows.size() * row_bytes(columns_of<Row>()));
    std::byte* to = bytes.data();
    for (const Row& row : rows)
      visit_fields(row, [&](const FieldInfo&, const auto& value) {
        const auto number = stored(value);
        std::memcpy(to, &number, sizeof number);
        to += sizeof number;
      });
    return bytes;
  }
};

// ---- copies ----

enum class Packing { plain, compressed };
// A copy in another group of a table with any columns, with its attributes.
void copy_table(hid_t from, hid_t to, const std::string& name, Packing);

// ---- attributes ----

// Texts as they are, enumerators and lanes as words, a yes or no as uint8, counts as uint64, measures as float64.
template <class T> void put_value(hid_t group, const std::string& attribute, const T& value) {
  if constexpr (std::is_same_v<T, std::vector<Lane>>) put(group, attribute, lanes_text(value));
  else if constexpr (std::is_enum_v<T>) put(group, attribute, std::string(name(value)));
  else if constexpr (std::is_unsigned_v<T> && !std::is_same_v<T, bool>) put(group, attribute, std::uint64_t{value});
  else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) put(group, attribute, std::int64_t{value});
  else put(group, attribute, value);
}

template <class T> void get_value(hid_t group, const std::string& where, const std::string& attribute, T& value) {
  const auto refuse = [&](const auto& found, const std::string& why) {
    throw FormatError(fmt::format("attribute '{}' of {} is '{}', {}", attribute, where, found, why));
  };
  const auto in_range = [&](auto found) {
    if (found > std::numeric_limits<T>::max()) refuse(found, "which is too large");
    if (found < std::numeric_limits<T>::min()) refuse(found, "which is too small");
    value = static_cast<T>(found);
  };
  if constexpr (std::is_same_v<T, std::string>) {
    value = get_text(group, where, attribute);
  } else if constexpr (std::is_same_v<T, std::vector<Lane>>) {
    const std::string text = get_text(group, where, attribute);
    auto lanes = parse_lanes(text);
    if (!lanes) refuse(text, "which does not describe lanes");
    value = *lanes;
  } else if constexpr (std::is_enum_v<T>) {
    const std::string word = get_text(group, where, attribute);
    const auto known = named<T>(word);
    if (!known) refuse(word, "none of " + choices<T>());
    value = *known;
  } else if constexpr (std::is_same_v<T, bool>) {
    value = get_flag(group, where, attribute);
  } else if constexpr (std::is_unsigned_v<T>) {
    in_range(get_count(group, where, attribute));
  } else if constexpr (std::is_integral_v<T>) {
    in_range(get_integer(group, where, attribute));
  } else {
    value = get_real(group, where, attribute);
  }
}

template <class Struct> void put_header(hid_t group, const Struct& header) {
  visit_fields(header, [&](const FieldInfo& f, const auto& value) { put_value(group, std::string(f.name), value); });
}

template <class Struct> void get_header(hid_t group, const std::string& where, Struct& header) {
  visit_fields(header, [&](const FieldInfo& f, auto& value) {
    const std::string attribute(f.name);
    if (!f.optional || has(group, attribute)) get_value(group, where, attribute, value);
  });
}

}  // namespace npgpu::trace
