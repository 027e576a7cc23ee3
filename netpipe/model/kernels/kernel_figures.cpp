// The figures of a device by which kernels take their time: from its probes, and from what its driver tells.
#include "netpipe/model/kernels/kernel_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "netpipe/engine/algorithms.hpp"
#include "netpipe/model/medians.hpp"
#include "netpipe/model/probes/derivation.hpp"

namespace npgpu {

namespace {

using model::rates_of;

constexpr double warp_lanes = 32;
constexpr double large_grid = 8;  // times what fits: blocks come and go

// How many bytes of its working set an operation moves for each that a thread's access has.
double moves_of(Operation operation) {
  return operation == Operation::triad ? 3 : operation == Operation::read || operation == Operation::write ? 1 : 2;
}

class KernelMeasuring {
 public:
  KernelMeasuring(const std::vector<const ProbeSeries*>& series, DeviceModel& into)
      : all_(series), into_(into), layout_(series.front()->layout) {
    const ProbeSeries& first = *series.front();
    into.device = first.question.device;
    into.device_name = first.device_name;
    into.device_uuid = first.device_uuid;
    into.simulated = first.simulated;
  }

  void measure() {
    tell();
    multiprocessors();
    for (const DataType type : {DataType::fp32, DataType::fp64, DataType::int32, DataType::fp16, DataType::bf16})
      if (const ProbeSeries* series = find("compute", Operation::fma, type)) arithmetic(*series);
    memory();
  }

 private:
  const ProbeSeries* find(const std::string& probe, Operation operation, DataType type,
                          Form form = Form::streaming) const {
    for (const ProbeSeries* s : all_)
      if (s->question.probe == probe && s->question.operation == operation && s->question.type == type &&
          s->question.form == form)
        return s;
    return nullptr;
  }
  void add(const std::string& key, double value, double low, double high, std::string from) {
    if (std::isfinite(value)) into_.figures[key] = {value, low, high, {}, std::move(from)};
  }
  void add(const std::string& key, double value, std::string from) { add(key, value, value, value, std::move(from)); }
  // A value that follows from one rate, and is as uncertain; `power`: 1, or -1 of a time.
  void follow(const std::string& key, double value, const Estimate& rate, int power, std::string from) {
    const double low = rate.low / rate.value, high = rate.high / rate.value;
    if (!std::isfinite(low * high)) return add(key, value, not_measured, not_measured, std::move(from));
    add(key, value, power > 0 ? value * low : value / high, power > 0 ? value * high : value / low, std::move(from));
  }

  void tell() {
    const auto told = [&](const std::string& key, double value) {
      if (value > 0) add(key, value, "reported by the driver");
    };
    told("blocks", layout_.max_blocks_per_unit);
    told("warps", layout_.max_threads_per_unit / warp_lanes);
    told("block_threads", layout_.max_threads_per_block);
    told("registers", layout_.registers_per_unit);
    told("shared_bytes", layout_.shared_bytes_per_unit);
    told("shared_reserved_bytes", layout_.shared_bytes_reserved);
    told("l2_bytes", static_cast<double>(layout_.cache_bytes));
  }

  // Those that ran blocks, by the number that each block read of its own: it takes no clock to count them.
  void multiprocessors() {
    std::uint32_t ran = 0;
    for (const ProbeSeries* series : all_)
      for (const ProbeSample& s : series->samples) ran = std::max(ran, s.units);
    const std::uint32_t told = layout_.units;
    std::uint32_t asked = 0;  // of blocks, at most: fewer cannot show all
    for (const ProbeSeries* series : all_)
      for (const Visit<Probes>& visit : series->visits) asked = std::max(asked, visit.axes.blocks);
    if (ran && asked >= told) {
      add("sms", ran, "counted: multiprocessors that ran blocks");
      if (told && ran != told)
        into_.warnings.push_back(
            fmt::format("{} of the {} multiprocessors that the driver reports ran blocks; figures and times "
                        "are those of {}",
                        ran, told, ran));
    } else if (told) {
      add("sms", told, "reported by the driver");
    }
    add("schedulers", 4, "assumed: of every multiprocessor since compute capability 3.0");
  }
  double at(const char* key) const { return into_.at(key); }

  static const ProbeResult* best_of(const std::vector<ProbeResult>& rates,
                                    const std::function<bool(const Shape&)>& is_one) {
    const ProbeResult* best = nullptr;
    for (const ProbeResult& r : rates)
      if (is_one(r.axes) && r.rate.value > (best ? best->rate.value : 0)) best = &r;
    return best;
  }

  // In cycles at the clock of One-All's run; where that was not recorded, at the highest.
  void arithmetic(const ProbeSeries& series) {
    const DataType type = series.question.type;
    const auto rates = rates_of(series);
    const ProbeResult* one_all = best_of(rates, [](const Shape& s) { return s.blocks == 1 && s.threads > 1; });
    const ProbeResult* one_one =
        best_of(rates, [](const Shape& s) { return s.blocks == 1 && s.threads == 1 && s.ilp == 1; });
    if (!one_all || !one_one) return;
    const std::string prefix = type == DataType::fp32 ? "" : fmt::format("instructions_{}_", name(type));
    if (std::isnan(at("shader_clock_mhz"))) {
      const double mhz = one_all->clock_mhz > 0 ? one_all->clock_mhz : layout_.clock_mhz;
      add("shader_clock_mhz", mhz,
          one_all->clock_mhz > 0 ? "cycles over time, probe compute" : "the highest clock that the driver reports");
    }
    const double clock = at("shader_clock_mhz") * 1e6;
    follow(prefix.empty() ? "fma_latency_cycles" : prefix + "cycles", 2 * clock / one_one->rate.value, one_one->rate,
           -1, "2 f / Cp_OO, probe compute");
    follow(prefix + "lanes", one_all->rate.value / 2 / clock, one_all->rate, 1, "Cp_OA / 2 f, probe compute");
    if (type == DataType::fp32) schedulers(rates, one_all->rate.value);
  }

  // The number of schedulers with which one block's rate follows from its warps.
  void schedulers(const std::vector<ProbeResult>& rates, double one_all) {
    double least = not_measured;
    double best = 4;
    const double of_warp = 2 * warp_lanes * at("shader_clock_mhz") * 1e6 / at("fma_latency_cycles");  // by latency
    for (const double s : {1.0, 2.0, 4.0, 8.0}) {
      std::vector<double> errors;
      for (const ProbeResult& r : rates) {
        if (r.axes.blocks != 1 || r.axes.ilp < 4 || r.axes.threads < warp_lanes) continue;
        const double warps = std::ceil(r.axes.threads / warp_lanes);
        const double rate = std::min(one_all * warps / s / std::ceil(warps / s), warps * r.axes.ilp * of_warp);
        errors.push_back(std::abs(rate / r.rate.value - 1));
      }
      if (errors.empty()) return;
      if (const double error = model::mean_of(errors); !(error >= least - 0.002)) least = error, best = s;
    }
    add("schedulers", best, "the number with which the rate of one block follows from its warps, probe compute");
  }

  // ---- memory --------------------------------------------------------------------------------------------------

  static bool is_beyond_caches(const ProbeResult& r, std::uint64_t largest) { return r.axes.bytes >= largest / 2; }
  std::vector<ProbeResult> of_memory(Operation operation) const {
    const ProbeSeries* series = find("bandwidth", operation, DataType::fp32);
    if (!series) return {};
    std::vector<ProbeResult> rates = rates_of(*series);
    std::uint64_t largest = 0;
    for (const ProbeResult& r : rates) largest = std::max(largest, r.axes.bytes);
    std::erase_if(rates, [&](const ProbeResult& r) { return !is_beyond_caches(r, largest); });
    return rates;
  }
  double slots(const Shape& s) const { return resident_blocks(layout_, s) * at("sms"); }
  bool walks(const Shape& s) const { return s.blocks > 1 && s.threads > 1 && s.blocks <= slots(s); }
  bool comes_and_goes(const Shape& s) const { return s.blocks > large_grid * slots(s); }
  static double step_bytes(const ProbeResult& r, Operation operation) {
    return moves_of(operation) * r.axes.threads * r.axes.ilp * r.axes.access_bytes;
  }
  static double step_s(const ProbeResult& r, Operation operation) {
    return step_bytes(r, operation) * r.axes.blocks / r.rate.value;
  }
  static const ProbeResult* at_shape(const std::vector<ProbeResult>& rates, std::uint32_t threads, bool one_block,
                                     const std::function<bool(const Shape&)>& more, std::uint32_t ilp = 1,
                                     std::uint32_t access_bytes = 4) {
    for (const ProbeResult& r : rates)
      if (r.axes.threads == threads && (r.axes.blocks == 1) == one_block && r.axes.ilp == ilp &&
          r.axes.access_bytes == access_bytes && more(r.axes))
        return &r;
    return nullptr;
  }

  void memory() {
    const auto read = of_memory(Operation::read), copy = of_memory(Operation::copy),
               write = of_memory(Operation::write);
    const auto both = copy.empty() ? of_memory(Operation::rmw) : copy;
    const double clock = at("shader_clock_mhz") * 1e6;
    const auto any = [](const Shape&) { return true; };
    const ProbeResult* fastest = best_of(both, any);
    const ProbeResult* one = at_shape(read, 64, true, any);
    if (!one) one = at_shape(both, 64, true, any);
    if (!fastest || !one || !(clock > 0)) return;
    follow("memory_gb_s", fastest->rate.value / 1e9, fastest->rate, 1,
           "the fastest copy, read and written counted, probe bandwidth");
    const double latency = step_s(*one, Operation::read);
    follow("memory_latency_cycles", latency * clock, one->rate, -1,
           "a step of one block of 64 threads, probe bandwidth");
    for (const auto& [key, rates] : {std::pair{"memory_read_share", &read}, {"memory_write_share", &write}})
      if (const ProbeResult* r = best_of(*rates, any))
        follow(key, r->rate.value / fastest->rate.value, r->rate, 1, "its fastest over the fastest copy");
    const ProbeResult* own = best_of(both, [](const Shape& s) { return s.blocks == 1; });
    if (own) follow("sm_bytes_per_cycle", own->rate.value / clock, own->rate, 1, "the fastest copy of one block");
    const DeviceModel in_step = with_knee(0);
    smooth(read, both, write, own, latency, clock);
    if (error_of(in_step, both) <= error_of(into_, both)) into_ = in_step;
  }
  DeviceModel with_knee(double knee) {
    add("memory_knee", knee,
        knee > 0 ? "how latency and rate give way to each other: fitted to kernels of an H200"
                 : "blocks go in step: their times say so, probe bandwidth");
    return into_;
  }

  // What blocks cost besides their bytes: from three shapes of reads and one of copies, of 4 B a thread.
  void smooth(const std::vector<ProbeResult>& read, const std::vector<ProbeResult>& both,
              const std::vector<ProbeResult>& write, const ProbeResult* own, double latency, double clock) {
    with_knee(4);
    const auto large = [&](const Shape& s) { return comes_and_goes(s); };
    latencies(read, latency, clock);
    const auto besides = [&](const ProbeResult& r, Operation operation) {
      const double cycles = into_.at("memory_more_loads_cycles", 0) * std::log2(r.axes.ilp) +
                            into_.at("memory_wider_loads_cycles", 0) * std::log2(r.axes.access_bytes / 4.0);
      const double step = step_bytes(r, operation), more = step / r.rate.value - latency - cycles / clock;
      return more > 0 ? step / more / clock : not_measured;
    };
    if (own)
      follow("sm_bytes_per_cycle", besides(*own, Operation::copy), own->rate, 1,
             "the fastest copy of one block, less the latency");
    // Without what the memory's rate adds to it.
    const auto lasts = [&](const ProbeResult& r, Operation operation) {
      const double written = operation == Operation::read    ? 0
                             : operation == Operation::write ? 1
                                                             : 0.5,
                   knee = model::knee_of_memory(at("memory_knee"), written, true), all = step_s(r, operation),
                   share = operation == Operation::read    ? into_.at("memory_read_share", 1)
                           : operation == Operation::write ? into_.at("memory_write_share", 1)
                                                           : 1,
                   bus = step_bytes(r, operation) * r.axes.blocks / (at("memory_gb_s") * 1e9 * share);
      const double alone = std::pow(std::max(0.0, std::pow(all, knee) - std::pow(bus, knee)), 1 / knee);
      return alone / r.axes.blocks * slots(r.axes) - latency;
    };
    const ProbeResult *small = at_shape(read, 64, false, large), *middle = at_shape(read, 256, false, large),
                      *most = at_shape(read, 1024, false, large), *stored = at_shape(both, 1024, false, large);
    if (small)
      follow("block_dispatch_ns", 1e9 * step_s(*small, Operation::read) / small->axes.blocks, small->rate, -1,
             "reads by blocks of 64 threads, 4 B each: time over blocks");
    if (!middle || !most) return;
    const double of_few = lasts(*middle, Operation::read), of_many = lasts(*most, Operation::read);
    const double of_warp = std::max(0.0, (of_many - of_few) / 24), of_block = std::max(0.0, of_few - 8 * of_warp);
    follow("block_turnaround_ns", 1e9 * of_block, middle->rate, -1,
           "reads by blocks of 256 and 1024 threads, 4 B each: what a block takes besides the latency, and its warps");
    follow("warp_turnaround_ns", 1e9 * of_warp, most->rate, -1, "the same: what each warp adds");
    if (stored)
      follow("store_turnaround_ns", 1e9 * std::max(0.0, lasts(*stored, Operation::copy) - of_many), stored->rate, -1,
             "copies by blocks of 1024 threads, 4 B each: what they take longer than reads");
    if (const ProbeResult* r = at_shape(write, 1024, false, large))
      follow("write_turnaround_ns",
             1e9 * std::max(0.0, lasts(*r, Operation::write) + latency - of_block - 32 * of_warp), r->rate, -1,
             "writes by blocks of 1024 threads, 4 B each: what they take besides the turnaround");
    const auto one_block = [](const Shape& s) { return s.blocks == 1; };
    if (const ProbeResult* r = best_of(write, one_block))
      follow("sm_write_bytes_per_cycle", r->rate.value / clock, r->rate, 1, "the fastest write of one block");
    if (const ProbeResult* r = best_of(read, one_block))
      follow("sm_read_bytes_per_cycle", besides(*r, Operation::read), r->rate, 1,
             "the fastest read of one block, less the latency");
  }

  // How much longer twice as many loads of a thread last, and loads twice as wide: the last of them counts.
  void latencies(const std::vector<ProbeResult>& read, double latency, double clock) {
    const auto any = [](const Shape&) { return true; };
    const auto lasts = [&](std::uint32_t threads, std::uint32_t ilp, std::uint32_t access_bytes) {
      const ProbeResult* r = at_shape(read, threads, true, any, ilp, access_bytes);
      return r ? step_s(*r, Operation::read) * clock : not_measured;
    };
    const double more = (lasts(1024, 4, 4) - lasts(1024, 1, 4)) / 2, wider = (lasts(64, 1, 16) - latency * clock) / 2;
    add("memory_more_loads_cycles", std::max(0.0, more),
        "a step of one block of 1024 threads, four loads of 4 B in flight and one: for each doubling");
    add("memory_wider_loads_cycles", std::max(0.0, wider),
        "a step of one block of 64 threads, loads of 16 B and 4 B: for each doubling");
  }

  // The median error of points of many blocks.
  double error_of(const DeviceModel& device, const std::vector<ProbeResult>& both) const {
    std::vector<double> errors;
    for (const ProbeResult& r : both) {
      if (r.axes.blocks == 1 || r.axes.threads == 1) continue;
      const double steps = walks(r.axes) ? 1000 : 1, bytes = steps * step_bytes(r, Operation::copy) * r.axes.blocks;
      const KernelCounts counts{.bytes = bytes,
                                .word_bytes = r.axes.access_bytes,
                                .blocks = r.axes.blocks,
                                .threads = r.axes.threads,
                                .in_flight = r.axes.ilp};
      try {
        errors.push_back(std::abs(likely_time(device, counts).count() / (bytes / r.rate.value) - 1));
      } catch (const Error&) {  // a block that does not fit what the driver reports
      }
    }
    return errors.empty() ? not_measured : median(errors);
  }

  const std::vector<const ProbeSeries*>& all_;
  DeviceModel& into_;
  const Layout layout_;
};

}  // namespace

DeviceModel model::kernel_figures(const std::vector<const ProbeSeries*>& series) {
  DeviceModel device;
  KernelMeasuring(series, device).measure();
  return device;
}

std::vector<DeviceModel> device_models(const Trace& trace) {
  std::vector<DeviceModel> all;
  for (const auto& list : model::by_device<Probes>(trace)) {
    const bool is_asked = std::ranges::any_of(
        list, [](const ProbeSeries* s) { return s->question.probe == "compute" || s->question.probe == "bandwidth"; });
    if (!is_asked || list.front()->question.device == "host") continue;
    KernelMeasuring(list, all.emplace_back()).measure();
    DeviceModel& device = all.back();
    const Facts facts = model::facts_of(trace, device.device);
    device.compute_capability = text_fact(facts, "compute_capability");
    // The times of a simulated device do not show these: it has no overhead of events, and registers cost nothing.
    for (const char* key : {"empty_kernel_us", "register_reads_per_cycle"})
      if (const double told = number_fact(facts, key); device.simulated && told > 0)
        device.figures[key] = {told, told, told, {}, "the spec"};
    // 8192 multiply-adds of three registers that wait for each other took 1.98 times as long as such of two where all
    // schedulers were busy in fp32, 1.5 times in fp64, and no longer in int32: tests/bench/foreign_kernels.cu.
    if (device.compute_capability == "9.0" && !device.simulated)
      device.figures["register_reads_per_cycle"] = {2, 2, 2, {}, "assumed: as an H200's schedulers were seen to read"};
  }
  return all;
}

DeviceModel device_model(const DeviceInfo& info) {
  DeviceModel device{info.id, info.name, {}, info.simulated, text_fact(info.facts, "compute_capability")};
  for (const auto& [key, value] : info.facts)
    if (const double number = number_fact(info.facts, key); std::isfinite(number))
      device.figures[key] = {number, number, number, {}, "the spec"};
  const auto add = [&](const char* key, double value, const char* from) {
    if (std::isfinite(value)) device.figures[key] = {value, value, value, {}, from};
  };
  const double idle = device.at("idle_sms", 0);
  add("sms", device.at("sms") - idle, idle > 0 ? "the spec, less idle_sms" : "the spec");
  add("memory_gb_s", 2 * device.at("d2d_gb_s"), "twice the spec's links.d2d");
  if (std::isnan(device.at("memory_knee"))) add("memory_knee", 0, "the spec: blocks go in step");
  return device;
}

}  // namespace npgpu
