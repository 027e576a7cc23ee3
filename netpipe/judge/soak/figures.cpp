#include "npgpu/model/figures.hpp"

#include <fmt/format.h>

#include "netpipe/engine/algorithms.hpp"
#include "netpipe/judge/judge.hpp"
#include "netpipe/model/medians.hpp"

namespace npgpu {

double rate_of(const SoakSample& s) {
  const double rate = s.busy_us > 0 ? s.done / from_microseconds(s.busy_us).count() : not_measured;
  return model::is_figure(rate) ? rate : not_measured;
}

namespace {

bool is_slice(const SoakSample& s) { return s.pattern == MemoryPattern::none; }

SoakResult result_of_slice(const SoakSeries& series, const SoakPoint& point) {
  SoakResult r = model::result_of(point);
  r.trials = trials_of(series, point);
  model::set_times(r,
                   values_of(series, point,
                             [](const SoakSample& s) {
                               return is_slice(s) && std::isfinite(rate_of(s)) ? s.busy_us : not_measured;
                             }),
                   series);
  r.unsteady = false;  // a slice is one value
  for (const VisitInfo* visit : point.counted())
    if (const auto samples = samples_of(series, *visit); !samples.empty()) r.rate.value = rate_of(samples.front());
  r.rate.unit = "1/s";
  if (any_sample(series, point, [](const SoakSample& s) { return s.intact == 0; }))
    model::set_wrong(r, "the results of a load were wrong");
  return r;
}

// The first third of slices in order of time, or the last one.
std::vector<double> third_of(const std::vector<double>& rates, bool last) {
  const std::size_t third = std::max<std::size_t>(1, rates.size() / 3);
  if (last) return {rates.end() - static_cast<std::ptrdiff_t>(third), rates.end()};
  return {rates.begin(), rates.begin() + static_cast<std::ptrdiff_t>(third)};
}

void set_course(SoakFigure& f) {
  if (f.rates.empty()) return;
  f.lowest = *std::ranges::min_element(f.rates);
  std::array<std::vector<double>, 2> logs;
  for (const bool last : {false, true}) {
    const std::vector<double> some = third_of(f.rates, last);
    Estimate& e = last ? f.end : f.begin;
    ByVisit each;
    for (const double rate : some) {
      each.push_back({rate});
      logs[last].push_back(std::log(rate));
    }
    e = median_over_visits(each, "1/s");
  }
  const MedianDifference by = median_difference(logs[0], logs[1]);
  // Two slices may differ by what came before the first, as a free that the driver works off.
  constexpr std::size_t fewest = 3;
  if (f.rates.size() >= fewest && std::isfinite(by.low + by.high))
    f.change = {std::expm1(by.value), std::expm1(by.low), std::expm1(by.high), "1",
                "difference of the logarithms of the last third's and the first third's rates"};
}

// What of a device's samples is of one load and part.
struct Gathered {
  std::vector<SoakSample> samples;
  void sort() { sort_stably(samples, {}, &SoakSample::elapsed_s); }
};

double mean(const std::vector<SoakSample>& samples, double SoakSample::*column) {
  std::vector<double> all;
  for (const SoakSample& s : samples)
    if (std::isfinite(s.*column)) all.push_back(s.*column);
  return all.empty() ? not_measured : model::mean_of(all);
}

SoakFigure figure_of(const SoakCase& question, SoakLoad part, Gathered of) {
  of.sort();
  SoakFigure f;
  f.question = question;
  f.part = part;
  f.slices = of.samples.size();
  double done = 0, compared = 0;
  for (const SoakSample& s : of.samples) {
    f.mismatches += s.mismatches;
    f.temperature_c = std::fmax(f.temperature_c, s.temperature_c);
    if (s.done > 0) done += s.done, compared += s.compared;
    if (const double rate = rate_of(s); std::isfinite(rate)) f.rates.push_back(rate);
  }
  if (done > 0) f.compared = compared / done;
  f.clock_mhz = mean(of.samples, &SoakSample::sm_clock_mhz);
  f.power_w = mean(of.samples, &SoakSample::power_w);
  const std::size_t third = std::max<std::size_t>(1, of.samples.size() / 3);
  f.last_third_s = (of.samples.end() - static_cast<std::ptrdiff_t>(third))->elapsed_s;
  f.samples = std::move(of.samples);
  set_course(f);
  return f;
}

void add_state(SoakDevice& device, std::vector<SoakSample> slices) {
  sort_stably(slices, {}, &SoakSample::elapsed_s);
  std::map<std::uint64_t, SoakDevice::Throttle> throttles;
  std::vector<double> later;
  device.slices = slices.size();
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const SoakSample& s = slices[i];
    device.highest_c = std::fmax(device.highest_c, s.temperature_c);
    if (2 * i >= slices.size() && std::isfinite(s.temperature_c)) later.push_back(s.temperature_c);
    for (std::uint64_t bit = 1; bit != 0 && bit <= s.throttle_reasons; bit <<= 1) {
      if (!(s.throttle_reasons & slowing_reasons & bit)) continue;
      SoakDevice::Throttle& one = throttles[bit];
      const double at = std::isfinite(s.throttled_s) ? s.throttled_s : s.elapsed_s;
      if (one.slices++ == 0) one = {bit, at, at, 1};
      one.last_s = s.elapsed_s;
    }
  }
  for (const auto& [bit, one] : throttles) device.throttles.push_back(one);
  sort_stably(device.throttles, {}, &SoakDevice::Throttle::at_s);
  if (!later.empty()) device.temperature_c = median(later);
}

}  // namespace

std::vector<SoakResult> Soaks::results(const SoakSeries& series) {
  return model::of_each_point(series, result_of_slice);
}

std::string SoakFigure::name() const {
  std::string text(npgpu::name(part));
  if (part == SoakLoad::peer && !question.target.empty()) text += " to " + question.target;
  return is_together() ? text + ", together" : text;
}

std::vector<SoakDevice> soak_devices(const Trace& trace) {
  std::vector<SoakDevice> all;
  std::map<std::string, std::vector<SoakSample>> slices;
  for (const SoakSeries& series : trace.of<Soaks>()) {
    const std::string& id = series.question.device;
    auto known = std::ranges::find(all, id, &SoakDevice::id);
    if (known == all.end()) {
      known = all.insert(all.end(), SoakDevice{});
      known->id = id;
      known->name = series.device_name;
      known->uuid = series.device_uuid;
      known->simulated = series.simulated;
    }
    if (!series.error.empty()) known->errors.push_back(title(series.question) + ": " + series.error);
    std::map<SoakLoad, Gathered> parts;
    for (const Visit<Soaks>& visit : series.visits) {
      const auto samples = samples_of(series, visit);
      bool is_first = true;
      for (const SoakSample& s : samples) {
        if (!is_slice(s)) {
          known->words.push_back(s);
          continue;
        }
        parts[s.part].samples.push_back(s);
        if (std::exchange(is_first, false)) slices[id].push_back(s);
        known->elapsed_s = std::fmax(known->elapsed_s, s.elapsed_s + visit.axes.length_ms * 1e-3);
      }
    }
    for (auto& [part, gathered] : parts) known->loads.push_back(figure_of(series.question, part, std::move(gathered)));
  }
  for (SoakDevice& device : all) {
    add_state(device, std::move(slices[device.id]));
    std::ranges::stable_partition(device.loads, [](const SoakFigure& f) { return !f.is_together(); });
  }
  return all;
}

std::string throttle_text(std::uint64_t reasons) {
  std::string text;
  const auto add = [&](std::uint64_t bits, const char* what) {
    if (reasons & bits) text += (text.empty() ? "" : ", ") + std::string(what);
  };
  add(0x20 | 0x40, "too hot");
  add(0x80, "power brake");
  add(0x8, "hardware slowdown");
  add(0x4, "power cap");
  return text;
}

std::string soak_time_text(double seconds) {
  if (!std::isfinite(seconds)) return "-";
  const auto whole = static_cast<long long>(seconds + 0.5);
  const long long hours = whole / 3600, minutes = whole / 60 % 60, rest = whole % 60;
  if (hours > 0) return minutes > 0 ? fmt::format("{} h {} min", hours, minutes) : fmt::format("{} h", hours);
  if (minutes > 0) return rest > 0 ? fmt::format("{} min {} s", minutes, rest) : fmt::format("{} min", minutes);
  return fmt::format("{} s", rest);
}

}  // namespace npgpu
