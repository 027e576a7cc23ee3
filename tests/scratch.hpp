// Files in a folder that is gone when the test is, and errors as values.
#pragma once

#include <doctest/doctest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "npgpu/vocabulary/units.hpp"

namespace npgpu {

// A folder that is gone when the test is.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "npgpu-test-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::filesystem::path operator/(const char* name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      all.push_back(entry.path().filename().string());
    std::sort(all.begin(), all.end());
    return all;
  }

 private:
  std::filesystem::path path_;
};

inline std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// The error that `act` ends in: its text and kind. Fails the test if there is none.
struct Said {
  std::string text;
  ErrorKind kind = ErrorKind::nothing;
  bool has(const std::string& word) const { return text.find(word) != std::string::npos; }
};
inline Said error_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& e) {
    CHECK(std::string(e.what()).find('\n') == std::string::npos);  // one sentence
    return {e.what(), e.kind()};
  }
  FAIL_CHECK("no error");
  return {};
}

}  // namespace npgpu
