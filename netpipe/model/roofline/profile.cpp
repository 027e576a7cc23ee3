// What Nsight Compute writes of kernels: `ncu --csv` has a record for each metric of a launch ("Metric Name", "Metric
// Unit", "Metric Value"), `ncu --csv --page raw` one for each launch, with a column for each metric and a second record
// of units. Lines of other programs may stand before the header.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <sstream>

#include "netpipe/engine/algorithms.hpp"
#include "npgpu/model/derive.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu {

namespace {

constexpr std::size_t most_kernels = 10'000;

// A metric, the roof that its work goes to, and what one count of it is. Threads' instructions: a multiply-add is two
// operations, and one on fp16 has two elements.
struct Metric {
  std::string_view name, roof;
  double each = 1;
};
constexpr std::string_view time_metric = "gpu__time_duration.sum", bytes_metric = "dram__bytes.sum";
constexpr Metric metrics[] = {
    {bytes_metric, "memory"},
    {"dram__bytes_read.sum", "memory"},
    {"dram__bytes_write.sum", "memory"},
    {"lts__t_bytes.sum", "L2"},
    {"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", "fp32"},
    {"smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", "fp32"},
    {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "fp32", 2},
    {"smsp__sass_thread_inst_executed_op_dadd_pred_on.sum", "fp64"},
    {"smsp__sass_thread_inst_executed_op_dmul_pred_on.sum", "fp64"},
    {"smsp__sass_thread_inst_executed_op_dfma_pred_on.sum", "fp64", 2},
    {"smsp__sass_thread_inst_executed_op_hadd_pred_on.sum", "fp16", 2},
    {"smsp__sass_thread_inst_executed_op_hmul_pred_on.sum", "fp16", 2},
    {"smsp__sass_thread_inst_executed_op_hfma_pred_on.sum", "fp16", 4},
};
// "sm__ops_path_tensor_src_bf16_dst_fp32.sum": operations of tensor cores.
constexpr std::string_view tensor_prefix = "sm__ops_path_tensor_src_", sum_suffix = ".sum";
constexpr std::string_view tensor_types[] = {"fp16", "bf16", "tf32", "fp8", "int8", "fp64"};

std::optional<KernelWork> work_of(std::string_view metric) {
  // The same counters stand under sm__ and smsp__.
  std::string known(metric);
  if (known.starts_with("sm__sass_thread")) known.replace(0, 2, "smsp");
  for (const Metric& one : metrics)
    if (known == one.name) return KernelWork{std::string(one.roof), one.each};
  if (!metric.starts_with(tensor_prefix) || !metric.ends_with(sum_suffix)) return std::nullopt;
  const std::string_view rest = metric.substr(tensor_prefix.size());
  for (const std::string_view type : tensor_types)
    if (rest.starts_with(type)) return KernelWork{fmt::format("tensor {}", type), 1};
  return std::nullopt;
}

// A value in seconds, bytes or counts. Numbers may have commas between thousands; units are short or long words.
std::optional<double> number_of(std::string text, std::string_view unit) {
  std::erase(text, ',');
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || read.ec != std::errc{} || read.ptr != text.data() + text.size() || !std::isfinite(value) ||
      value < 0)
    return std::nullopt;
  static const std::map<std::string_view, double> factors{
      {"", 1},           {"inst", 1},    {"s", 1},          {"second", 1},  {"ms", 1e-3},
      {"msecond", 1e-3}, {"us", 1e-6},   {"usecond", 1e-6}, {"ns", 1e-9},   {"nsecond", 1e-9},
      {"byte", 1},       {"Kbyte", 1e3}, {"Mbyte", 1e6},    {"Gbyte", 1e9}, {"Tbyte", 1e12}};
  const auto factor = factors.find(unit);
  return factor == factors.end() ? std::nullopt : std::optional(value * factor->second);
}

class Profile {
 public:
  explicit Profile(const std::string& name) : name_(name) {}

  [[noreturn]] void refuse(const std::string& what) const { throw Error(ErrorKind::usage, name_ + ": " + what); }

  // Adds a metric of one launch, by its number.
  void add(const std::string& launch, const std::string& kernel, std::string_view metric, const std::string& text,
           std::string_view unit) {
    const bool is_time = metric == time_metric;
    const auto work = work_of(metric);
    if (!is_time && !work) return;
    if (text.empty() || text == "n/a" || text == "nan") return;
    const auto value = number_of(text, unit);
    if (!value)
      refuse(fmt::format("{} of {} is '{} {}', no number with a unit of Nsight Compute", metric, kernel, text, unit));
    Launch& one = launches_[{launch, kernel}];
    if (is_time) one.time += *value;
    else if (metric == bytes_metric) one.all_bytes = *value;
    else one.work[work->roof] += *value * work->amount;
  }

  std::vector<UserKernel> kernels() {
    std::vector<UserKernel> all;
    std::map<std::string, std::size_t> places;
    for (auto& [key, launch] : launches_) {
      const std::string& kernel = key.second;
      if (!(launch.time > 0)) refuse(fmt::format("{} has no {}", kernel, time_metric));
      if (launch.all_bytes) launch.work["memory"] = *launch.all_bytes;
      if (!launch.work.contains("memory"))
        refuse(fmt::format("{} has no {}, and neither dram__bytes_read.sum nor dram__bytes_write.sum", kernel,
                           bytes_metric));
      const auto [place, is_new] = places.try_emplace(kernel, all.size());
      if (is_new) {
        if (all.size() == most_kernels) refuse(fmt::format("has more than {} kernels", most_kernels));
        all.push_back({.name = kernel, .launches = 0});
      }
      UserKernel& sum = all[place->second];
      ++sum.launches;
      sum.time += Seconds{launch.time};
      for (const auto& [roof, amount] : launch.work) {
        const auto same = std::ranges::find(sum.work, roof, &KernelWork::roof);
        if (same == sum.work.end()) sum.work.push_back({roof, amount});
        else same->amount += amount;
      }
    }
    sort_stably(all, std::ranges::greater{}, &UserKernel::time);
    for (const UserKernel& kernel : all)
      if (std::ranges::all_of(kernel.work,
                              [](const KernelWork& one) { return one.roof == "memory" || one.roof == "L2"; }))
        refuse(fmt::format("{} has no counter of operations, such as {}, {} or {}<type>...{}", kernel.name,
                           metrics[6].name, metrics[9].name, tensor_prefix, sum_suffix));
    return all;
  }

 private:
  struct Launch {
    double time = 0;
    std::optional<double> all_bytes{};
    std::map<std::string, double> work{};
  };
  const std::string& name_;
  std::map<std::pair<std::string, std::string>, Launch> launches_;
};

}  // namespace

std::vector<UserKernel> kernels_of_profile(std::string_view csv, const std::string& name) {
  std::istringstream file{std::string(csv)};
  Profile profile(name);
  std::vector<std::string> header, cells, units;
  const auto column = [&](std::string_view wanted) -> std::optional<std::size_t> {
    const auto found = std::ranges::find(header, wanted);
    if (found == header.end()) return std::nullopt;
    return static_cast<std::size_t>(found - header.begin());
  };
  std::optional<std::size_t> kernel;
  while (!kernel && read_csv_record(file, header)) kernel = column("Kernel Name");
  if (!kernel) profile.refuse("has no column \"Kernel Name\": write it by ncu --csv, or ncu --csv --page raw");
  const auto id = column("ID"), metric = column("Metric Name"), unit = column("Metric Unit"),
             value = column("Metric Value");
  const bool is_long = metric.has_value();
  if (is_long && !value) profile.refuse("has a column \"Metric Name\" and no column \"Metric Value\"");
  if (!is_long && !column(time_metric)) profile.refuse(fmt::format("has no column {}", time_metric));
  for (std::size_t record = 1; read_csv_record(file, cells); ++record) {
    if (cells.size() < header.size()) continue;  // what another program wrote, or an empty line
    if (!is_long && record == 1 && cells[*kernel].empty()) {
      units = cells;
      continue;
    }
    const std::string launch = id ? cells[*id] : std::to_string(record);
    if (is_long) {
      profile.add(launch, cells[*kernel], cells[*metric], cells[*value], unit ? cells[*unit] : "");
      continue;
    }
    for (std::size_t i = 0; i < header.size(); ++i)
      profile.add(launch, cells[*kernel], header[i], cells[i], units.empty() ? "" : units[i]);
  }
  auto kernels = profile.kernels();
  if (kernels.empty()) profile.refuse("has no kernel with the metrics that a roofline takes");
  return kernels;
}

}  // namespace npgpu
