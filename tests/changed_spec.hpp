// A simulated device of the house, changed for a test.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace npgpu {

// A spec of the house with a change, in a file of its own.
class ChangedSpec {
 public:
  ChangedSpec(const std::string& name, const std::function<void(nlohmann::json&)>& change) {
    std::ifstream original(std::filesystem::path(NPGPU_SOURCE_DIR) / "data/devices" / (name + ".json"));
    nlohmann::json spec = nlohmann::json::parse(original);
    change(spec);
    static int number = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("npgpu-probed-" + std::to_string(getpid()) + '-' + std::to_string(number++) + ".json");
    std::ofstream(path_) << spec.dump();
  }
  ~ChangedSpec() { std::filesystem::remove(path_); }
  ChangedSpec(const ChangedSpec&) = delete;
  ChangedSpec& operator=(const ChangedSpec&) = delete;
  std::string id() const { return "sim:" + path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace npgpu
