#include "netpipe/cli/fleet_baselines.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include "netpipe/cli/output_file.hpp"
#include "netpipe/engine/sort_stably.hpp"
#include "netpipe/files/json_input.hpp"
#include "netpipe/report/fleet/values_json.hpp"
#include "npgpu/error.hpp"

namespace npgpu::cli {

namespace {

constexpr const char* baselines_format = "npgpu-fleet-baselines";
constexpr int baselines_version = 2;
constexpr std::uint64_t max_baselines_bytes = 64 << 20;

double number(const Json& value) { return value.is_number() ? value.get<double>() : not_measured; }

template <class E> E word(const Json& value) {
  const auto found = named<E>(value.get<std::string>());
  if (!found) throw Json::other_error::create(500, "unknown word " + value.get<std::string>(), nullptr);
  return *found;
}

FleetItem item_of(const Json& from) {
  FleetItem item;
  item.of = word<FleetItem::Of>(from.at("of"));
  item.kind = from.at("kind").get<std::string>();
  item.title = from.at("title").get<std::string>();
  item.lane = from.at("lane").get<std::uint32_t>();
  item.third = word<Third>(from.at("third"));
  item.at = from.at("at").is_null() ? std::string() : from.at("at").get<std::string>();
  if (item.of == FleetMeasure::curve) item.time_class = word<TimeClass>(from.at("class"));
  else item.figure = word<FigureKind>(from.at("class"));
  item.unit = word<FigureUnit>(from.at("unit"));
  item.tolerance = number(from.at("tolerance"));
  item.gpus = from.at("gpus").get<std::size_t>();
  item.median = number(from.at("median"));
  item.sigma = number(from.at("sigma"));
  if (item.sigma < 0) throw Json::other_error::create(500, "a negative scatter", nullptr);
  return item;
}

FleetCase case_of(const Json& from) {
  FleetCase one;
  one.question.kind = from.at("kind").get<std::string>();
  one.question.title = from.at("title").get<std::string>();
  one.question.lane = from.at("lane").get<std::uint32_t>();
  one.question.time_class = word<TimeClass>(from.at("class"));
  for (const Json& point : from.at("points")) {
    one.question.axes.push_back(point.at("at").get<std::string>());
    one.question.sizes.push_back(number(point.at("bytes")));
    one.us.push_back(number(point.at("us")));
    one.low_us.push_back(number(point.at("low_us")));
    one.high_us.push_back(number(point.at("high_us")));
    one.gpus.push_back(point.at("gpus").get<std::size_t>());
  }
  return one;
}

Json json_of_baseline(const FleetBaseline& baseline) {
  Json groups = array_of(baseline.groups, [](const FleetBaseline::Group& group) {
    Json one{entry("model", group.model), entry("driver", group.driver), entry("link", group.link),
             entry("gpus", group.gpus)};
    one["items"] = array_of(group.items, [](const FleetItem& item) { return item_json(item); });
    one["cases"] = array_of(group.cases, [](const FleetCase& of) { return case_json(of); });
    return one;
  });
  return {{"date", baseline.date}, {"groups", std::move(groups)}};
}

FleetBaseline baseline_of_json(const Json& from) {
  FleetBaseline baseline{from.at("date").get<std::string>(), {}};
  for (const Json& one : from.at("groups")) {
    FleetBaseline::Group group{one.at("model").get<std::string>(),
                               one.at("driver").get<std::string>(),
                               one.at("link").get<std::string>(),
                               one.at("gpus").get<std::size_t>(),
                               {},
                               {}};
    for (const Json& item : one.at("items")) group.items.push_back(item_of(item));
    for (const Json& of : one.at("cases")) group.cases.push_back(case_of(of));
    baseline.groups.push_back(std::move(group));
  }
  return baseline;
}

}  // namespace

namespace {

std::vector<FleetBaseline> baselines_in(const std::string& option, const std::string& path,
                                        const files::InputLimits& limits) {
  const auto refuse = [&](const std::string& why) {
    return Error(ErrorKind::usage, "--" + option + ": " + path + " " + why + "; npgpu fleet --keep writes such files");
  };
  const Json all = files::read_json("--" + option, path, limits);
  try {
    if (!all.is_object() || all.value("format", "") != baselines_format) throw refuse("holds no baselines of a fleet");
    if (all.at("version") != baselines_version) throw refuse("is of another version");
    std::vector<FleetBaseline> baselines;
    for (const Json& one : all.at("baselines")) baselines.push_back(baseline_of_json(one));
    if (baselines.empty()) throw refuse("holds no baselines of a fleet");
    sort_stably(baselines, {}, &FleetBaseline::date);
    return baselines;
  } catch (const Json::exception&) {
    throw refuse("is damaged");
  }
}

}  // namespace

std::vector<FleetBaseline> read_baselines(const std::string& option, const std::string& path) {
  return baselines_in(option, path, {.bytes = max_baselines_bytes});
}

std::vector<FleetBaseline> baselines_to_keep(const std::string& option, const std::string& path) {
  check_output(option, path, true);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  return baselines_in(option, path, {.bytes = max_baselines_bytes, .pipes = false});
}

void keep_baseline(const std::string& option, const std::string& path, const FleetBaseline& baseline) {
  std::vector<FleetBaseline> all = baselines_to_keep(option, path);
  std::erase_if(all, [&](const FleetBaseline& one) { return one.date == baseline.date; });
  all.push_back(baseline);
  sort_stably(all, {}, &FleetBaseline::date);
  Json file{{"format", baselines_format}, {"version", baselines_version}};
  file["baselines"] = array_of(all, json_of_baseline);
  write_file(option, path, true, [&](std::ostream& out) { write_json(out, file, 1); });
}

}  // namespace npgpu::cli
