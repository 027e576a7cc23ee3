// Comma-separated values (RFC 4180), as programs write them.
#pragma once

#include <istream>
#include <string>
#include <vector>

namespace npgpu {

// One record, which may go over several lines where a quoted field does; false at the end.
inline bool read_csv_record(std::istream& file, std::vector<std::string>& fields) {
  fields.assign(1, "");
  bool quoted = false, any = false;
  for (char c; file.get(c);) {
    any = true;
    if (quoted) {
      if (c != '"') fields.back() += c;
      else if (file.peek() == '"') fields.back() += static_cast<char>(file.get());
      else quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      fields.emplace_back();
    } else if (c == '\n') {
      return true;
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return any;
}

}  // namespace npgpu
