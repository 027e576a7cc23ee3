#include "netpipe/devices/simulated/json_object.hpp"

#include "netpipe/files/input.hpp"

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

// Read at every case and shape of a run, so a pipe does not do.
constexpr files::InputLimits spec_limits{.bytes = files::max_json_bytes, .pipes = false};

constexpr int max_likes = 8;  // a file that is like itself has no end

json read_json(const std::filesystem::path& file, int likes) {
  json value = files::read_json("--device", file, spec_limits, files::RepeatedKeys::refused);
  if (!value.is_object()) refuse(file, fmt::format("expected an object {{...}}, found {}", shown(value)));
  const auto like = value.find("like");
  if (like == value.end()) return value;
  if (!like->is_string() || like->get<std::string>().empty())
    refuse(file, fmt::format("like: expected the path of a spec, found {}", shown(*like)));
  if (likes == 0) refuse(file, fmt::format("like: more than {} files, each like another", max_likes));
  const std::filesystem::path of_base = like->get<std::string>();
  json base = read_json(file.parent_path() / of_base, likes - 1);
  if (const auto gpu = base.find("gpu"); gpu != base.end() && gpu->is_string())  // relative to the file that says it
    *gpu = (of_base.parent_path() / gpu->get<std::string>()).string();
  value.erase("like");
  base.merge_patch(value);
  return base;
}

}  // namespace

json read_json(const std::filesystem::path& file) { return read_json(file, max_likes); }

}  // namespace npgpu::simulated
