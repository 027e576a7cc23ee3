#include "netpipe/model/matrix/copy_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "netpipe/model/matrix/matrix_causes.hpp"
#include "npgpu/model.hpp"

namespace npgpu::model {

namespace {

constexpr std::string_view says_wrong = "wrong";  // an error that begins so is of payloads

bool is_error_of_payloads(const std::string& error) { return error.starts_with(says_wrong); }

std::size_t gpus_of_lanes(const std::vector<Lane>& lanes) {
  std::set<std::string> gpus;
  for (const Lane& lane : lanes)
    for (const std::string& end : {lane.source, lane.target})
      if (end != "host") gpus.insert(end);
  return gpus.size();
}

// "byte 17 of 4096 is ..." of "wrong at 4 KiB: byte 17 of 4096 is ...; where an IOMMU ...".
std::string payload_sentence(const std::string& error) {
  const std::size_t colon = error.find(": ");
  const std::size_t begin = colon == std::string::npos ? 0 : colon + 2;
  return error.substr(begin, error.find("; ", begin) - begin);
}

}  // namespace

std::string name_of_lanes(const std::vector<Lane>& all) {
  std::set<std::string> sources, targets, gpus;
  bool to_host = false, from_host = false, peers = false;
  for (const Lane& lane : all) {
    to_host |= lane.direction == Direction::d2h;
    from_host |= lane.direction == Direction::h2d;
    peers |= lane.direction == Direction::peer;
    sources.insert(lane.source);
    targets.insert(lane.target);
    for (const std::string& one : {lane.source, lane.target})
      if (one != "host") gpus.insert(one);
  }
  const std::size_t n = gpus.size();
  if (!peers && to_host && from_host) return fmt::format("host to and from {} GPUs", n);
  if (!peers && from_host) return fmt::format("host to {} GPUs", n);
  if (!peers && to_host) return fmt::format("{} GPUs to host", n);
  if (to_host || from_host) return fmt::format("{} lanes", all.size());
  if (sources.size() == 1) return "one to all: " + *sources.begin();
  if (targets.size() == 1) return "all to one: " + *targets.begin();
  if (all.size() == n * (n - 1)) return "all to all";
  if (all.size() == n && sources.size() == n && targets.size() == n) return "ring";
  return fmt::format("{} lanes", all.size());
}

bool is_of_several_gpus(const TransferCase& question) { return gpus_of_lanes(lanes(question)) > 1; }

WrongBytes wrong_bytes_of(const std::string& sentence) {
  if (sentence.find("bytes are 0x00") != std::string::npos) return WrongBytes::zeros;
  if (sentence.find(": never written") != std::string::npos) return WrongBytes::unwritten;
  return WrongBytes::other;
}

std::string failure_to_measure(const TransferSeries& series, std::uint32_t lane) {
  if (!series.error.empty() && !is_error_of_payloads(series.error)) return series.error;
  const auto is_wrong = [&](const TransferSample& sample) { return sample.lane == lane && sample.intact == 0; };
  if (std::ranges::any_of(series.samples, is_wrong)) return {};
  if (series.visits.empty()) return "it was not measured";
  for (const TransferResult& point : results(series)) {
    if (point.lane != lane) continue;
    const Estimate& figure = is_of_words(series.question.pattern) ? point.time_us : point.rate;
    if (!(figure.value > 0) || !std::isfinite(figure.value)) return "no valid time at " + size_text(point.axes.bytes);
  }
  return {};
}

std::vector<CopyResults> copy_results(const Trace& trace) {
  std::vector<CopyResults> all;
  const auto of = [&](const Lane& lane) -> CopyResults& {
    for (CopyResults& one : all)
      if (one.source == lane.source && one.target == lane.target) return one;
    CopyResults& fresh = all.emplace_back();
    fresh.source = lane.source;
    fresh.target = lane.target;
    return fresh;
  };
  for (const TransferSeries& series : trace.of<Transfers>()) {
    const std::vector<Lane> lanes_of_case = lanes(series.question);
    const bool several = gpus_of_lanes(lanes_of_case) > 1;
    for (const TransferSample& sample : series.samples) {
      if (sample.intact < 0 || sample.lane >= lanes_of_case.size()) continue;
      CopyResults& one = of(lanes_of_case[sample.lane]);
      ++one.compared;
      if (sample.intact != 0) continue;
      ++one.wrong;
      one.wrong_of_several += several;
      const std::string sentence = payload_sentence(series.error);
      one.wrong_bytes = both_kinds(one.wrong_bytes, wrong_bytes_of(sentence));
      if (one.first_wrong.empty()) one.first_wrong = sentence;
    }
    // Of many lanes at once nobody knows which of them failed; and a second process may be why.
    constexpr std::size_t pair = 2;
    if (lanes_of_case.size() > pair || is_beside(series.question)) continue;
    for (std::uint32_t lane = 0; lane < lanes_of_case.size(); ++lane) {
      if (!lanes_of_case[lane].measured) continue;
      CopyResults& one = of(lanes_of_case[lane]);
      ++one.cases;
      const std::string failure = failure_to_measure(series, lane);
      if (failure.empty()) continue;
      ++one.failed;
      one.failed_of_several += several;
      if (one.first_failure.empty()) one.first_failure = failure;
    }
  }
  return all;
}

}  // namespace npgpu::model
