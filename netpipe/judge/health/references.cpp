#include "netpipe/judge/health/references.hpp"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "netpipe/judge/health/findings.hpp"
#include "netpipe/judge/health/metrics.hpp"
#include "npgpu_references.hpp"

namespace npgpu::model {

namespace {

bool is_of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }
bool same_letter(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

// Cuts the first word off; empty where there is none.
std::string_view take_word(std::string_view& text) {
  const auto* const begin = std::ranges::find_if(text, is_of_word);
  const auto* const end = std::find_if_not(begin, text.end(), is_of_word);
  text = {end, text.end()};
  return {begin, end};
}

struct Published {
  std::string_view name;
  int multiprocessors;
};
// From NVIDIA's datasheets the CUDA cores, over those of a multiprocessor (64 of Volta, Turing, GP100 and GA100, 128 of
// the others), and from the architectures' white papers: Pascal, Volta V1.1, Turing, Ampere GA100 and GA102, Ada,
// Hopper, RTX Blackwell. The papers of B100, B200, B300, GB200 and GB300 give only the whole chip; all of them that
// were reported have 148 (they may have more). The first whose words the name has counts, so longer names stand first.
constexpr Published published[] = {
    // Blackwell
    {"GB300", 148},
    {"GB200", 148},
    {"B300", 148},
    {"B200", 148},
    {"B100", 148},
    {"GB10", 48},
    {"RTX PRO 6000 Blackwell", 188},
    {"RTX 5090", 170},
    {"RTX 5080", 84},
    // Hopper
    {"GH200", 132},
    {"H200", 132},
    {"H100 NVL", 132},
    {"H100 PCIe", 114},
    {"H100 80GB HBM3", 132},
    {"H100 96GB HBM3", 132},
    {"H800 PCIe", 114},
    {"H800", 132},
    {"H20", 78},
    // Ada
    {"L40S", 142},
    {"L40", 142},
    {"L20", 92},
    {"L4", 58},
    {"RTX 6000 Ada", 142},
    {"RTX 5000 Ada", 100},
    {"RTX 4090 D", 114},
    {"RTX 4090", 128},
    // Ampere
    {"A100", 108},
    {"A800", 108},
    {"A30", 56},
    {"A40", 84},
    {"A10G", 80},
    {"A10", 72},
    {"A16", 10},
    {"A2", 10},
    {"RTX A6000", 84},
    {"RTX A5000", 64},
    {"RTX A4000", 48},
    {"RTX 3090 Ti", 84},
    {"RTX 3090", 82},
    // Turing, Volta, Pascal
    {"T4", 40},
    {"Quadro RTX 8000", 72},
    {"Quadro RTX 6000", 72},
    {"TITAN RTX", 72},
    {"RTX 2080 Ti", 68},
    {"V100", 80},
    {"TITAN V", 80},
    {"P100", 56},
    {"P40", 30},
    {"P4", 20}};

}  // namespace

bool has_words(std::string_view name, std::string_view wanted) {
  std::string_view word = take_word(wanted);
  if (word.empty()) return false;
  for (std::string_view found = take_word(name); !found.empty(); found = take_word(name)) {
    if (!std::ranges::equal(found, word, same_letter)) continue;
    word = take_word(wanted);
    if (word.empty()) return true;
  }
  return false;
}

bool names_part_of_gpu(std::string_view name) {
  if (has_words(name, "MIG")) return true;
  // A virtual GPU has its parts and GB at the end: "-3-20C".
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  const std::size_t last = name.rfind('-');
  if (last == std::string_view::npos || last < 2 || !is_digit(name[last - 1]) || name[last - 2] != '-') return false;
  const std::string_view end = name.substr(last + 1);
  return end.size() > 1 && is_digit(end.front()) && std::isupper(static_cast<unsigned char>(end.back())) != 0;
}

int published_multiprocessors(std::string_view name) {
  // A laptop's GPU shares a name with a larger one.
  if (names_part_of_gpu(name) || has_words(name, "Laptop")) return 0;
  for (const Published& one : published)
    if (has_words(name, one.name)) return one.multiprocessors;
  return 0;
}

ModelReference read_model_reference(std::string_view json) {
  const auto refuse = [](const std::string& why) { throw Error(ErrorKind::usage, "a reference of a model " + why); };
  const auto all = nlohmann::json::parse(json, nullptr, false);
  if (!all.is_object() || all.value("document", "") != "npgpu-reference") refuse("is no npgpu reference");
  if (all.value("version", 0) != 1) refuse("is of a version that this program does not know");
  ModelReference reference;
  reference.model = all.value("model", "");
  reference.name = all.value("name", "");
  reference.cards = all.value("cards", 0);
  reference.runs = all.value("runs", 0);
  reference.host_cpu = all.value("host_cpu", "");
  if (reference.model.empty() || reference.name.empty() || !all.contains("figures") || !all["figures"].is_array())
    refuse("names no model");
  for (const auto& one : all["figures"]) {
    ReferenceFigure& figure = reference.figures.emplace_back();
    figure.metric = one.value("metric", "");
    figure.value = one.value("value", 0.0);
    figure.unit = one.value("unit", "");
    figure.tolerance = one.value("tolerance", 0.0);
    figure.depends_on_host = one.value("depends_on_host", false);
    if (figure.metric.empty() || !is_figure(figure.value) || !is_figure(figure.tolerance))
      refuse("has a figure without metric, value or tolerance: " + reference.model);
  }
  return reference;
}

const std::vector<ModelReference>& model_references() {
  static const std::vector<ModelReference> all = [] {
    std::vector<ModelReference> made;
    for (const char* json : shipped_references) made.push_back(read_model_reference(json));
    return made;
  }();
  return all;
}

const ModelReference* reference_of_model(std::string_view name) {
  for (const ModelReference& one : model_references())
    if (name == one.name || name == one.model) return &one;
  return nullptr;
}

}  // namespace npgpu::model

namespace npgpu {

// What the user says that a node must have.

namespace {

constexpr const char* expectation_words =
    "gpus=N, name=WORDS, memory=SIZE in GiB, sms=N, link=genNxN, driver=VERSION, nor a figure with its limit, such as "
    "h2d=50GB/s, memory=4.4TB/s, fp32=60TFLOP/s, launch=5us";

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

// The metric of "h2d", "fp32", "launch" or "memory_write_rate"; empty where there is no such figure.
std::string metric_of_figure(const std::string& word) {
  if (word == "memory") return "memory_read_rate";  // as the table of GPUs has it
  for (const std::string& name :
       {word, word + "_rate", word + "_time", "memory_" + word + "_rate", "compute_" + word + "_rate"})
    if (model::is_figure_name(name) && (name == word || model::metric_row(name)->name == name)) return name;
  return {};
}

// "4.4TB/s" of a figure in B/s is 4.4e12; a number alone is in GB/s, TFLOP/s, TOP/s or us. NaN: none.
double limit_in(std::string_view text, std::string_view unit) {
  const std::string copy(text);
  char* end = nullptr;
  const double number = std::strtod(copy.c_str(), &end);
  std::string_view rest = end;
  if (end == copy.c_str() || !model::is_figure(number)) return not_measured;
  if (unit == "us") {
    for (const auto& [name, us] : {std::pair<std::string_view, double>{"", 1}, {"us", 1}, {"ms", 1e3}, {"ns", 1e-3}})
      if (rest == name) return number * us;
    return not_measured;
  }
  if (rest.empty()) return number * (unit == "B/s" ? 1e9 : 1e12);
  if (!rest.ends_with(unit)) return not_measured;
  rest.remove_suffix(unit.size());
  for (const auto& [prefix, by] : {std::pair<std::string_view, double>{"", 1}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}})
    if (rest == prefix) return number * by;
  return not_measured;
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
    // Memory has a size and a rate.
    if (const std::string metric = metric_of_figure(key); !metric.empty() && !(key == "memory" && is_number(value))) {
      const double limit = limit_in(value, model::metric_row(metric)->unit);
      if (std::isnan(limit)) refuse();
      all.emplace_back(metric, fmt::format("{}", limit));
      continue;
    }
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
  const auto [generation, lanes, is_copying, is_void] = trained_link(of);
  const std::string is = std::isnan(generation) ? "" : fmt::format("gen{:g}x{:g}", generation, lanes);
  if (is_void) return {"", false, fmt::format("{} was read, and copies were faster than it carries", is)};
  const bool are_as_many = wanted.ends_with(fmt::format("x{:g}", lanes));
  if (!is_copying && is != wanted && are_as_many)
    return {"", false, fmt::format("{} was read while the GPU was idle, when it may save power", is)};
  return {is, is == wanted};
}

}  // namespace

void judge_expected(Findings& findings) {
  for (const auto& [key, wanted] : findings.rules.expected) {
    if (key == "gpus" || is_figure_name(key)) continue;  // the node's; a figure's limit
    const Answer found = answer(findings.device, key, wanted);
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
