// What a fleet keeps of a trace, as CBOR: it comes from reading processes in this form, and stays in an index.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "npgpu/fleet.hpp"

namespace npgpu::cli {

using Cbor = nlohmann::json;

using Question = std::shared_ptr<const FleetQuestion>;

// Questions, each kept once and named by its number. Thousands of traces ask the same.
class QuestionBook {
 public:
  std::size_t number_of(const Question&);
  Cbor packed() const;
  // Adds what packed() made, and returns for each of its numbers the question as this book has it. Throws
  // Cbor::exception or std::out_of_range where it is something else.
  std::vector<Question> add(const Cbor& packed);

 private:
  struct ByContent {
    bool operator()(const Question& a, const Question& b) const { return *a < *b; }
  };
  std::vector<Question> all_;
  std::map<Question, std::size_t, ByContent> by_content_;
  std::map<const FleetQuestion*, std::size_t> by_address_;
};

Cbor packed(const FleetRun&, QuestionBook&);
// Throws Cbor::exception or std::out_of_range where it is not what packed() made.
FleetRun unpacked(const Cbor&, const std::vector<Question>&);

// A run by itself, with its questions.
std::string to_bytes(const FleetRun&);
FleetRun from_bytes(const std::string&, QuestionBook&);

}  // namespace npgpu::cli
