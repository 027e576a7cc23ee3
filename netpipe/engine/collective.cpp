#include "npgpu/vocabulary/collective.hpp"

#include <fmt/format.h>

#include "npgpu/measuring/campaign.hpp"
#include "npgpu/model/result.hpp"

namespace npgpu {

Seconds Collectives::timed(const Case& question, std::span<const Sample> trial) {
  double longest = 0;
  for (const Sample& lane : trial) longest = std::max(longest, is_host_timed(question) ? lane.host_us : lane.device_us);
  return from_microseconds(longest);
}

std::vector<std::string> devices_of(const CollectiveCase& c) {
  std::vector<std::string> all;
  for (std::size_t begin = 0; begin <= c.devices.size();) {
    const std::size_t end = std::min(c.devices.find(',', begin), c.devices.size());
    all.push_back(c.devices.substr(begin, end - begin));
    begin = end + 1;
  }
  return all;
}

bool is_of_old_ways(const CollectiveCase& c) {
  return c.processes != "one" || c.buffers != "plain" || c.overlap != "none";
}

std::string device_of(const CollectiveCase& c) { return c.devices.substr(0, c.devices.find(',')); }

CollectiveCase collective_on(const std::vector<std::string>& gpus, CollectiveOperation operation, DataType type) {
  CollectiveCase c{.operation = operation, .type = type};
  for (const std::string& id : gpus) c.devices += (c.devices.empty() ? "" : ",") + id;
  return c;
}

std::string title(const CollectiveCase& c) {
  const auto all = devices_of(c);
  std::string gpus = c.devices;
  constexpr std::size_t few = 4;
  if (all.size() > few) gpus = fmt::format("{} to {}", all.front(), all.back());
  std::string text = fmt::format("collectives {} GPUs {} {} {}", all.size(), gpus, name(c.operation), name(c.type));
  if (c.in_place) text += " in-place";
  if (c.timing != Timing::host) text += fmt::format(" {}", name(c.timing));
  if (c.processes != "one") text += ' ' + c.processes;
  if (c.launch != CollectiveLaunch::eager) text += fmt::format(" {}", name(c.launch));
  if (c.buffers != "plain") text += ' ' + c.buffers;
  if (c.overlap != "none") text += " overlap-" + c.overlap;
  return text;
}

std::optional<std::string> flaw_of(const CollectiveCase& c) {
  if (devices_of(c).size() < 2)
    return fmt::format("is of the devices '{}', and a collective has two at least", c.devices);
  return std::nullopt;
}

std::optional<std::string> flaw_of(const CollectiveSize& size) {
  if (size.bytes == 0) return "has 0 bytes";
  return std::nullopt;
}

std::string text_of(const CollectiveSize& size) { return size_text(size.bytes); }

double bus_factor(CollectiveOperation operation, std::size_t gpus) {
  const auto n = static_cast<double>(gpus);
  if (operation == CollectiveOperation::all_reduce) return 2 * (n - 1) / n;
  return has_blocks(operation) ? (n - 1) / n : 1;
}

std::uint64_t element_bytes(DataType type) {
  switch (type) {
    case DataType::fp32: return 4;
    case DataType::fp16:
    case DataType::bf16: return 2;
    case DataType::int8: return 1;
    default: return 0;
  }
}

namespace {

std::uint64_t least_size(CollectiveOperation operation, DataType type, std::size_t gpus) {
  return std::max<std::uint64_t>(element_bytes(type), 1) * (has_blocks(operation) ? gpus : 1);
}

}  // namespace

std::uint64_t fitting_size(CollectiveOperation operation, DataType type, std::size_t gpus, std::uint64_t bytes) {
  const std::uint64_t whole = least_size(operation, type, gpus);
  // Blocks of more than a few elements begin at multiples of 16 bytes, as libraries like them.
  constexpr std::uint64_t aligned = 16;
  const std::uint64_t step = has_blocks(operation) && bytes >= aligned * gpus ? aligned * gpus : whole;
  const std::uint64_t rest = bytes % step;
  if (rest == 0) return bytes;
  return bytes > UINT64_MAX - step ? bytes - rest : bytes - rest + step;
}

std::optional<std::string> why_no_collective(const Step<Collectives>& step) {
  const CollectiveCase& c = step.question;
  const std::size_t gpus = devices_of(c).size();
  if (gpus < 2) return "an operation of several GPUs needs two of them: name more in --device";
  // So many ones are the largest sum that every type holds exactly.
  constexpr std::size_t most = 256;
  if (gpus > most) return fmt::format("{} GPUs: results are compared exactly for up to {}", gpus, most);
  const std::uint64_t element = element_bytes(c.type);
  if (element == 0) return fmt::format("--type {}: collectives are of fp32, bf16, fp16 and int8", name(c.type));
  if (c.in_place &&
      (c.operation == CollectiveOperation::all_to_all || c.operation == CollectiveOperation::send_receive))
    return fmt::format("--place in: {} has no form in place: measure it out of place", name(c.operation));
  const std::uint64_t whole = least_size(c.operation, c.type, gpus);
  if (step.axes.bytes % whole != 0)
    return fmt::format("{} bytes are no whole {} of {}: take a multiple of {}", step.axes.bytes,
                       has_blocks(c.operation) ? "blocks for each GPU" : "elements", name(c.type), whole);
  return std::nullopt;
}

// ---- how it is repeated, what a point costs, what its figure counts -------------------------------------------------

// A trial has several of the longest operations, so that one launch and one wait count for little.
Repetition Collectives::repetition() {
  return {.classic = {.target = Seconds{0.05}},
          .adaptive = {.trial = Seconds{0.02}, .budget = Seconds{0.12}},
          .rounds = Repetition::usual_rounds};
}

// By one link of each GPU, with twice the bytes in all.
PointCost Collectives::cost(const DeviceInfo& device, const Step<Collectives>& step) {
  const auto bytes = static_cast<double>(step.axes.bytes);
  if (device.simulated) return {Seconds{0}, Seconds{2e-4}};
  return {Seconds{1.5e-5} + PointCost::moving(2 * bytes, 1.5e11), Seconds{2e-3} + PointCost::moving(4 * bytes, 1e12)};
}

Estimate Collectives::figure(const CollectiveCase&, const CollectiveResult& r) {
  return {r.bus_rate.value, r.bus_rate.low, r.bus_rate.high, "B/s", r.time_us.method};
}

std::string_view Collectives::counted(const CollectiveCase&, const CollectiveResult&) {
  return "bytes of the bus bandwidth";
}

}  // namespace npgpu
