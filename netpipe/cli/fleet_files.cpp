#include "netpipe/cli/fleet_files.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <set>
#include <system_error>

#include "npgpu/error.hpp"

namespace npgpu::cli {

namespace {

namespace fs = std::filesystem;

class Finder {
 public:
  FoundTraces find(const std::vector<std::string>& words) {
    for (const std::string& word : words) {
      const fs::path path(word);
      std::error_code error;
      if (fs::is_directory(path, error)) {
        const std::size_t before = found_.traces.size();
        walk(path, path, home_of(path, true));
        if (found_.traces.size() == before && found_.unreadable.empty())
          throw Error(ErrorKind::usage, "'" + word + "' is a folder without traces (*.h5)");
      } else {
        const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
        add(path, path.filename().string(), home_of(folder, false));
      }
    }
    std::ranges::sort(found_.traces, {}, &FoundTrace::path);
    std::ranges::sort(found_.unreadable, {}, &FleetFile::path);
    return std::move(found_);
  }

 private:
  std::size_t home_of(const fs::path& folder, bool is_whole) {
    std::error_code error;
    const fs::path real = fs::canonical(folder, error);
    const auto [home, is_new] = homes_.try_emplace(error ? folder : real, found_.homes.size());
    if (is_new) found_.homes.push_back({folder});
    if (is_whole) found_.homes[home->second].is_whole = true;
    return home->second;
  }

  void walk(const fs::path& folder, const fs::path& top, std::size_t home) {
    std::error_code error;
    fs::directory_iterator entries(folder, error);
    std::vector<fs::path> folders;
    for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
      const fs::path& path = entries->path();
      if (path.filename().string().starts_with(".")) continue;
      if (entries->is_directory() && !entries->is_symlink()) folders.push_back(path);
      else if (path.extension() == ".h5") add(path, path.lexically_relative(top).string(), home);
    }
    if (error) found_.unreadable.push_back({folder.string(), "cannot be listed: " + error.message()});
    for (const fs::path& below : folders) walk(below, top, home);
  }

  void add(const fs::path& path, const std::string& name, std::size_t home) {
    struct stat is {};
    if (::stat(path.c_str(), &is) != 0) {
      found_.unreadable.push_back({path.string(), std::generic_category().message(errno)});
      return;
    }
    if (!taken_.emplace(is.st_dev, is.st_ino).second) return;  // named twice
    FoundTrace& trace = found_.traces.emplace_back();
    trace.path = path;
    trace.name = name;
    trace.home = home;
    trace.bytes = static_cast<std::uint64_t>(is.st_size);
    trace.modified_ns = std::int64_t{is.st_mtim.tv_sec} * 1'000'000'000 + is.st_mtim.tv_nsec;
  }

  FoundTraces found_;
  std::map<fs::path, std::size_t> homes_;
  std::set<std::pair<dev_t, ino_t>> taken_;
};

}  // namespace

FoundTraces find_traces(const std::vector<std::string>& words) { return Finder().find(words); }

}  // namespace npgpu::cli
