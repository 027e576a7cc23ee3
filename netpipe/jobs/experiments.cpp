#include "netpipe/jobs/experiments.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <span>

#include "netpipe/engine/algorithms.hpp"

namespace npgpu {

namespace {

constexpr std::uint64_t line = 128;      // the least that a chunk has
constexpr std::uint64_t block_word = 4;  // bytes that a thread works on

// Jobs in the order in which they are asked for, without what they would do nothing with.
class List {
 public:
  void add(const JobCase& c, JobShape job) {
    if (c.workload == Workload::none) job.kernel_bytes = 0;
    if (!job.kernel_bytes) job.iterations = 0, job.kernel_ratio = 0;
    if (job.bytes_in || job.bytes_out || job.kernel_bytes) all_.push_back({c, job});
  }
  std::vector<JobStep> take() { return each_once(std::move(all_)); }

 private:
  std::vector<JobStep> all_;
};

template <class T> std::vector<T> given(const std::vector<T>& chosen, std::vector<T> standard) {
  return chosen.empty() ? standard : chosen;
}

struct Sizes {
  std::uint64_t in, out;
};

// How long a kernel is: its iterations, or its time over that of the copies.
struct Length {
  std::uint64_t iterations = 0;
  double ratio = 0;
};
std::vector<Length> lengths(const std::vector<std::uint64_t>& iterations) {
  std::vector<Length> all;
  for (const std::uint64_t rounds : iterations) all.push_back({rounds});
  return all;
}

void add_whole(List& list, const JobChoice& choice, const std::vector<Sizes>& sizes, const std::vector<Length>& usual,
               const std::vector<std::uint64_t>& chunks, const std::vector<StreamPool>& pools) {
  const std::vector<Length> all_lengths = choice.iterations.empty() ? usual : lengths(choice.iterations);
  for (const Workload workload : choice.workloads)
    for (const Order order : choice.orders)
      for (const StreamPool pool : given(choice.pools, pools))
        for (const Issuing issue : choice.issues)
          for (const auto& [in, out] : sizes)
            for (const auto& [rounds, ratio] : all_lengths)
              for (const std::uint64_t n : given(choice.chunks, chunks))
                for (const std::uint64_t streams : given(choice.streams, {n}))
                  list.add({choice.device, workload, order, pool, Gating::open, issue},
                           {.bytes_in = in,
                            .bytes_out = out,
                            .kernel_bytes = std::max(in, out),
                            .iterations = rounds,
                            .chunks = static_cast<std::uint32_t>(n),
                            .streams = static_cast<std::uint32_t>(streams),
                            .threads = choice.threads,
                            .kernel_ratio = ratio});
}

// Gomez-Luna et al. 2012: what each GPU's kernels iterate in the two experiments. The second has only two of them.
struct PaperGpu {
  std::string_view name;
  std::uint64_t first, last, step;
  std::vector<std::uint64_t> asymmetric{};
};
const PaperGpu* paper_gpu(const std::string& device_name) {
  static const PaperGpu all[] = {{"8800 GTS 512", 1, 18, 1},
                                 {"9800 GX2", 1, 20, 1},
                                 {"GTX 260", 5, 24, 1},
                                 {"GTX 280", 8, 27, 1, {1, 2, 4, 8, 16}},
                                 {"GTX 480", 20, 115, 5, {8, 16, 24, 32, 40}},
                                 {"GTX 580", 25, 120, 5}};
  const auto found =
      std::ranges::find_if(all, [&](const PaperGpu& one) { return device_name.find(one.name) != std::string::npos; });
  return found == std::end(all) ? nullptr : found;
}

std::vector<Length> fixed_lengths(const std::string& device_name) {
  std::vector<Length> all;
  if (const PaperGpu* gpu = paper_gpu(device_name)) {
    for (std::uint64_t rounds = gpu->first; rounds <= gpu->last; rounds += gpu->step) all.push_back({rounds});
    return all;
  }
  constexpr int values = 20;
  constexpr double shortest = 0.1, longest = 4;
  for (int i = 0; i < values; ++i) all.push_back({0, shortest * std::pow(longest / shortest, i / (values - 1.0))});
  return all;
}

const std::vector<StreamPool> both_pools{StreamPool::pooled, StreamPool::fresh};

}  // namespace

std::vector<JobStep> fixed_experiment(const JobChoice& choice, const std::string& device_name) {
  List list;
  add_whole(list, choice, {{60 * MiB, 60 * MiB}}, fixed_lengths(device_name),
            {1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 16, 20, 24, 30, 32, 40, 48, 60, 64}, both_pools);
  return list.take();
}

std::vector<JobStep> asymmetric_experiment(const JobChoice& choice, const std::string& device_name) {
  List list;
  std::vector<Sizes> sizes;
  for (const std::uint64_t in : {1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 23})
    sizes.push_back({in * MiB, (24 - in) * MiB});
  const PaperGpu* gpu = paper_gpu(device_name);
  const std::vector<std::uint64_t> others{8, 16, 32, 64, 128};
  add_whole(list, choice, sizes, lengths(gpu && !gpu->asymmetric.empty() ? gpu->asymmetric : others), {1, 16},
            both_pools);
  return list.take();
}

std::vector<JobStep> chosen_jobs(const JobChoice& choice) {
  List list;
  std::vector<Sizes> sizes;
  for (const std::uint64_t in : given(choice.bytes_in, {0}))
    for (const std::uint64_t out : given(choice.bytes_out, {0})) sizes.push_back({in, out});
  add_whole(list, choice, sizes, {{1}}, {1, 2, 4, 8, 16, 32, 64}, {StreamPool::pooled});
  return list.take();
}

namespace {

// How kernels' time goes with their blocks, down to less than one; and what those of few blocks do to each other.
void add_parts_of_kernels(List& list, const std::array<JobCase, 3>& cases) {
  // A whole kernel and parts of it, unsplit: how its time goes with its blocks, down to a few; closer together where
  // multiprocessors have one to four.
  for (const std::uint64_t n : {1,  2,  3,  4,  5,   6,   8,   11,  12,  16,  23,  24,  32,  48,  57,   59,
                                64, 77, 80, 96, 113, 118, 128, 160, 192, 220, 235, 256, 384, 512, 1024, 4096})
    for (const std::uint64_t rounds : {1, 64})
      for (const JobCase& c : cases) list.add(c, {.kernel_bytes = 60 * MiB / n / line * line, .iterations = rounds});
  // Less than a block of 512 threads: a warp, and around each warp that every scheduler of a multiprocessor gets. Also
  // for longer: of 64 iterations that few threads make in 2 us, what else a kernel does is a part that shows.
  for (const std::uint64_t warps : {1, 4, 5, 8, 9, 12, 13, 16})
    for (const std::uint64_t rounds : {1, 64, 1024})
      for (const JobCase& c : cases) list.add(c, {.kernel_bytes = warps * line, .iterations = rounds});
  // Few blocks, so that parts leave room for each other.
  for (const std::uint64_t bytes : {MiB, 4 * MiB})
    for (const std::uint32_t n : {1u, 2u, 3u, 4u, 6u, 8u, 12u, 16u, 24u, 32u})
      for (const JobCase& c : cases) list.add(c, {.kernel_bytes = bytes, .iterations = 512, .chunks = n, .streams = n});
}

}  // namespace

std::vector<JobStep> overheads_experiment(const std::string& device, bool in_a_hurry) {
  // In a hurry every third of a list, and its last; fewer sizes.
  const auto some = [&](std::vector<std::uint32_t> all) {
    if (!in_a_hurry) return all;
    std::vector<std::uint32_t> few;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (i % 3 == 0 || i + 1 == all.size()) few.push_back(all[i]);
    return few;
  };
  List list;
  const JobCase copies{device, Workload::none, Order::breadth_first, StreamPool::pooled, Gating::gated};
  JobCase increment = copies, compute = copies, memory = copies;
  increment.workload = Workload::increment;
  compute.workload = Workload::compute;
  memory.workload = Workload::memory;
  const auto counts = some({1, 2, 4, 8, 16, 32, 64});
  const auto either_way = [&](const JobCase& c, JobShape job, std::uint64_t bytes) {
    job.bytes_in = bytes;
    list.add(c, job);
    std::swap(job.bytes_in, job.bytes_out);
    list.add(c, job);
  };

  // Back to back in one stream: time over bytes, and what one copy more costs.
  for (std::uint64_t bytes = 4 * KiB; bytes <= 64 * MiB; bytes *= in_a_hurry ? 16 : 4)
    for (const std::uint32_t n : counts)
      if (n * bytes <= 256 * MiB) either_way(copies, {.chunks = n}, n * bytes);
  // The same total in more pieces: its slope is the gap alone.
  for (const std::uint32_t n : some({3, 6, 12, 24, 48})) either_way(copies, {.chunks = n}, 16 * MiB);

  // Kernels that come and go, and short ones, of one block each: in one stream, and in a stream each.
  for (const std::uint32_t n : counts)
    for (const std::uint32_t streams : {1u, n})
      for (const std::uint64_t rounds : {0, 100})
        list.add(compute,
                 {.kernel_bytes = n * line, .iterations = rounds, .chunks = n, .streams = streams, .threads = 32});

  if (!in_a_hurry) add_parts_of_kernels(list, {increment, memory, compute});
  // And cut into as many, in one stream and in a stream each: whether parts run at the same time.
  for (const std::uint32_t n : some({1, 2, 4, 8, 16, 32, 64}))
    for (const std::uint32_t streams : {1u, n})
      for (const JobCase& c : {increment, memory, compute})
        list.add(c, {.kernel_bytes = 60 * MiB, .iterations = 64, .chunks = n, .streams = streams});
  // What follows what in one stream: the times of two together, less those of each.
  const std::vector<std::uint64_t> whole_sizes{4 * KiB, MiB, 64 * KiB, 16 * MiB};
  for (const std::uint64_t bytes : std::span(whole_sizes).first(in_a_hurry ? 2 : 4)) {
    for (const bool in : {false, true})
      for (const bool kernel : {false, true})
        for (const bool out : {false, true}) {
          const JobShape job{.bytes_in = in ? bytes : 0,
                             .bytes_out = out ? bytes : 0,
                             .kernel_bytes = kernel ? bytes : 0,
                             .iterations = 1};
          list.add(kernel ? increment : copies, job);
          // By the host's clock, which sees launch, wake-up and synchronization too.
          JobCase host = kernel ? increment : copies;
          host.gating = Gating::open;
          list.add(host, job);
        }
  }

  // Both directions at once, and each with a kernel: how they slow each other, and how many engines there are.
  JobCase apart = copies;
  apart.order = Order::independent;
  for (std::uint64_t bytes = MiB; bytes <= 64 * MiB; bytes *= 2)
    list.add(apart, {.bytes_in = bytes, .bytes_out = bytes});
  either_way(apart, {.bytes_in = 0, .bytes_out = 16 * MiB}, 64 * MiB);
  // Which way is slowed down by how much: the one with more bytes sets the time.
  for (const std::uint64_t fewer : {16 * MiB, 48 * MiB}) {
    list.add(apart, {.bytes_in = 64 * MiB, .bytes_out = fewer});
    list.add(apart, {.bytes_in = fewer, .bytes_out = 64 * MiB});
  }
  for (JobCase beside : {increment, memory, compute}) {
    beside.order = Order::independent;
    either_way(beside, {.kernel_bytes = 60 * MiB, .iterations = 64}, 64 * MiB);
    list.add(beside, {.bytes_in = 64 * MiB, .bytes_out = 64 * MiB, .kernel_bytes = 60 * MiB, .iterations = 64});
  }

  // What waits for what in other streams: copies out for kernels that were issued before them (breadth-first), and
  // copies for those before them (depth-first). Each kernel takes as long as a copy, and as much of the device as it
  // has.
  JobCase whole = compute;
  for (const std::uint32_t n : {1u, 4u}) {
    whole.order = Order::breadth_first;
    list.add(whole, {.bytes_out = 32 * MiB, .kernel_bytes = 60 * MiB, .chunks = n, .streams = n, .kernel_ratio = 1});
    whole.order = Order::depth_first;
    list.add(whole, {.bytes_in = 32 * MiB,
                     .bytes_out = 32 * MiB,
                     .kernel_bytes = 60 * MiB,
                     .chunks = n,
                     .streams = n,
                     .kernel_ratio = 0.5});
  }

  // Calls, in a stream each: of copies, of copies and kernels, of all three; of small chunks and larger ones.
  JobCase calls = copies;
  calls.gating = Gating::open;
  for (const std::uint64_t bytes : call_sizes)
    for (const std::uint32_t n : some({1, 5, 9, 17, 25, 33, 49, 63})) {  // so that no two are cuts of one job
      JobShape job{.bytes_in = n * bytes, .chunks = n, .streams = n};
      calls.workload = Workload::none;
      list.add(calls, job);
      calls.workload = Workload::increment;
      job.kernel_bytes = job.bytes_in;
      job.iterations = 1;
      list.add(calls, job);
      job.bytes_out = job.bytes_in;
      list.add(calls, job);
    }
  // Chunks of one size in and out with next to no kernel, as the host issues them: what one chunk more costs.
  for (const std::uint32_t n : some({2, 4, 6, 8, 10, 12, 16, 20, 24})) {
    const std::uint64_t bytes = n * MiB;
    list.add(
        calls,
        {.bytes_in = bytes, .bytes_out = bytes, .kernel_bytes = n * line, .iterations = 1, .chunks = n, .streams = n});
  }
  // Copies in and next to no kernel: so large that the host is ready with its calls before, also on a busy core.
  for (const std::uint32_t n : some({3, 5, 9, 13, 17, 21, 25}))
    list.add(calls, {.bytes_in = n * 512 * KiB, .kernel_bytes = n * line, .iterations = 1, .chunks = n, .streams = n});

  // Hardware queues, a part at a time: is the last of n streams held up while all others wait behind a gate?
  JobCase free_copies = copies, free_kernels = increment;
  free_copies.gating = free_kernels.gating = Gating::last_stream_free;
  for (const std::uint32_t n : in_a_hurry ? std::vector{2u, 4u, 5u, 8u, 9u, 16u, 17u, 32u, 33u}
                                          : std::vector{2u,  3u,  4u,  5u,  6u,  7u,  8u,  9u,  10u, 12u, 15u, 16u,
                                                        17u, 20u, 24u, 28u, 31u, 32u, 33u, 34u, 40u, 48u, 64u}) {
    either_way(free_copies, {.chunks = n, .streams = n}, n * 256 * KiB);
    list.add(free_kernels, {.kernel_bytes = n * line, .iterations = 1, .chunks = n, .streams = n});
  }

  // Streams made for a tiny job, and the same in streams that are there.
  for (const std::uint32_t n : some({1, 2, 4, 8, 16, 32, 48, 64, 128, 256}))
    for (const StreamPool pool : {StreamPool::fresh, StreamPool::pooled}) {
      JobCase tiny = copies;
      tiny.gating = Gating::open;
      tiny.pool = pool;
      list.add(tiny, {.bytes_in = n * line, .chunks = n, .streams = n});
    }
  return list.take();
}

std::vector<JobStep> design_experiment(const std::string& device, std::uint32_t workloads, std::uint64_t seed,
                                       const std::vector<Issuing>& issues) {
  // Not the library's distributions, which may differ from one to the next: the design is the same everywhere.
  std::mt19937_64 random(seed);
  const auto log_uniform = [&](double low, double high) {
    const double u = static_cast<double>(random() >> 11) * 0x1p-53;
    return low * std::pow(high / low, u);
  };
  const auto lines = [](double bytes) {
    return std::max<std::uint64_t>(static_cast<std::uint64_t>(bytes) / line, 64) * line;
  };
  constexpr Workload kernels[] = {Workload::increment, Workload::memory, Workload::compute};
  std::vector<JobStep> all;
  for (std::uint32_t w = 0; w < workloads; ++w) {
    const double total = log_uniform(64.0 * KiB, 512.0 * MiB), share = log_uniform(1.0 / 23, 23),
                 ratio = log_uniform(0.05, 20), blocks = log_uniform(1, 10'000);
    JobShape job{.kernel_ratio = ratio};
    job.bytes_in = lines(total * share / (1 + share));
    job.bytes_out = lines(total / (1 + share));
    job.kernel_bytes = static_cast<std::uint64_t>(blocks) * job.threads * block_word;
    JobCase c{.device = device, .workload = kernels[w % 3]};
    for (const std::uint32_t n : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 11u, 12u, 16u, 23u, 24u, 32u, 48u, 64u}) {
      if (n * line > job.kernel_bytes) break;
      job.chunks = job.streams = n;
      for (const Issuing issue : issues) {
        c.issue = issue;
        all.push_back({c, job});
      }
    }
  }
  for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[random() % i]);
  return all;
}

}  // namespace npgpu
