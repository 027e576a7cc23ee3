// A JSON object that is read strictly: every key is asked for with the type it must have, and what was never asked
// for is refused. Errors name the file, the key's path and what was expected. Private to this folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace npgpu::simulated {

class JsonObject {
 public:
  // Throws Error(usage) if the file cannot be read, is not JSON, repeats a key, or is no object.
  static JsonObject read(const std::filesystem::path&);

  struct Range {
    double min = 0;
    double max = std::numeric_limits<double>::max();
    bool open = false;  // `min` itself is too little
  };

  double number(const std::string& key, const Range&) const;  // the key must be there
  double number_or(const std::string& key, double otherwise, const Range&) const;
  std::uint64_t integer(const std::string& key, std::uint64_t min, std::uint64_t max) const;
  std::uint64_t integer_or(const std::string& key, std::uint64_t otherwise, std::uint64_t min,
                           std::uint64_t max) const;
  std::string text(const std::string& key) const;  // never empty
  JsonObject object(const std::string& key) const;
  std::optional<JsonObject> maybe_object(const std::string& key) const;
  std::vector<JsonObject> objects_or_none(const std::string& key) const;

  // All keys, for objects whose keys are a choice of their own.
  std::vector<std::string> keys() const;
  bool has(const std::string& key) const;  // asks for it, too
  // Refuses keys that nobody asked for.
  void done() const;

  [[noreturn]] void wrong(const std::string& key, const std::string& expected) const;

 private:
  JsonObject(std::filesystem::path file, std::string path, nlohmann::json value);
  const nlohmann::json& at(const std::string& key, const std::string& expected) const;
  std::string path_of(const std::string& key) const;

  std::filesystem::path file_;
  std::string path_;  // "links.h2d", empty at the top
  nlohmann::json value_;
  mutable std::set<std::string> asked_;
};

}  // namespace npgpu::simulated
