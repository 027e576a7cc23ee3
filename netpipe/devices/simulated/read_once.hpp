// What a file says, read again only after the file has changed: devices and probes ask for a spec at every case and
// shape.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace npgpu::simulated {

template <class T> class ReadOnce {
 public:
  // What read(file) gives, or gave. What it throws is thrown, and the next call reads again.
  template <class Read> T of(const std::filesystem::path& file, Read read) {
    std::error_code none;
    const Stamp stamp{std::filesystem::last_write_time(file, none), std::filesystem::file_size(file, none)};
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(file.string());
    if (found != known_.end() && found->second.first == stamp) return found->second.second;
    T value = read(file);
    known_.insert_or_assign(file.string(), std::pair(stamp, value));
    return value;
  }

 private:
  using Stamp = std::pair<std::filesystem::file_time_type, std::uintmax_t>;
  std::mutex mutex_;
  std::map<std::string, std::pair<Stamp, T>> known_;
};

}  // namespace npgpu::simulated
