#include "netpipe/cli/fleet_files.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <system_error>
#include <utility>

#include "netpipe/files/folder.hpp"
#include "npgpu/error.hpp"

namespace npgpu::cli {

namespace {

namespace fs = std::filesystem;

// What it finds was not named by anybody: nothing in a folder may end it, or lead it in a circle.
class Finder {
 public:
  FoundTraces find(const std::vector<std::string>& words) {
    for (const std::string& word : words) {
      std::error_code error;
      if (!fs::is_directory(word, error)) {
        add(word);
        continue;
      }
      const std::size_t before = found_.traces.size() + found_.unreadable.size();
      walk(word);
      if (found_.traces.size() + found_.unreadable.size() > before) continue;
      const std::string why = "is a folder without traces (*.h5)";
      if (words.size() == 1) throw Error(ErrorKind::usage, "'" + word + "' " + why);
      found_.unreadable.push_back({word, why});  // as a shell's *.h5 may name one
    }
    std::ranges::sort(found_.traces);
    std::ranges::sort(found_.unreadable, {}, &FleetFile::path);
    return std::move(found_);
  }

 private:
  void walk(const fs::path& folder) {
    std::error_code error;
    const std::vector<fs::path> entries = files::entries_of(folder, error);
    if (error) found_.unreadable.push_back({folder.string(), "cannot be listed: " + error.message()});
    for (const fs::path& path : entries) {
      if (path.filename().string().starts_with(".")) continue;
      struct stat is {};
      const bool is_folder =
          ::lstat(path.c_str(), &is) == 0 && S_ISDIR(is.st_mode);  // links to folders are not followed
      if (is_folder) walk(path);
      else if (path.extension() == ".h5") add(path);
    }
  }

  void add(const fs::path& path) {
    struct stat is {};
    if (::stat(path.c_str(), &is) != 0)
      found_.unreadable.push_back({path.string(), std::generic_category().message(errno)});
    else if (taken_.emplace(is.st_dev, is.st_ino).second)  // else it was named twice
      found_.traces.push_back(path);
  }

  FoundTraces found_;
  std::set<std::pair<dev_t, ino_t>> taken_;
};

}  // namespace

FoundTraces find_traces(const std::vector<std::string>& words) { return Finder().find(words); }

}  // namespace npgpu::cli
