// Specs as JSON: read strictly, with errors that name the file, the key's path and what was expected.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "npgpu/vocabulary/units.hpp"

namespace npgpu::simulated {

using nlohmann::json;

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& why);
std::string shown(const json& value);  // its first 40 characters
// The object in a file. Where it has a key "like", the path of another file, it is that file's object with what this
// one changes: objects are merged key by key, everything else is replaced, and null takes a key away (RFC 7396). Throws
// Error(usage) if a file cannot be read, is not JSON, repeats a key, or is no object.
json read_json(const std::filesystem::path& file);

// A JSON object that is read strictly: every key is asked for with the type it must have, and what was never asked
// for is refused. Errors name the file, the key's path and what was expected.
class JsonObject {
 public:
  JsonObject(std::filesystem::path file, std::string path, json value)
      : file_(std::move(file)), path_(std::move(path)), value_(std::move(value)) {}

  // What read_json() throws, too.
  template <class Read> static void file(const std::filesystem::path& file, Read read) {
    read_all({file, "", read_json(file)}, read);
  }
  // The same of an object that was put together: `path` is where the file has it.
  template <class Read>
  static void of(const std::filesystem::path& file, const std::string& path, json value, Read read) {
    read_all({file, path, std::move(value)}, read);
  }

  struct Range {
    double min = 0;
    double max = std::numeric_limits<double>::max();
    bool open = false;  // `min` itself is too little
  };

  // What is smaller, and not nothing, is a slip of the keyboard, and would end in infinite times.
  static constexpr double smallest = 1e-9;

  double number(const std::string& key, const Range& range) const {
    std::string expected =
        fmt::format("a number {} to {:.0f}",
                    range.open ? fmt::format("over {}, up", range.min) : fmt::format("from {}", range.min), range.max);
    const json& value = at(key, expected, &json::is_number);
    const double number = value.get<double>();
    if (!(number >= range.min && number <= range.max) || (range.open && number == range.min)) wrong(key, expected);
    if (number != 0 && std::fabs(number) < smallest) wrong(key, expected + fmt::format(", none below {}", smallest));
    return number;
  }
  // A number that is whole however it is written: 64, 64.0 and 6.4e1.
  double whole_number(const std::string& key, const Range& range) const {
    const double value = number(key, range);
    if (value != std::floor(value)) wrong(key, fmt::format("a whole number from {} to {:.0f}", range.min, range.max));
    return value;
  }
  double number_or(const std::string& key, double otherwise, const Range& range) const {
    return has(key) ? number(key, range) : otherwise;
  }
  std::uint64_t integer(const std::string& key, std::uint64_t min, std::uint64_t max) const {
    const std::string expected = fmt::format("a whole number from {} to {}", min, max);
    const auto number = at(key, expected, &json::is_number_unsigned).get<std::uint64_t>();
    if (number < min || number > max) wrong(key, expected);
    return number;
  }
  std::uint64_t integer_or(const std::string& key, std::uint64_t otherwise, std::uint64_t min,
                           std::uint64_t max) const {
    return has(key) ? integer(key, min, max) : otherwise;
  }
  std::string text(const std::string& key) const {  // never empty
    std::string value = at(key, "a text", &json::is_string).get<std::string>();
    if (value.empty()) wrong(key, "a text");
    return value;
  }
  // Calls read(object) for the one under `key`, which is there or, for maybe_object(), may be; then for each of a list
  // that may be there. What `read` did not ask for is refused.
  template <class Read> void object(const std::string& key, Read read) const {
    read_all({file_, path_of(key), at(key, "an object {...}", &json::is_object)}, read);
  }
  template <class Read> void maybe_object(const std::string& key, Read read) const {
    if (has(key)) object(key, read);
  }
  template <class Read> void maybe_objects(const std::string& key, Read read) const {
    constexpr auto expected = "a list of objects [{...}]";
    if (!has(key)) return;
    int i = 0;
    for (const json& value : at(key, expected, &json::is_array)) {
      if (!value.is_object()) wrong(key, expected);
      read_all({file_, fmt::format("{}[{}]", path_of(key), i++), value}, read);
    }
  }

  // What it holds besides this key, for who reads it as a part of another object.
  json without(const std::string& key) const {
    for (const auto& [other, value] : value_.items()) asked_.insert(other);
    json rest = value_;
    rest.erase(key);
    return rest;
  }
  std::string raw_object(const std::string& key) const { return at(key, "an object {...}", &json::is_object).dump(); }
  bool has(const std::string& key) const {  // asks for it, too
    asked_.insert(key);
    return value_.contains(key);
  }
  [[noreturn]] void wrong(const std::string& key, const std::string& expected) const {
    const auto found = value_.find(key);
    refuse(file_, fmt::format("{}: expected {}, found {}", path_of(key), expected,
                              found == value_.end() ? "nothing" : shown(*found)));
  }

 private:
  template <class Read> static void read_all(const JsonObject& from, Read read) {
    read(from);
    for (const auto& [key, value] : from.value_.items())
      if (!from.asked_.contains(key))
        refuse(from.file_,
               fmt::format("{}: unknown key; known here: {}", from.path_of(key), fmt::join(from.asked_, ", ")));
  }
  const json& at(const std::string& key, const std::string& expected, bool (json::*is)() const noexcept) const {
    asked_.insert(key);
    const auto found = value_.find(key);
    if (found == value_.end() || !((*found).*is)()) wrong(key, expected);
    return *found;
  }
  std::string path_of(const std::string& key) const { return path_.empty() ? key : path_ + '.' + key; }

  std::filesystem::path file_;
  std::string path_;  // "links.h2d", empty at the top
  json value_;
  mutable std::set<std::string> asked_;
};

}  // namespace npgpu::simulated
