// An error with a list: files that are refused, cases that there are.
//
// Example:
//   const std::vector<std::filesystem::path> files{"node.h5", "missing.h5", "gone.h5"};
//   try {
//     npgpu::merge_traces("all.h5", files, {});
//   } catch (const npgpu::ListedError& error) {
//     std::cout << error.what() << '\n';
//     for (const std::string& line : error.below()) std::cout << "  " << line << '\n';
//   }
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "npgpu/error.hpp"

namespace npgpu {

class ListedError : public Error {
 public:
  // `below`: the lines of the list, which are printed below the sentence.
  ListedError(ErrorKind kind, const std::string& message, std::vector<std::string> below)
      : Error(kind, message), below_(std::make_shared<const std::vector<std::string>>(std::move(below))) {}
  const std::vector<std::string>& below() const noexcept { return *below_; }

 private:
  std::shared_ptr<const std::vector<std::string>> below_;  // shared: a copy of an exception must not throw
};

}  // namespace npgpu
