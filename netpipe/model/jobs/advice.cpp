#include "npgpu/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <stdexcept>
#include <tuple>

#include "netpipe/engine/parallel.hpp"
#include "npgpu/error.hpp"

namespace npgpu {

namespace {

constexpr std::uint64_t chunk_line = 128;
constexpr std::uint32_t most_chunks = 65536;
// Finer cuts are tried up to so many chunks; beyond only what the memory asks for.
constexpr std::uint64_t fine_enough = 512;

std::uint64_t rounded_up(std::uint64_t a, std::uint64_t b) { return a / b + (a % b != 0); }

std::uint64_t chunk_bytes(std::uint64_t total, std::uint32_t chunks) {
  return std::min(total, padded(rounded_up(total, chunks), chunk_line));
}

// Every chunk has a line of each copy.
bool has_lines(const Job& job, std::uint64_t chunks) {
  return (!job.in_bytes || job.in_bytes / chunks >= chunk_line) &&
         (!job.out_bytes || job.out_bytes / chunks >= chunk_line);
}

template <class Splits, class Key> const SplitTime& least_by(const Splits& splits, Key key) {
  const auto found = std::ranges::min_element(splits, {}, key);
  if (found == std::ranges::end(splits)) throw std::out_of_range("no split of a job");
  return *found;
}

}  // namespace

Buffers buffers_of(const Job& job, std::uint32_t chunks, std::uint32_t streams) {
  Buffers b{chunk_bytes(job.in_bytes, chunks), chunk_bytes(job.out_bytes, chunks)};
  const std::uint64_t whole = saturating_plus(job.in_bytes, job.out_bytes);
  b.all_bytes = streams >= chunks ? whole : std::min(whole, streams * (b.in_bytes + b.out_bytes));
  return b;
}

std::vector<SplitTime> one_chunk_a_stream(const Prediction& p, Order order) {
  std::vector<SplitTime> all;
  for (const StreamTime& one : p.candidates) all.push_back({one.streams, one.streams, order, one.run});
  return all;
}

std::vector<SplitTime> chunks_in_turn(const Job& job, const StreamCosts& costs, std::uint64_t most_bytes,
                                      std::uint32_t max_streams) {
  std::vector<SplitTime> all;
  for (const std::uint32_t streams : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 10u, 12u, 16u, 20u, 24u, 32u, 48u, 64u}) {
    if (streams > max_streams) break;
    // The fewest chunks of which one a stream fits, all streams with as many.
    const std::uint64_t whole = job.in_bytes + job.out_bytes;
    std::uint64_t fewest =
        std::max<std::uint64_t>(1, rounded_up(whole, std::max<std::uint64_t>(most_bytes / streams, 1)));
    while (fewest <= most_chunks && has_lines(job, fewest) &&
           streams * (chunk_bytes(job.in_bytes, static_cast<std::uint32_t>(fewest)) +
                      chunk_bytes(job.out_bytes, static_cast<std::uint32_t>(fewest))) >
               most_bytes)
      ++fewest;
    std::uint64_t last = 0;
    for (const std::uint64_t percent : {100, 150, 200, 300, 400, 600, 800, 1200, 1600, 2400, 3200}) {
      const std::uint64_t chunks =
          rounded_up(std::max<std::uint64_t>(fewest * percent / 100, 2 * streams), streams) * streams;
      if (chunks == last || chunks > most_chunks || !has_lines(job, chunks)) continue;
      if (percent > 100 && chunks > fine_enough) break;
      last = chunks;
      all.push_back({static_cast<std::uint32_t>(chunks), streams, Order::depth_first, {}});
    }
  }
  in_parallel(all.size(), [&](std::size_t i) {
    all[i].run = simulate_total(job, all[i].chunks, costs, Order::depth_first, all[i].streams);
  });
  return all;
}

const SplitTime& fastest(std::span<const SplitTime> splits) {
  return least_by(splits, [](const SplitTime& s) { return std::pair{s.run.total, s.streams}; });
}

const SplitTime& fewest_streams(std::span<const SplitTime> splits, double slower_by) {
  const Seconds most = (1 + slower_by) * fastest(splits).run.total;
  std::vector<const SplitTime*> enough;
  for (const SplitTime& s : splits)
    if (s.run.total <= most) enough.push_back(&s);
  return **std::ranges::min_element(enough, {}, [](const SplitTime* s) {
    return std::tuple{s->streams, s->run.total, s->chunks};
  });
}

const SplitTime& advised_streams(std::span<const SplitTime> splits) {
  std::vector<SplitTime> round;
  const Seconds most = (1 + same_time_tolerance) * fastest(splits).run.total;
  for (const SplitTime& s : splits)
    if (std::has_single_bit(s.streams) && s.run.total <= most) round.push_back(s);
  const SplitTime& fewest = fewest_streams(splits);
  if (round.empty()) return fewest;
  const std::uint32_t streams = std::ranges::min_element(round, {}, &SplitTime::streams)->streams;
  return *std::ranges::find(splits, streams, &SplitTime::streams);
}

std::optional<SplitTime> least_memory(const Job& job, std::span<const SplitTime> splits, Seconds time,
                                      double slower_by) {
  std::optional<SplitTime> found;
  const auto key = [&](const SplitTime& s) {
    return std::tuple{!std::has_single_bit(s.chunks), buffers_of(job, s.chunks, s.streams).all_bytes, s.run.total};
  };
  for (const SplitTime& s : splits)
    if (s.run.total <= (1 + slower_by) * time && (!found || key(s) < key(*found))) found = s;
  return found;
}

Advice advise(const Job& job, const MeasuredCosts& measured, Order order, const Forecast& forecast,
              const ModelErrors& errors, std::optional<std::uint64_t> max_memory, std::uint32_t max_streams) {
  const StreamCosts& costs = measured.costs;
  const std::vector<SplitTime> spread = one_chunk_a_stream(forecast.prediction, order);
  const std::uint64_t whole = buffers_of(job, 1, 1).all_bytes;
  Advice a;
  a.max_memory = max_memory;
  if (max_memory && whole > *max_memory) {
    const std::vector<SplitTime> in_turn = chunks_in_turn(job, costs, *max_memory, max_streams);
    if (in_turn.empty())
      throw Error(
          ErrorKind::usage,
          fmt::format("{} of device memory are too little for a stream with chunks of one line of {} B each way",
                      size_text(*max_memory), chunk_line));
    a.best = fastest(in_turn);
    a.advised = fewest_streams(in_turn);
    for (const SplitTime& s : in_turn) {
      if (a.in_memory.empty() || a.in_memory.back().streams != s.streams) a.in_memory.push_back(s);
      else if (s.run.total < a.in_memory.back().run.total) a.in_memory.back() = s;
    }
  } else {
    a.best = fastest(spread);
    a.advised = advised_streams(spread);
    const std::vector<SplitTime> in_turn = chunks_in_turn(job, costs, whole, max_streams);
    a.lean = least_memory(job, in_turn, a.best.run.total, same_time_tolerance);
    if (a.lean && 2 * buffers_of(job, a.lean->chunks, a.lean->streams).all_bytes > whole) a.lean.reset();
    std::vector<std::uint32_t> counts;
    for (const SplitTime& one : spread) counts.push_back(one.streams);
    if (measured.graph) a.graph = advise_graph(job, costs, *measured.graph, order, counts, a.advised);
  }
  const auto unsplit = std::ranges::find(forecast.prediction.candidates, 1u, &StreamTime::streams);
  if (unsplit != forecast.prediction.candidates.end())
    for (const LengthClass& one : errors.classes)
      if (one.workloads && one.has(microseconds(unsplit->run.total))) a.error = one;
  a.error_source = errors.source;
  return a;
}

}  // namespace npgpu
