#include "npgpu/vocabulary/job.hpp"

#include <fmt/format.h>

#include <cmath>
#include <sstream>

#include "npgpu/measuring/campaign.hpp"
#include "npgpu/model/figures.hpp"
#include "npgpu/model/result.hpp"

namespace npgpu {

namespace {

constexpr std::uint64_t line_bytes = 128;
constexpr std::uint32_t max_chunks = 65536, max_streams = 4096, max_threads = 1024;
constexpr std::uint64_t max_bytes = std::uint64_t{1} << 33;  // words are numbered in 31 bits
// compute counts its steps in fp32, exactly up to 2^24: eight a round, from at most 2^16 on.
constexpr std::uint64_t max_iterations = 1'000'000;

constexpr std::uint64_t kernel_word_bytes = 4;

}  // namespace

std::string title(const JobCase& c) {
  std::string text = fmt::format("jobs {} {} {} {}", c.device, name(c.workload), name(c.order), name(c.pool));
  if (c.gating != Gating::open) text += fmt::format(" {}", name(c.gating));
  if (c.issue == Issuing::graph) text += " graph";
  return text;
}

Seconds Jobs::timed(const JobCase&, std::span<const JobSample> trial) {
  const JobSample& job = trial.front();
  return from_microseconds(job.device_us == job.device_us ? job.device_us : job.host_us);
}

std::optional<std::string> flaw_of(const JobShape& job) {
  if (job.chunks == 0 || job.streams == 0 || job.threads == 0)
    return fmt::format("has {} chunks, {} streams, {} threads", job.chunks, job.streams, job.threads);
  if (!job.bytes_in && !job.bytes_out && !job.kernel_bytes) return "has a job of 0 bytes";
  return std::nullopt;
}

std::string text_of(const JobShape& job) {
  std::string text;
  const auto part = [&](const std::string& words) { text += (text.empty() ? "" : ", ") + words; };
  if (job.bytes_in) part(size_text(job.bytes_in) + " in");
  if (job.bytes_out) part(size_text(job.bytes_out) + " out");
  if (job.kernel_bytes) part(fmt::format("kernel {} x {}", size_text(job.kernel_bytes), job.iterations));
  part(fmt::format("{} chunk{} in {} stream{}", job.chunks, job.chunks == 1 ? "" : "s", job.streams,
                   job.streams == 1 ? "" : "s"));
  if (job.threads != JobShape{}.threads) part(fmt::format("{} threads a block", job.threads));
  return text;
}

Piece piece_of(std::uint64_t total, std::uint32_t chunks, std::uint32_t chunk) {
  const auto border = [&](std::uint64_t c) {
    return c == chunks ? total : total * c / chunks / line_bytes * line_bytes;
  };
  const std::uint64_t first = border(chunk);
  return {first, border(chunk + 1) - first};
}

std::uint32_t streams_of(Order order, const JobShape& job) {
  return job.streams * (order == Order::independent ? 3 : 1);
}

std::vector<Issue> issues_of(Order order, const JobShape& job) {
  std::vector<Stage> stages;
  if (job.bytes_in) stages.push_back(Stage::h2d);
  if (job.kernel_bytes) stages.push_back(Stage::kernel);
  if (job.bytes_out) stages.push_back(Stage::d2h);
  std::vector<Issue> all;
  const auto add = [&](Stage stage, std::uint32_t chunk) {
    const std::uint32_t own = order == Order::independent ? static_cast<std::uint32_t>(stage) * job.streams : 0;
    all.push_back({stage, chunk, own + chunk % job.streams});
  };
  if (order == Order::breadth_first) {
    for (const Stage stage : stages)
      for (std::uint32_t chunk = 0; chunk < job.chunks; ++chunk) add(stage, chunk);
  } else {
    for (std::uint32_t chunk = 0; chunk < job.chunks; ++chunk)
      for (const Stage stage : stages) add(stage, chunk);
  }
  return all;
}

std::uint64_t blocks_of(const JobShape& job) {
  return (job.kernel_bytes / kernel_word_bytes + job.threads - 1) / job.threads;
}

double last_block_of(const JobShape& job) {
  const std::uint64_t rest = job.kernel_bytes / kernel_word_bytes % job.threads;
  return rest ? static_cast<double>(rest) / job.threads : 1;
}

std::optional<std::string> refuses(const JobStep& step) {
  const auto& [c, job] = step;
  if (job.chunks < 1 || job.chunks > max_chunks)
    return fmt::format("{} chunks: 1 to {} are taken", job.chunks, max_chunks);
  if (job.streams < 1 || job.streams > max_streams)
    return fmt::format("{} streams: 1 to {} are taken", job.streams, max_streams);
  if (job.threads < 1 || job.threads > max_threads)
    return fmt::format("{} threads a block: 1 to {} are taken", job.threads, max_threads);
  if (job.iterations > max_iterations)
    return fmt::format("{} iterations: up to {} are taken, which keep every result exact", job.iterations,
                       max_iterations);
  const bool empty = !job.bytes_in && !job.bytes_out && !job.kernel_bytes;
  if (empty) return "nothing to copy and no kernel";
  for (const std::uint64_t bytes : {job.bytes_in, job.bytes_out, job.kernel_bytes}) {
    if (bytes % 4) return fmt::format("{} bytes are no whole number of 4-byte words", bytes);
    if (bytes > max_bytes) return fmt::format("{} bytes: at most {} are taken", bytes, max_bytes);
    if (bytes && piece_of(bytes, job.chunks, 0).bytes == 0)
      return fmt::format("{} bytes in {} chunks: a chunk has at least {} bytes", bytes, job.chunks, line_bytes);
  }
  if ((c.workload == Workload::none) != (job.kernel_bytes == 0))
    return c.workload == Workload::none ? "bytes for a kernel, and the workload is none"
                                        : fmt::format("a {} kernel without bytes to work on", name(c.workload));
  if (job.kernel_ratio > 0 && c.workload == Workload::none) return "a ratio for a kernel, and the workload is none";
  if (c.gating == Gating::gated && c.pool == StreamPool::fresh)
    return "behind a gate streams are pooled: making them is the host's time";
  if (c.issue == Issuing::graph && c.gating != Gating::open)
    return "a graph is one call, which needs no gate: leave it open";
  if (c.issue == Issuing::graph && c.pool == StreamPool::fresh)
    return "a graph is made before the clock starts, and so are its streams: they are pooled";
  if (c.gating == Gating::last_stream_free) {
    if (job.streams < 2) return "1 stream: with one stream free another waits behind the gate, which takes 2 or more";
    if (job.chunks != job.streams)
      return fmt::format("{} chunks in {} streams: with one stream free each stream has one chunk", job.chunks,
                         job.streams);
    if (c.pool == StreamPool::fresh) return "with one stream free, streams are pooled: the gate stands in one of them";
    if (c.order == Order::independent)
      return "with one stream free, a chunk's parts follow each other in its own stream";
  }
  return std::nullopt;
}

// ---- how it is repeated, what a point costs, what its figure counts -------------------------------------------------

// A trial is one job.
Repetition Jobs::repetition() {
  return {
      .classic = {}, .adaptive = {.trial = Seconds{0}, .budget = Seconds{0.02}}, .rounds = Repetition::usual_rounds};
}

PointCost Jobs::cost(const DeviceInfo& device, const Step<Jobs>& step) {
  constexpr double bytes_per_s = 4e10, word_rounds_per_s = 1e12;
  const JobShape& job = step.axes;
  const Seconds copies = PointCost::moving(static_cast<double>(job.bytes_in + job.bytes_out), bytes_per_s);
  if (device.simulated) return {Seconds{0}, copies};
  const Seconds kernel = job.kernel_ratio > 0
                             ? job.kernel_ratio * copies
                             : Seconds{static_cast<double>(job.kernel_bytes / 4 * job.iterations) / word_rounds_per_s};
  // As much again to set up and to check.
  return {Seconds{20e-6} + copies + kernel, Seconds{0.005} + 3 * copies};
}

std::string_view Jobs::counted(const JobCase& c, const JobResult&) {
  return c.gating == Gating::gated ? "device time of a job" : "time of a job";
}

std::uint64_t extent_of(std::uint64_t bytes) {
  std::uint64_t extent = 16 * KiB;
  while (extent < bytes && extent <= UINT64_MAX / 4) extent *= 4;
  return extent;
}

std::string stage_fact(int partner, std::uint64_t extent, int stage) {
  return fmt::format("rank{}_extent{}_stage{}_us", partner, extent, stage);
}

std::string stage_text(const StageCost& stage) {
  std::string text = fmt::format("worker {}:", stage.worker);
  for (const auto& at : stage.curve) text += fmt::format(" {:.0f} {:.6g}", at.bytes, microseconds(at.time));
  return text;
}

std::optional<StageCost> parse_stage(const std::string& text) {
  std::istringstream words(text);
  std::string worker;
  char colon = 0;
  StageCost stage;
  if (!(words >> worker >> stage.worker >> colon) || worker != "worker" || colon != ':') return std::nullopt;
  double bytes = 0, us = 0;
  while (words >> bytes) {
    const bool ascends = stage.curve.empty() || bytes > stage.curve.back().bytes;
    if (!(words >> us) || !ascends || !(bytes >= 0) || !(us >= 0) || !std::isfinite(us)) return std::nullopt;
    stage.curve.push_back({bytes, from_microseconds(us)});
  }
  if (stage.curve.empty() || !words.eof()) return std::nullopt;
  return stage;
}

std::string chunk_fact(int partner, Pattern pattern, std::uint64_t bytes) {
  return fmt::format("rank{}_{}{}_chunk", partner, name(pattern), bytes);
}

std::string choice_text(const ChunkChoice& choice) {
  std::string text = fmt::format("advised {}, taken {}", choice.advised, choice.taken);
  for (const ChunkChoice::Tried& one : choice.tried)
    text += fmt::format("{} {} {:.6g}", text.find(':') == text.npos ? ":" : "", one.chunk, microseconds(one.least));
  return text;
}

std::optional<ChunkChoice> parse_choice(const std::string& text) {
  std::istringstream words(text);
  std::string advised, taken;
  char mark = 0;
  ChunkChoice choice;
  if (!(words >> advised >> choice.advised >> mark >> taken >> choice.taken) || advised != "advised" || mark != ',' ||
      taken != "taken" || choice.advised == 0 || choice.taken == 0)
    return std::nullopt;
  if (words >> mark && mark != ':') return std::nullopt;
  std::uint64_t chunk = 0;
  double us = 0;
  while (words >> chunk) {
    if (!(words >> us) || !(us >= 0) || !std::isfinite(us)) return std::nullopt;
    choice.tried.push_back({chunk, from_microseconds(us)});
  }
  if (!words.eof()) return std::nullopt;
  return choice;
}

}  // namespace npgpu
