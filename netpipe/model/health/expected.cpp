// What the user says that a node must have.
#include <algorithm>
#include <cctype>
#include <cmath>

#include "netpipe/model/health/findings.hpp"
#include "netpipe/model/health/models.hpp"
#include "npgpu/error.hpp"

namespace npgpu {

namespace {

constexpr const char* expectation_words = "gpus=N, name=WORDS, memory=SIZE in GiB, sms=N, link=genNxN, driver=VERSION";

bool is_number(const std::string& text) {
  return !text.empty() && text.size() < 10 &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c); });
}

// "gen5x16": 5 and 16.
bool is_link(const std::string& text) {
  const std::size_t x = text.find('x');
  return text.starts_with("gen") && x != std::string::npos && is_number(text.substr(3, x - 3)) &&
         is_number(text.substr(x + 1));
}

}  // namespace

std::vector<std::pair<std::string, std::string>> expectations(const std::string& list) {
  std::vector<std::pair<std::string, std::string>> all;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size()), equals = list.find('=', at);
    const std::string word = list.substr(at, end - at);
    at = end + 1;
    const std::string key = equals < end ? word.substr(0, word.find('=')) : word;
    const std::string value = equals < end ? word.substr(word.find('=') + 1) : "";
    const auto refuse = [&] {
      throw Error(ErrorKind::usage, fmt::format("--expect: '{}' is none of {}", word, expectation_words));
    };
    if (value.empty()) refuse();
    if (key == "gpus" || key == "sms" || key == "memory") {
      if (!is_number(value)) refuse();
    } else if (key == "link") {
      if (!is_link(value)) refuse();
    } else if (key == "name") {
      if (std::ranges::none_of(value, [](unsigned char c) { return std::isalnum(c); })) refuse();
    } else if (key != "driver") {
      refuse();
    }
    all.emplace_back(key, value);
  }
  return all;
}

namespace model {

namespace {

// "580" holds for 580.159.04, and not for 58 or 5800.
bool is_version(const std::string& is, const std::string& wanted) {
  return is == wanted || is.starts_with(wanted + '.');
}

struct Answer {
  std::string is;  // empty: not known
  bool is_met = false;
  std::string why = "it could not be read";  // not known
};

Answer answer(const DeviceRecord& of, const std::string& key, const std::string& wanted) {
  const auto number = [](double value) { return std::isnan(value) ? std::string() : fmt::format("{:g}", value); };
  if (key == "name") return {of.name, has_words(of.name, wanted)};
  if (key == "driver") return {of.text("driver_version"), is_version(of.text("driver_version"), wanted)};
  if (key == "sms") {
    const double sms = std::isnan(of.fact("multiprocessors")) ? of.fact("sms") : of.fact("multiprocessors");
    return {number(sms), number(sms) == wanted};
  }
  if (key == "memory") {  // of what is sold as so many GB or GiB, the driver reports a little less
    constexpr double tolerance = 0.1;
    const double gib = of.fact("memory_bytes") / static_cast<double>(GiB), expected = std::stod(wanted);
    return {std::isnan(gib) ? "" : fmt::format("{:.1f} GiB", gib), std::abs(gib - expected) <= tolerance * expected};
  }
  double generation = number_fact(of.after, "pcie_generation_copying"),
         lanes = number_fact(of.after, "pcie_lanes_copying");
  const bool is_copying = !std::isnan(generation);
  if (!is_copying) generation = of.fact("pcie_generation_now"), lanes = of.fact("pcie_lanes_now");
  const std::string is = std::isnan(generation) ? "" : fmt::format("gen{:g}x{:g}", generation, lanes);
  const bool are_as_many = wanted.ends_with(fmt::format("x{:g}", lanes));
  if (!is_copying && is != wanted && are_as_many)
    return {"", false, fmt::format("{} was read while the GPU was idle, when it may save power", is)};
  return {is, is == wanted};
}

}  // namespace

void judge_expected(Findings& findings) {
  for (const auto& [key, wanted] : findings.rules.expected) {
    if (key == "gpus") continue;  // the node's
    const Answer found = answer(findings.of, key, wanted);
    // What nothing could read is no fault of the GPU.
    HealthFinding& finding =
        findings.defect("expected_" + key,
                        found.is.empty() ? Health::unjudged
                        : found.is_met   ? Health::pass
                                         : Health::fail,
                        found.is.empty() ? fmt::format("{} {} is expected: not judged: {}", key, wanted, found.why)
                        : found.is_met   ? fmt::format("{} {}, as expected", key, found.is)
                                         : fmt::format("{} {}, expected {}", key, found.is, wanted));
    finding.basis = "expected by --expect";
  }
}

}  // namespace model
}  // namespace npgpu
