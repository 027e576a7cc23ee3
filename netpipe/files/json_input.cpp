#include "netpipe/files/json_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "npgpu/error.hpp"

namespace npgpu::files {

namespace {

constexpr int max_depth = 32;

// `name` begins the sentence about what is wrong with it.
nlohmann::json parse_json(const std::string& name, std::string_view text, RepeatedKeys repeated) {
  using nlohmann::json;
  const auto refuse = [&](const std::string& why) { throw Error(ErrorKind::usage, name + ": " + why); };
  std::vector<std::set<std::string>> open;
  const auto watch = [&](int depth, json::parse_event_t event, json& value) {
    if (depth > max_depth) refuse(fmt::format("brackets nest deeper than {} levels", max_depth));
    if (repeated == RepeatedKeys::allowed) return true;
    if (event == json::parse_event_t::object_start) open.emplace_back();
    if (event == json::parse_event_t::object_end) open.pop_back();
    if (event == json::parse_event_t::key && !open.back().insert(value.get<std::string>()).second)
      refuse(fmt::format("the key '{}' stands twice in one object", value.get<std::string>()));
    return true;
  };
  try {
    return json::parse(text, watch);
  } catch (const json::exception& e) {
    // "[json.exception.parse_error.101] parse error at line 3, column 7: ..."
    std::string what = e.what();
    if (const std::size_t code = what.find("] "); code != std::string::npos) what.erase(0, code + 2);
    what.erase(std::min(what.find("; last read: "), what.size()));  // which may be all of the file
    refuse("not JSON: " + what);
  }
  return {};
}

}  // namespace

nlohmann::json read_json(std::string_view what, const std::filesystem::path& path, const InputLimits& limits,
                         RepeatedKeys repeated) {
  const std::string text = read_input(what, path, limits);
  return parse_json((what.empty() ? "" : std::string(what) + ": ") + path.string(), text, repeated);
}

}  // namespace npgpu::files
