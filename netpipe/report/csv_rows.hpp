// Rows of a csv table. Quoted as RFC 4180 says, lines ended by a line feed; an empty field is what was not measured.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "netpipe/report/foreign.hpp"
#include "npgpu/vocabulary/field.hpp"
#include "npgpu/vocabulary/trace.hpp"

namespace npgpu {

// What a table calls the case of a row: the name that it has on the screen, without its device. "H2D pinned, async",
// "cuMemcpy: H2D pinned, blocking". Cases of one device that differ have different names.
std::string case_name(const TransferCase&);

// The title without its device: "bandwidth read fp32", "calls launch back-to-back".
template <class Case> std::string case_name(const Case& question) {
  std::string text = title(question);
  const std::string device = ' ' + device_of(question);
  if (const std::size_t at = text.find(device + ' '); at != std::string::npos) text.erase(at, device.size());
  return text;
}

namespace csv {

inline std::string cell(std::string_view text) { return csv_text(text); }
inline std::string cell(const std::string& text) { return cell(std::string_view(text)); }
inline std::string cell(const ShortText& text) { return cell(std::string_view(text)); }
inline std::string cell(const char* text) { return cell(std::string_view(text)); }
inline std::string cell(const std::vector<Lane>& lanes) { return cell(lanes_text(lanes)); }
// The shortest text that reads back as the same number.
inline std::string cell(double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; }
template <class T>
requires std::is_integral_v<T> std::string cell(T value) { return fmt::format("{:d}", value); }
template <class E>
requires std::is_enum_v<E> std::string cell(E value) { return std::string(name(value)); }

// Where a visit's samples are in the trace's table, which is no property of the visit.
inline bool is_bookkeeping(const FieldInfo& field) { return field.name == "first_sample" || field.name == "samples"; }

class Row {
 public:
  template <class... Values> Row& add(const Values&... values) {
    (append(cell(values)), ...);
    return *this;
  }
  template <class Struct> Row& add_fields(const Struct& row) {
    return add_each(row, [](const FieldInfo&, const auto& value) { return cell(value); });
  }
  template <class Struct> Row& add_names() {
    return add_each(Struct{}, [](const FieldInfo& field, const auto&) { return cell(field.name); });
  }
  template <class Struct> Row& add_empty() {
    return add_each(Struct{}, [](const FieldInfo&, const auto&) { return std::string(); });
  }
  void end(std::ostream& out) const { out << text_ << '\n'; }

 private:
  template <class Struct, class Text> Row& add_each(const Struct& row, Text text) {
    visit_fields(row, [&](const FieldInfo& field, const auto& value) {
      if (!is_bookkeeping(field)) append(text(field, value));
    });
    return *this;
  }
  void append(const std::string& one) {
    if (!std::exchange(first_, false)) text_ += ',';
    text_ += one;
  }
  std::string text_;
  bool first_ = true;
};

// A table of one row a point; data/TABLES.md is its contract.
template <class K> void summary(std::ostream&, std::span<const Trace>);

}  // namespace csv

}  // namespace npgpu
