#include "netpipe/devices/simulated/json_object.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

namespace npgpu::simulated {

void refuse(const std::filesystem::path& file, const std::string& why) {
  throw Error(ErrorKind::usage, fmt::format("{}: {}", file.string(), why));
}

std::string shown(const json& value) {
  std::string text = value.dump();
  if (text.size() > 40) text = text.substr(0, 37) + "...";
  return text;
}

namespace {

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

std::string contents_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  const auto unreadable = [&] { refuse(file, fmt::format("cannot be read: {}", std::strerror(errno))); };
  if (!stream) unreadable();
  std::string text;
  try {
    text.assign(std::istreambuf_iterator<char>(stream), {});
  } catch (const std::ios_base::failure&) {
    unreadable();
  }
  return text;
}

constexpr int max_likes = 8;  // a file that is like itself has no end

json read_json(const std::filesystem::path& file, int likes) {
  json value = parse(file, contents_of(file));
  if (!value.is_object()) refuse(file, fmt::format("expected an object {{...}}, found {}", shown(value)));
  const auto like = value.find("like");
  if (like == value.end()) return value;
  if (!like->is_string() || like->get<std::string>().empty())
    refuse(file, fmt::format("like: expected the path of a spec, found {}", shown(*like)));
  if (likes == 0) refuse(file, fmt::format("like: more than {} files, each like another", max_likes));
  json base = read_json(file.parent_path() / like->get<std::string>(), likes - 1);
  value.erase("like");
  base.merge_patch(value);
  return base;
}

}  // namespace

json read_json(const std::filesystem::path& file) { return read_json(file, max_likes); }

}  // namespace npgpu::simulated
