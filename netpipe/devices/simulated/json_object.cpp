#include "netpipe/devices/simulated/json_object.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "npgpu/error.hpp"

namespace npgpu::simulated {

using nlohmann::json;

namespace {

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& why) {
  throw Error(ErrorKind::usage, fmt::format("{}: {}", file.string(), why));
}

// Far deeper than a spec goes. What walks a value calls itself for every level, and a hostile file would end the stack.
constexpr int max_depth = 32;

// A key that stands twice would silently count once.
json parse(const std::filesystem::path& file, const std::string& text) {
  std::vector<std::set<std::string>> open;
  const auto watch = [&](int depth, json::parse_event_t event, json& value) {
    if (depth > max_depth) refuse(file, fmt::format("brackets nest deeper than {} levels", max_depth));
    if (event == json::parse_event_t::object_start) open.emplace_back();
    if (event == json::parse_event_t::object_end) open.pop_back();
    if (event == json::parse_event_t::key && !open.back().insert(value.get<std::string>()).second)
      refuse(file, fmt::format("the key '{}' stands twice in one object", value.get<std::string>()));
    return true;
  };
  try {
    return json::parse(text, watch);
  } catch (const json::exception& e) {
    // "[json.exception.parse_error.101] parse error at line 3, column 7: ..."
    const std::string what = e.what();
    const std::size_t end = what.find("] ");
    refuse(file, "not JSON: " + (end == std::string::npos ? what : what.substr(end + 2)));
  }
}

std::string shown(const json& value) {
  std::string text = value.dump();
  if (text.size() > 40) text = text.substr(0, 37) + "...";
  return text;
}

std::string numbers(const JsonObject::Range& range) {
  if (range.open) return fmt::format("a number over {}, up to {:.0f}", range.min, range.max);
  return fmt::format("a number from {} to {:.0f}", range.min, range.max);
}

}  // namespace

JsonObject::JsonObject(std::filesystem::path file, std::string path, json value)
    : file_(std::move(file)), path_(std::move(path)), value_(std::move(value)) {}

JsonObject JsonObject::read(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) refuse(file, fmt::format("cannot be read: {}", std::strerror(errno)));
  std::string text;
  try {
    text.assign(std::istreambuf_iterator<char>(stream), {});
  } catch (const std::ios_base::failure&) {
    refuse(file, fmt::format("cannot be read: {}", std::strerror(errno)));
  }
  json value = parse(file, text);
  if (!value.is_object()) refuse(file, fmt::format("expected an object {{...}}, found {}", shown(value)));
  return {file, "", std::move(value)};
}

std::string JsonObject::path_of(const std::string& key) const { return path_.empty() ? key : path_ + '.' + key; }

void JsonObject::wrong(const std::string& key, const std::string& expected) const {
  const auto found = value_.find(key);
  refuse(file_, fmt::format("{}: expected {}, found {}", path_of(key), expected,
                            found == value_.end() ? "nothing" : shown(*found)));
}

const json& JsonObject::at(const std::string& key, const std::string& expected) const {
  asked_.insert(key);
  const auto found = value_.find(key);
  if (found == value_.end()) wrong(key, expected);
  return *found;
}

double JsonObject::number(const std::string& key, const Range& range) const {
  const json& value = at(key, numbers(range));
  if (!value.is_number()) wrong(key, numbers(range));
  const double number = value.get<double>();
  if (!(number >= range.min && number <= range.max) || (range.open && number == range.min))
    wrong(key, numbers(range));
  return number;
}

double JsonObject::number_or(const std::string& key, double otherwise, const Range& range) const {
  return has(key) ? number(key, range) : otherwise;
}

std::uint64_t JsonObject::integer(const std::string& key, std::uint64_t min, std::uint64_t max) const {
  const std::string expected = fmt::format("a whole number from {} to {}", min, max);
  const json& value = at(key, expected);
  if (!value.is_number_unsigned()) wrong(key, expected);
  const auto number = value.get<std::uint64_t>();
  if (number < min || number > max) wrong(key, expected);
  return number;
}

std::uint64_t JsonObject::integer_or(const std::string& key, std::uint64_t otherwise, std::uint64_t min,
                                     std::uint64_t max) const {
  return has(key) ? integer(key, min, max) : otherwise;
}

std::string JsonObject::text(const std::string& key) const {
  const json& value = at(key, "a text");
  if (!value.is_string() || value.get<std::string>().empty()) wrong(key, "a text");
  return value.get<std::string>();
}

JsonObject JsonObject::object(const std::string& key) const {
  const json& value = at(key, "an object {...}");
  if (!value.is_object()) wrong(key, "an object {...}");
  return {file_, path_of(key), value};
}

std::optional<JsonObject> JsonObject::maybe_object(const std::string& key) const {
  if (!has(key)) return std::nullopt;
  return object(key);
}

std::vector<JsonObject> JsonObject::objects_or_none(const std::string& key) const {
  std::vector<JsonObject> all;
  if (!has(key)) return all;
  const json& value = at(key, "a list of objects [{...}]");
  if (!value.is_array()) wrong(key, "a list of objects [{...}]");
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (!value[i].is_object()) wrong(key, "a list of objects [{...}]");
    all.push_back({file_, fmt::format("{}[{}]", path_of(key), i), value[i]});
  }
  return all;
}

bool JsonObject::has(const std::string& key) const {
  asked_.insert(key);
  return value_.contains(key);
}

std::vector<std::string> JsonObject::keys() const {
  std::vector<std::string> all;
  for (const auto& [key, value] : value_.items()) all.push_back(key);
  return all;
}

void JsonObject::done() const {
  for (const auto& [key, value] : value_.items()) {
    if (asked_.count(key)) continue;
    std::string known;
    for (const std::string& one : asked_) known += (known.empty() ? "" : ", ") + one;
    refuse(file_, fmt::format("{}: unknown key; known here: {}", path_of(key), known));
  }
}

}  // namespace npgpu::simulated
