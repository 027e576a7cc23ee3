#include "netpipe/simulate/simulator.hpp"

#include <numeric>

namespace npgpu {

namespace model {

namespace {

constexpr double never = CopyEngines::never;

}  // namespace

// ---- before the first event --------------------------------------------------------------------------------------

// `o` waits for the last one, if there is one, and is the last one then.
void Simulator::follow(Index& last, Index Operation::*next, Index o) {
  if (last != none) {
    operations_[last].*next = o;
    ++operations_[o].waits;
  }
  last = o;
}

void Simulator::give_queues(double now) {
  for (; launched_ < launches_.size(); ++launched_) {
    const Index index = launches_[launched_];
    Operation& o = operations_[index];
    if (o.issue_start > now) return;
    auto chosen = std::find_if(least_recent_.begin(), least_recent_.end(), [&](std::uint32_t c) {
      return channels_[c].waiting == 0 && channels_[c].idle_since <= now;
    });
    if (chosen == least_recent_.end()) chosen = least_recent_.begin();
    o.queue = *chosen;
    std::rotate(chosen, chosen + 1, least_recent_.end());
    Channel& channel = channels_[o.queue];
    ++channel.waiting;
    const Index before = std::exchange(channel.last, index);
    if (before != none && !operations_[before].entered) operations_[before].next_in_queue = index;
    else passed(index, now);
  }
}

// The host learns of it on the way back.
void Simulator::enter(Index index, double now) {
  Operation& o = operations_[index];
  o.entered = true;
  Channel& channel = channels_[o.queue];
  if (--channel.waiting == 0) channel.idle_since = now + costs_.submit.count();
  if (o.next_in_queue != none) passed(o.next_in_queue, now);
}

void Simulator::prepare(std::uint64_t blocks, std::uint32_t n, Order order, std::uint32_t streams) {
  const std::size_t kinds = stages_.size();
  const std::uint32_t all_streams = order == Order::independent ? 3 * streams : streams;
  const Queues& queues = costs_.queues;
  operations_.assign(kinds * n, {});
  are_independent_ = order == Order::independent;
  for (Line& line : lines_) {
    line.coming.clear();
    line.there.clear();
    line.queue = 0;
  }
  copies_.reset();
  compute_.reset(costs_.compute, chunk_, costs_.gap.kernel.count(), blocks, n);
  last_in_stream_.assign(all_streams, none);
  last_in_queue_.assign(std::size_t{queues.h2d} + queues.d2h, none);
  launches_.clear();
  launched_ = entered_ = 0;
  channels_.assign(queues.kernel, {});
  least_recent_.resize(queues.kernel);
  std::iota(least_recent_.begin(), least_recent_.end(), 0u);
  const auto is_kernel = [](const ChunkStage& s) { return s.stage == Stage::kernel; };
  const auto kernels = static_cast<std::size_t>(std::count_if(stages_.begin(), stages_.end(), is_kernel));
  synchronizes_.assign(costs_.implicit_sync != ImplicitSync::none ? kernels * n : 0, 0);
  kernels_ = 0;
  last_copy_ = none;
  copies_out_.clear();
  synchronized_ = 0;
  waiting_ = 0;

  host_ = calls_ * (costs_.stream_create.count() * all_streams + costs_.graph_launch.count());
  Index next = 0;
  // Depth-first all stages of a chunk are issued together, else those that follow each other and are of one sort.
  for (std::size_t first = 0, end = 0; first < kinds; first = end) {
    const auto other = [&](const ChunkStage& s) {
      return order == Order::breadth_first && s.stage != stages_[first].stage;
    };
    end = static_cast<std::size_t>(
        std::find_if(stages_.begin() + static_cast<std::ptrdiff_t>(first), stages_.end(), other) - stages_.begin());
    for (std::uint32_t chunk = 0; chunk < n; ++chunk)
      for (std::size_t kind = first; kind < end; ++kind) issue(next++, kind, chunk, order, streams);
  }
  total_ = host_;
  for (Line& line : lines_) std::make_heap(line.coming.begin(), line.coming.end(), std::greater<>());
}

void Simulator::issue(Index i, std::size_t kind, std::uint32_t chunk, Order order, std::uint32_t streams) {
  const Queues& queues = costs_.queues;
  Operation& o = operations_[i];
  o.kind = static_cast<std::uint16_t>(kind);
  o.stage = stages_[kind].stage;
  o.chunk = chunk;
  o.stream = o.chunk % streams + (order == Order::independent ? static_cast<std::uint32_t>(o.stage) * streams : 0);
  o.issue_start = host_;
  host_ += calls_ * stages_[kind].issue;
  o.ready = o.issued = host_ + costs_.submit.count();
  if (o.stream + 1 < last_in_stream_.size()) o.ready = std::max(o.ready, held_until_);
  follow(last_in_stream_[o.stream], &Operation::next_in_stream, i);
  const std::size_t line = line_of(o.stage);
  if (line == compute_line) o.kernel = kernels_++;
  if (line == compute_line && queues.kernel) {
    ++o.waits;
    launches_.push_back(i);
  } else if (line != compute_line && queues_of(line)) {
    o.queue = o.stream % queues_of(line);
    follow(last_in_queue_[(line == 1 ? queues.h2d : 0) + o.queue], &Operation::next_in_queue, i);
  }
  if (line != compute_line && costs_.serial_copies) follow(last_copy_, &Operation::next_copy, i);
  if (o.stage == Stage::d2h && !synchronizes_.empty() && kernels_ > 0) {
    ++o.waits;
    copies_out_.emplace_back(i, kernels_);
  }
  if (o.waits == 0) lines_[line].coming.emplace_back(o.ready, i);
}

// ---- events --------------------------------------------------------------------------------------------------------

double Simulator::next_event(double now) const {
  double next = std::min({copies_.next_end(0), copies_.next_end(1), compute_.next_event()});
  for (std::size_t line = 0; line < 3; ++line) {
    const Line& l = lines_[line];
    if (!l.coming.empty()) next = std::min(next, l.coming.front().first);
    if (l.there.empty()) continue;
    if (const double free = free_at(line); free > now) next = std::min(next, free);
  }
  if (launched_ < launches_.size()) next = std::min(next, operations_[launches_[launched_]].issue_start);
  return std::max(next, now);
}

void Simulator::passed(Index index, double when) {
  Operation& o = operations_[index];
  o.ready = std::max(o.ready, when);
  if (--o.waits > 0) return;
  auto& coming = lines_[line_of(o.stage)].coming;
  coming.emplace_back(o.ready, index);
  std::push_heap(coming.begin(), coming.end(), std::greater<>());
}

void Simulator::kernel_synchronizes(std::uint32_t kernel, double now) {
  if (synchronizes_.empty()) return;
  synchronizes_[kernel] = 1;
  while (synchronized_ < synchronizes_.size() && synchronizes_[synchronized_]) ++synchronized_;
  while (waiting_ < copies_out_.size() && copies_out_[waiting_].second <= synchronized_)
    passed(copies_out_[waiting_++].first, now);
}

void Simulator::ended(Index index, double now) {
  const Operation& o = operations_[index];
  if (!ends_.empty()) ends_[index] = now;
  const bool last = o.next_in_stream == none;
  const double reached = now + (last && o.stage != Stage::d2h ? 0 : costs_.latency.of(o.stage).count());
  if (held_until_ == 0 || o.stream + 1 == last_in_stream_.size()) total_ = std::max(total_, last ? reached : now);
  if (!last) {
    const Operation& next = operations_[o.next_in_stream];
    const bool late = costs_.latency_of_waiting_only && next.issued >= now;
    passed(o.next_in_stream, next.stage == o.stage || late ? now : reached);
  }
  if (o.next_copy != none) passed(o.next_copy, now);
  if (o.stage == Stage::kernel && costs_.implicit_sync == ImplicitSync::end) kernel_synchronizes(o.kernel, now);
}

void Simulator::end_all(double now) {
  for (std::size_t engine = 0; engine < 2; ++engine)
    if (copies_.next_end(engine) <= now) ended(static_cast<Index>(copies_.end(engine)), now);
  while (compute_.next_event() <= now)
    if (const auto kernel = compute_.advance()) ended(static_cast<Index>(*kernel), now);
}

bool Simulator::is_ahead_of_kernel(const Operation& o) const {
  return o.stage == Stage::h2d && o.kind + 1u < stages_.size() && stages_[o.kind + 1].stage == Stage::kernel &&
         !are_independent_;
}

bool Simulator::is_behind_kernel(const Operation& o) const {
  return o.stage == Stage::d2h && o.kind > 0 && stages_[o.kind - 1].stage == Stage::kernel && !are_independent_;
}

void Simulator::start(Index index, double now) {
  Operation& o = operations_[index];
  o.start = now;
  const std::size_t line = line_of(o.stage);
  lines_[line].queue = o.queue;
  if (o.stage == Stage::kernel) {
    o.start = compute_.start(index, o.chunk, stages_[o.kind].time, stages_[o.kind].share, now);
    if (costs_.implicit_sync == ImplicitSync::start) kernel_synchronizes(o.kernel, o.start);
    return;
  }
  const bool in = o.stage == Stage::h2d;
  Seconds gap = costs_.gap.of(o.stage) + (copies_.at_work(1 - line) ? costs_.duplex_extra_gap : Seconds{0});
  if (is_behind_kernel(o)) gap += costs_.gap_behind_kernel;
  const double transfer = stages_[o.kind].time * (factor_ ? factor_() : 1);
  copies_.start(line, index, gap.count(), transfer, in ? costs_.duplex_slowdown_h2d : costs_.duplex_slowdown_d2h,
                is_ahead_of_kernel(o) ? costs_.gap_ahead_of_kernel.count() : 0, now);
  if (o.next_in_queue != none) passed(o.next_in_queue, now);
}

void Simulator::come(Line& l, std::size_t line, double now) {
  do {
    const Index index = l.coming.front().second;
    std::pop_heap(l.coming.begin(), l.coming.end(), std::greater<>());
    l.coming.pop_back();
    std::uint32_t turn = index;
    if (line == compute_line && !launches_.empty()) {
      enter(index, now);
      turn = entered_++;
    }
    l.there.emplace_back(turn, index);
    std::push_heap(l.there.begin(), l.there.end(), std::greater<>());
  } while (!l.coming.empty() && l.coming.front().first <= now);
}

// A copy engine takes what is of the queue it is at, else of the next one around. No more than one of each queue can be
// there.
void Simulator::take_turns(Line& l, std::uint32_t queues) const {
  if (l.there.size() < 2) return;
  for (auto& [turn, index] : l.there) turn = (operations_[index].queue + queues - l.queue) % queues;
  std::make_heap(l.there.begin(), l.there.end(), std::greater<>());
}

void Simulator::start_all(double now) {
  for (;;) {
    Line* first = nullptr;
    for (std::size_t line = 0; line < 3; ++line) {
      Line& l = lines_[line];
      if (!l.coming.empty() && l.coming.front().first <= now) come(l, line, now);
      if (l.there.empty() || free_at(line) > now) continue;
      if (line != compute_line && queues_of(line)) take_turns(l, queues_of(line));
      if (!first || l.there.front().second < first->there.front().second) first = &l;
    }
    if (!first) return;
    const Index index = first->there.front().second;
    std::pop_heap(first->there.begin(), first->there.end(), std::greater<>());
    first->there.pop_back();
    start(index, now);
  }
}

StreamRun Simulator::run(const Job& job, std::uint32_t n, const StreamCosts& costs, Order order,
                         std::vector<TimelineEntry>* entries, std::uint32_t streams) {
  chunk_ = chunks_of(job, n, costs);
  stages_ = stages_of(chunk_);
  costs_ = costs;
  return play(job.blocks, n, order, entries, streams);
}

StreamRun Simulator::run(const PipelinePart& part, std::uint32_t n, const StreamCosts& costs, Order order,
                         std::uint32_t streams) {
  if (order == Order::independent)
    throw Error(ErrorKind::usage, "stages of a pipeline wait for each other: their order is not independent");
  stages_ = stages_of(part, n, costs, chunk_);
  costs_ = costs;
  std::uint64_t blocks = 0;
  for (const PipelineStage& s : part.stages) blocks = std::max(blocks, s.kernel.blocks);
  return play(blocks, n, order, nullptr, streams);
}

StreamRun Simulator::run(const Pipeline& pipeline, std::uint32_t n, const StreamCosts& costs, Order order,
                         std::uint32_t streams) {
  StreamRun all;
  StreamCosts charged = costs;
  for (const PipelinePart& part : pipeline) {
    const StreamRun one = run(part, n, charged, order, streams);
    all.total += one.total + part.host;
    all.busy.host += one.busy.host;
    all.busy.copy_in += one.busy.copy_in;
    all.busy.copy_out += one.busy.copy_out;
    all.busy.compute += one.busy.compute;
    charged.stream_create = Seconds{0};
  }
  return all;
}

StreamRun Simulator::play(std::uint64_t blocks, std::uint32_t n, Order order, std::vector<TimelineEntry>* entries,
                          std::uint32_t streams) {
  calls_ = 1;
  if (!costs_.call_factors.empty()) {
    // Calls take more or less time from run to run: the run whose total is in the middle.
    std::vector<std::pair<double, StreamRun>> all;
    for (const double factor : costs_.call_factors) {
      calls_ = factor;
      all.emplace_back(factor, play_once(blocks, n, order, nullptr, streams));
    }
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::ranges::nth_element(all, middle, {}, [](const auto& one) { return std::pair(one.second.total, one.first); });
    if (!entries && !factor_) return middle->second;  // scattered copies differ each time
    calls_ = middle->first;
  }
  return play_once(blocks, n, order, entries, streams);
}

StreamRun Simulator::play_once(std::uint64_t blocks, std::uint32_t n, Order order, std::vector<TimelineEntry>* entries,
                               std::uint32_t streams) {
  prepare(blocks, n, order, streams == 0 || streams > n ? n : streams);
  ends_.assign(entries ? operations_.size() : 0, 0);
  double now = 0;
  for (;;) {
    const double next = next_event(now);
    if (next == never) break;
    now = next;
    end_all(now);
    give_queues(now);
    start_all(now);
  }
  if (entries) record(*entries);
  return {Seconds{total_},
          {Seconds{host_}, Seconds{copies_.busy(0)}, Seconds{copies_.busy(1)}, Seconds{compute_.busy()}}};
}

void Simulator::record(std::vector<TimelineEntry>& entries) const {
  entries.clear();
  entries.reserve(2 * operations_.size());
  for (Index i = 0; i < operations_.size(); ++i) {
    const Operation& o = operations_[i];
    const std::uint32_t queue = queues_of(line_of(o.stage)) ? o.queue : o.stream;
    static constexpr Server servers[] = {Server::copy_in, Server::copy_out, Server::compute};
    const Seconds issue{o.issue_start};
    entries.push_back({o.stage, o.chunk, queue, Server::host, issue, issue + Seconds{calls_ * stages_[o.kind].issue}});
    entries.push_back({o.stage, o.chunk, queue, servers[line_of(o.stage)], Seconds{o.start}, Seconds{ends_[i]}});
  }
  std::stable_sort(entries.begin(), entries.end(), [](const TimelineEntry& a, const TimelineEntry& b) {
    return a.server != b.server ? a.server < b.server : a.start < b.start;
  });
}

}  // namespace model

Timeline simulate(const Job& job, std::uint32_t n, const StreamCosts& costs, Order order, std::uint32_t streams) {
  Timeline timeline;
  timeline.run = model::Simulator().run(job, n, costs, order, &timeline.entries, streams);
  return timeline;
}

StreamRun simulate_total(const Job& job, std::uint32_t n, const StreamCosts& costs, Order order,
                         std::uint32_t streams) {
  return model::Simulator().run(job, n, costs, order, nullptr, streams);
}

StreamRun simulate_total(const Pipeline& pipeline, std::uint32_t n, const StreamCosts& costs, Order order,
                         std::uint32_t streams) {
  return model::Simulator().run(pipeline, n, costs, order, streams);
}

}  // namespace npgpu
