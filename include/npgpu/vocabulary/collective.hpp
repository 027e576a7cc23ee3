// Operations that several GPUs do together: all-reduce and its like, by NCCL. A case with a size is a point.
//
// Example:
//   const std::vector<std::string> gpus = npgpu::devices::node("sim:node8");  // or cuda:0
//   const npgpu::CollectiveCase question = npgpu::collective_on(gpus, npgpu::CollectiveOperation::all_reduce);
//   const auto& backend = *npgpu::reaching(npgpu::backends<npgpu::Collectives>(), "sim").at(0);
//   const npgpu::Step<npgpu::Collectives> step{question, {npgpu::MiB}};
//   const auto runner = backend.open({&step, 1});
//   runner->prepare(step);
//   std::vector<npgpu::CollectiveSample> trial;  // a sample for each GPU
//   runner->run(20, trial);
//   const double us = npgpu::microseconds(npgpu::Collectives::timed(question, trial)) / 20;
//   const double bus = npgpu::bus_factor(question) * npgpu::MiB / us * 1e-3;
//   std::cout << title(question) << ": bus bandwidth " << bus << " GB/s\n";
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "npgpu/measuring/runner.hpp"
#include "npgpu/vocabulary/probe.hpp"
#include "npgpu/vocabulary/transfer.hpp"

namespace npgpu {

// S is the size of a point, n the number of GPUs. The first GPU is the root of those that have one.
enum class CollectiveOperation {
  all_reduce,      // every GPU gets the sums of all GPUs' S bytes
  reduce_scatter,  // every GPU gets S/n of the sums
  all_gather,      // every GPU gives S/n, and gets those of all
  broadcast,       // the root's S bytes go to all
  reduce,          // the root gets the sums
  all_to_all,      // every GPU gives each S/n, itself too
  send_receive,    // every GPU sends S bytes to the next one, the last one to the first
  gather,          // the root gets S/n of every GPU
  scatter,         // every GPU gets another S/n of the root's
};
template <>
inline constexpr std::array<std::string_view, 9> names_of<CollectiveOperation>{
    "all-reduce", "reduce-scatter", "all-gather", "broadcast", "reduce",
    "all-to-all", "send-receive",   "gather",     "scatter"};
constexpr bool has_sums(CollectiveOperation o) {
  return o == CollectiveOperation::all_reduce || o == CollectiveOperation::reduce_scatter ||
         o == CollectiveOperation::reduce;
}
// The size is that of n blocks, one for each GPU.
constexpr bool has_blocks(CollectiveOperation o) {
  return o == CollectiveOperation::reduce_scatter || o == CollectiveOperation::all_gather ||
         o == CollectiveOperation::all_to_all || o == CollectiveOperation::gather || o == CollectiveOperation::scatter;
}

// How operations are given to the GPUs.
enum class CollectiveLaunch {
  eager,  // a call of the library for each
  graph,  // captured in CUDA graphs of several each, which are launched
};
template <> inline constexpr std::array<std::string_view, 2> names_of<CollectiveLaunch>{"eager", "graph"};

// What NCCL chose, as codes of its public names.
inline constexpr std::array<std::string_view, 8> collective_algorithms{
    "tree", "ring", "collnet-direct", "collnet-chain", "nvls", "nvls-tree", "pat", "symmetric"};
inline constexpr std::array<std::string_view, 3> collective_protocols{"LL", "LL128", "simple"};
inline constexpr std::array<std::string_view, 3> collective_paths{"P2P", "SHM", "NET"};

struct CollectiveCase {
  std::string devices{};  // in the order of their ranks: "cuda:0,cuda:1"
  CollectiveOperation operation = CollectiveOperation::all_reduce;
  DataType type = DataType::fp32;
  bool in_place = false;         // the result stands where the operands stood
  Timing timing = Timing::host;  // host: nccl-tests' way, a clock around many operations and the wait for them
  CollectiveLaunch launch = CollectiveLaunch::eager;
  // Older traces have others: a process or a rank for each GPU, registered buffers, a kernel at the same time.
  std::string processes = "one", buffers = "plain", overlap = "none";

  auto operator<=>(const CollectiveCase&) const = default;
};
template <>
inline constexpr auto fields_of<CollectiveCase> =
    fields(field("devices", &CollectiveCase::devices), field("operation", &CollectiveCase::operation),
           field("type", &CollectiveCase::type), field("in_place", &CollectiveCase::in_place),
           field("timing", &CollectiveCase::timing), field("processes", &CollectiveCase::processes),
           optional_field("launch", &CollectiveCase::launch), optional_field("buffers", &CollectiveCase::buffers),
           optional_field("overlap", &CollectiveCase::overlap));
// The case of an older trace: this program measures it no more, and shows its table alone.
bool is_of_old_ways(const CollectiveCase&);
std::vector<std::string> devices_of(const CollectiveCase&);
std::string device_of(const CollectiveCase&);  // the first one
inline bool is_host_timed(const CollectiveCase& c) { return c.timing == Timing::host; }
std::optional<std::string> flaw_of(const CollectiveCase&);
std::string title(const CollectiveCase&);  // "collectives 2 GPUs cuda:0,cuda:1 all-reduce fp32 in-place"
CollectiveCase collective_on(const std::vector<std::string>& gpus, CollectiveOperation, DataType = DataType::fp32);

struct CollectiveSize {
  std::uint64_t bytes = 0;  // of the larger one of a GPU's two buffers

  auto operator<=>(const CollectiveSize&) const = default;
};
template <> inline constexpr auto fields_of<CollectiveSize> = fields(field("bytes", &CollectiveSize::bytes, "B"));

// One GPU in a trial of `repeats` operations.
struct CollectiveSample {
  std::uint32_t visit = 0;
  std::uint32_t trial = 0;
  std::uint32_t lane = 0;    // place of the GPU among the devices
  std::int32_t intact = -1;  // 1 this GPU's result was compared and right, 0 wrong, -1 not compared after this trial
  std::uint64_t repeats = 0;
  double host_us = not_measured;    // of all repeats, until all GPUs were done; the same for all lanes
  double device_us = not_measured;  // of all repeats, by events of this GPU
  // What the library chose for this size; -1 where it does not say.
  std::int32_t algorithm = -1;  // of collective_algorithms
  std::int32_t protocol = -1;   // of collective_protocols
  std::int32_t channels = -1;
  std::int32_t path = -1;  // of collective_paths: the slowest one that it goes over

  bool operator==(const CollectiveSample&) const = default;
};
template <>
inline constexpr auto fields_of<CollectiveSample> =
    fields(field("visit", &CollectiveSample::visit), field("trial", &CollectiveSample::trial),
           field("lane", &CollectiveSample::lane), field("intact", &CollectiveSample::intact, "1", intact_codes),
           field("repeats", &CollectiveSample::repeats), field("host_us", &CollectiveSample::host_us, "us"),
           field("device_us", &CollectiveSample::device_us, "us"),
           optional_field("algorithm", &CollectiveSample::algorithm, "1",
                          "0 tree, 1 ring, 2 collnet-direct, 3 collnet-chain, 4 nvls, 5 nvls-tree, 6 pat, 7 symmetric, "
                          "-1 not known"),
           optional_field("protocol", &CollectiveSample::protocol, "1", "0 LL, 1 LL128, 2 simple, -1 not known"),
           optional_field("channels", &CollectiveSample::channels, "1", "-1 not known"),
           optional_field("path", &CollectiveSample::path, "1", "0 P2P, 1 SHM, 2 NET, -1 not known"));

struct CollectiveContext {
  std::string library{};  // "NCCL 2.28.9 (libnccl.so.2), NCCL_NVLS_ENABLE=0"

  bool operator==(const CollectiveContext&) const = default;
};
template <> inline constexpr auto fields_of<CollectiveContext> = fields(field("library", &CollectiveContext::library));

inline TimeClass class_of(const CollectiveCase& c) {
  return is_host_timed(c) ? TimeClass::host_copies : TimeClass::device_copies;
}

struct Collectives : UsualKind {
  static constexpr std::string_view name = "collectives";
  static constexpr std::string_view singular = "collective";
  static constexpr std::string_view command = "collectives";
  static constexpr std::string_view smaller = "measure smaller sizes (--sizes, --end)";
  static constexpr bool is_of_device = false;
  using Case = CollectiveCase;
  using Axes = CollectiveSize;
  using Sample = CollectiveSample;
  using Context = CollectiveContext;
  struct Details {
    Estimate bus_rate;                         // bytes per second; `rate` is the algorithm bandwidth
    Estimate host_us;                          // until all GPUs were done; behind a gate not measured
    std::vector<double> lanes_us{};            // by each GPU's events, one operation
    std::vector<std::uint32_t> wrong_lanes{};  // GPUs whose results were wrong
    // What the library chose, as in CollectiveSample; -1: not known, or not always the same.
    std::int32_t algorithm = -1, protocol = -1, channels = -1, path = -1;
  };
  static Seconds timed(const Case&, std::span<const Sample> trial);  // of the GPU that took longest, or the host's
  static Repetition repetition();
  static PointCost cost(const DeviceInfo&, const Step<Collectives>&);
  static double work(const Case&, const Axes& size) { return static_cast<double>(size.bytes); }
  static std::vector<Result<Collectives>> results(const Series<Collectives>&);
  static Estimate figure(const Case&, const Result<Collectives>&);
  static std::string_view counted(const Case&, const Result<Collectives>&);
  static std::vector<FigureChoice> key_figures(const Case&, std::uint32_t lane);
};
using CollectiveSeries = Series<Collectives>;
using CollectivePoint = Point<Collectives>;
using CollectiveResult = Result<Collectives>;

std::optional<std::string> flaw_of(const CollectiveSize&);
std::string text_of(const CollectiveSize&);  // "4 MiB"

// The bus bandwidth over the algorithm bandwidth, which is the size over the time, as nccl-tests defines them: it is
// what each GPU's link carries where every byte goes over it as rarely as it can, and so comparable with a link's rate.
double bus_factor(CollectiveOperation, std::size_t gpus);
inline double bus_factor(const CollectiveCase& c) { return bus_factor(c.operation, devices_of(c).size()); }

// Bytes of an element; 0 of types that NCCL has no sums of, or this program does not ask for.
std::uint64_t element_bytes(DataType);
// The size or the next larger one that has whole elements, and blocks of them, for so many GPUs.
std::uint64_t fitting_size(CollectiveOperation, DataType, std::size_t gpus, std::uint64_t bytes);
// Why no device can do this, in one sentence; nothing if it may.
std::optional<std::string> why_no_collective(const Step<Collectives>&);

}  // namespace npgpu
