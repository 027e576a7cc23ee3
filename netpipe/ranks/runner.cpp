#include "netpipe/ranks/runner.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <tuple>
#include <utility>
#include <vector>

#include "netpipe/devices/host/payload.hpp"
#include "netpipe/engine/transfer_runner.hpp"
#include "netpipe/ranks/pipeline.hpp"
#include "npgpu/model/figures.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::ranks {

namespace {

constexpr std::uint64_t staging_slots = 4;              // of each end of a staged message
constexpr std::uint64_t most_chunk_bytes = 8 * MiB;     // the largest chunk that is advised
constexpr std::uint64_t way_back = 0x9E3779B97F4A7C15;  // between the seeds of the two lanes of a duplex

const MessageMemories& memories_of(const std::string& device) {
  for (const auto& family : registered<MessageMemories>())
    if (family->kind() == devices::kind_of(device)) return *family;
  throw Error(ErrorKind::usage, "--device " + device + ": no messages leave from there in this build");
}

std::string processors_of_this_thread() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return "unknown processors";
  std::string text;
  int count = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &set)) continue;
    int last = cpu;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set)) ++last;
    text += (text.empty() ? "" : ",") + (last > cpu ? fmt::format("{}-{}", cpu, last) : std::to_string(cpu));
    count += last - cpu + 1;
    cpu = last;
  }
  return fmt::format("cpu{} {}", count == 1 ? "" : "s", text);
}

class RankRunner final : public Runner<Transfers> {
 public:
  RankRunner(World& world, Group& group, std::span<const Step<Transfers>> steps)
      : world_(world),
        group_(group),
        max_bytes_(max_bytes_of(steps)),
        device_(memories_of(own_device(steps.front().question))
                    .device(own_device(steps.front().question), steps.front().question.bind)) {}

  void prepare(const Step<Transfers>& step) override {
    agree(failure_of([&] {
      if (case_ != step.question) open(step.question);
    }));
    bytes_ = step.axes.bytes;
    if (is_staged()) {
      how_.chunk = std::min(case_.chunk_bytes ? case_.chunk_bytes : slots_.bytes, bytes_);
      if (case_.chunk_bytes == 0) how_.chunk = std::min(chosen_chunk(), slots_.bytes);
    }
    seed_ = std::stoull(group_.of_leader(std::to_string(payload::fresh_seed())));
    agree(failure_of([&] {
      if (source_) source_->fill(bytes_, sends_first_ ? seed_ : seed_ + way_back);
      if (target_) target_->arm(bytes_, is_duplex() && sends_first_ ? seed_ + way_back : seed_);
    }));
  }

  bool run(std::uint64_t repeats, std::vector<TransferSample>& samples) override {
    group_.any(false);  // both are ready
    const Clock& clock = steady_clock();
    const Seconds begin = clock.now();
    issue(repeats);
    const Seconds took = clock.now() - begin;
    for (std::uint32_t lane = 0; lane < lanes(case_).size(); ++lane) {
      TransferSample& sample = samples.emplace_back();
      sample.lane = lane;
      sample.repeats = repeats;
      sample.host_us = microseconds(took);
    }
    return true;
  }

  // The end of a lane that has its bytes compares them, and sends the other the result.
  std::optional<std::string> check(std::span<TransferSample> last_trial) override {
    std::string mine;
    if (target_)
      if (const auto wrong = target_->wrong(bytes_, is_duplex() && sends_first_ ? seed_ + way_back : seed_))
        mine = lane_text(!is_from_me(case_), "") + *wrong;
    const std::vector<std::string> all = group_.of_all(mine);
    std::optional<std::string> first;
    for (const std::string& one : all)
      if (!one.empty() && !first) first = one;
    for (TransferSample& sample : last_trial) {
      // The target says it for a lane of its own way; both say it for a round trip.
      const std::size_t target = target_index(sample.lane);
      const bool is_wrong = case_.pattern == Pattern::pingpong ? first.has_value() : !all[target].empty();
      sample.intact = is_wrong ? 0 : 1;
    }
    return first;
  }

  double work() const override { return Transfers::work(case_, {bytes_}); }
  std::uint64_t bytes() const override { return bytes_; }

  void warm_up(Seconds duration) override {
    const Seconds begin = clock().now();
    std::vector<TransferSample> unused;
    std::uint64_t repeats = 1;
    for (Seconds before = begin, now = begin;; before = now) {
      if (!group_.of_leader(now - begin < duration)) return;
      run(repeats, unused);
      now = clock().now();
      const bool more = group_.of_leader(now - before < Seconds{0.001});
      if (more) repeats *= 2;
    }
  }

  const Clock& clock() const override { return steady_clock(); }
  Telemetry telemetry() override { return device_->telemetry(); }
  std::string binding() const override {
    const std::string near_device = device_->binding();
    return near_device.empty() ? "as the job was started: " + processors_of_this_thread()
                               : near_device + "; thread on " + processors_of_this_thread();
  }

 private:
  bool is_duplex() const { return case_.pattern == Pattern::duplex; }
  bool is_staged() const { return case_.access == Access::staged; }
  bool is_from_me(const TransferCase& c) const { return parse_place(c.source)->rank == world_.rank(); }
  std::string own_device(const TransferCase& c) const {
    return parse_place(is_from_me(c) ? c.source : c.target)->device;
  }
  // Which of the group has what comes by this lane.
  std::size_t target_index(std::uint32_t lane) const {
    const auto place = parse_place(lane == 0 ? case_.target : case_.source);
    const bool mine = place->rank == world_.rank();
    return mine == group_.leads() ? 0 : 1;
  }
  // "host@1>host@0: "
  std::string lane_text(bool own_way, const char* more) const {
    const auto& [from, to] = own_way ? std::tie(case_.source, case_.target) : std::tie(case_.target, case_.source);
    return from + '>' + to + more + ": ";
  }
  void agree(const std::string& failure) {
    if (const std::string first = group_.first_failure(failure); !first.empty()) throw Error(ErrorKind::failed, first);
  }

  // ---- the timed region ---------------------------------------------------------------------------------------------

  void issue(std::uint64_t repeats) {
    if (is_staged()) return issue_staged(repeats);
    switch (case_.pattern) {
      case Pattern::pingpong: return case_.async ? preposted_pingpong(repeats) : pingpong(repeats);
      case Pattern::duplex: return duplex(repeats);
      default: return stream(repeats);
    }
  }

  void send() { world_.send(source_->data(), bytes_, partner_, Tag::payload); }
  void receive() { world_.receive(target_->data(), bytes_, partner_, Tag::payload); }
  void return_what_came() { world_.send(target_->data(), bytes_, partner_, Tag::payload); }
  Request begin_receive() { return world_.begin_receive(target_->data(), bytes_, partner_, Tag::payload); }

  void pingpong(std::uint64_t repeats) {
    if (sends_first_) {
      for (std::uint64_t i = 0; i < repeats; ++i) {
        send();
        receive();
      }
    } else {
      for (std::uint64_t i = 0; i < repeats; ++i) {
        receive();
        return_what_came();
      }
    }
  }

  // Each receive is posted before the message can come.
  void preposted_pingpong(std::uint64_t repeats) {
    if (sends_first_) {
      for (std::uint64_t i = 0; i < repeats; ++i) {
        Request coming = begin_receive();
        send();
        world_.wait(coming);
      }
    } else {
      for (std::uint64_t i = 0; i < repeats; ++i) {
        Request coming = begin_receive();
        world_.wait(coming);
        return_what_came();
      }
    }
  }

  // The last word of the target ends the sender's time, too.
  void acknowledge() {
    char word = 0;
    if (sends_first_) world_.receive(&word, 1, partner_, Tag::ack);
    else world_.send(&word, 1, partner_, Tag::ack);
  }
  void stream(std::uint64_t repeats) {
    if (sends_first_) {
      for (std::uint64_t i = 0; i < repeats; ++i) send();
    } else if (case_.async) {
      for (std::uint64_t i = 0; i < repeats; ++i) {
        Request coming = begin_receive();
        world_.wait(coming);
      }
    } else {
      for (std::uint64_t i = 0; i < repeats; ++i) receive();
    }
    acknowledge();
  }

  void duplex(std::uint64_t repeats) {
    for (std::uint64_t i = 0; i < repeats; ++i) {
      Request coming = begin_receive();
      Request going = world_.begin_send(source_->data(), bytes_, partner_, Tag::payload);
      world_.wait(going);
      world_.wait(coming);
    }
  }

  void issue_staged(std::uint64_t repeats) {
    for (std::uint64_t i = 0; i < repeats; ++i) {
      if (is_duplex()) {
        exchange_staged(how_, *source_, *target_, bytes_);
      } else if (sends_first_) {
        send_staged(how_, *source_, bytes_);
        if (case_.pattern == Pattern::pingpong) receive_staged(how_, *target_, bytes_);
      } else {
        receive_staged(how_, *target_, bytes_);
        if (case_.pattern == Pattern::pingpong) send_staged(how_, *target_, bytes_);
      }
    }
    if (case_.pattern == Pattern::stream) acknowledge();
  }

  // ---- buffers ------------------------------------------------------------------------------------------------------

  void open(const TransferCase& question) {
    const auto known = max_bytes_.find(question);
    if (known == max_bytes_.end())
      throw Error(ErrorKind::usage, title(question) + ": the runner was not opened for it");
    source_.reset();  // before the next are opened, so that both need not fit
    target_.reset();
    case_ = question;
    partner_ = group_.partner();
    sends_first_ = is_from_me(case_);
    slots_ = slots_of(case_, known->second);
    how_ = {&world_, partner_, std::max<std::uint64_t>(slots_.count, 2), 1};
    const std::string device = own_device(case_);
    const MessageMemories& memories = memories_of(device);
    const bool sends = sends_first_ || is_duplex(), gets = !sends_first_ || case_.pattern != Pattern::stream;
    if (sends) source_ = memories.open(device, known->second, case_.source_offset, slots_);
    if (gets) target_ = memories.open(device, known->second, case_.target_offset, slots_);
  }

  // By trials around the chunk that the costs of the stages advise. Chosen when the pair first asks, and kept: all
  // visits have the same chunk, also those of a run that goes on.
  std::uint64_t chosen_chunk() {
    ChunkChoice& known = group_.chunks[chunk_fact(partner_, case_.pattern, bytes_)];
    // One rank may have saved it, and the other not.
    const std::vector<std::string> said = group_.of_all(known.taken ? choice_text(known) : "");
    known = parse_choice(said[said[0].empty() ? 1 : 0]).value_or(ChunkChoice{});
    if (known.taken == 0) known = tried_chunk();
    return known.taken;
  }

  ChunkChoice tried_chunk() {
    if (!std::exchange(is_awake_, true)) warm_up(Seconds{0.15});
    const std::uint64_t advised = advised_chunk(stages(), bytes_, slots_.bytes);
    ChunkSearch search(advised, bytes_, slots_.bytes);
    // A clock sees a trial of this length; what it has run in before is not counted.
    constexpr Seconds shortest{0.0005};
    constexpr std::uint64_t most_repeats = 256;
    std::uint64_t repeats = 1;
    how_.chunk = advised;
    for (Seconds took = trial(1); repeats < most_repeats && group_.of_leader(took < shortest);)
      took = trial(repeats *= 2);
    for (;;) {
      // Each says whether it goes on, the leader how; so both begin at once, too.
      std::string mine = group_.is_stopped() ? "" : "on";
      if (const auto next = search.next(); group_.leads() && !mine.empty()) mine = next ? std::to_string(*next) : "";
      const std::vector<std::string> said = group_.of_all(mine);
      if (said[0].empty() || said[1].empty()) break;
      how_.chunk = std::stoull(said[0]);
      const Seconds took = trial(repeats);
      const double ways = case_.pattern == Pattern::pingpong ? 2 : 1;
      if (group_.leads()) search.record(took / (static_cast<double>(repeats) * ways), took);
    }
    const ChunkChoice choice{advised, search.best(), search.tried()};
    return parse_choice(group_.of_leader(choice_text(choice))).value_or(choice);
  }
  Seconds trial(std::uint64_t repeats) {
    const Seconds begin = steady_clock().now();
    issue(repeats);
    return steady_clock().now() - begin;
  }

  // What each stage of a chunk costs. Measured when the pair first asks, and kept: all visits have the same chunks.
  const std::vector<StageCost>& stages() {
    std::vector<StageCost>& known = group_.stages[extent_of(bytes_)];
    if (known.empty()) known = measured_stages(std::min(extent_of(bytes_), max_bytes_.at(case_)));
    return known;
  }

  // The least of some repeats, at sizes up to a slot's. Slots and places in a message of this extent take turns, so
  // that caches hold what they hold then.
  std::vector<StageCost> measured_stages(std::uint64_t extent) {
    constexpr std::uint64_t smallest = 4 * KiB, step = 4;
    MessageMemory& memory = source_ ? *source_ : *target_;
    std::vector<std::uint64_t> sizes;
    for (std::uint64_t bytes = std::min(slots_.bytes, extent); bytes > 0 && (sizes.empty() || bytes >= smallest);
         bytes /= step)
      sizes.insert(sizes.begin(), bytes);
    std::array<std::vector<double>, 3> least;  // fetch, message, store; by size
    for (const std::uint64_t bytes : sizes) {
      const std::uint64_t places = std::max<std::uint64_t>(1, extent / bytes);
      const auto copied = [&](auto&& begin) {
        return quickest([&](std::uint64_t i) {
          begin(i % slots_.count, i % places * bytes);
          while (!memory.is_ready(i % slots_.count)) {
          }
        });
      };
      least[0].push_back(copied([&](std::uint64_t slot, std::uint64_t at) { memory.fetch(slot, at, bytes); }));
      least[2].push_back(copied([&](std::uint64_t slot, std::uint64_t at) { memory.store(slot, at, bytes); }));
      group_.any(false);
      least[1].push_back(quickest([&](std::uint64_t i) { message(memory, i % slots_.count, bytes); }) / 2);
    }
    std::string mine;
    for (const auto& one : least)
      for (const double time : one) mine += fmt::format("{:.9g} ", time);
    // Out of the one and into the other: the slower of both, for what both do.
    for (const std::string& said : group_.of_all(mine)) {
      std::istringstream words(said);
      for (auto& one : least)
        for (double& time : one) {
          double theirs = 0;
          words >> theirs;
          time = std::max(time, theirs);
        }
    }
    std::vector<StageCost> stages;
    for (std::size_t i = 0; i < least.size(); ++i) {
      StageCost& stage = stages.emplace_back();
      for (std::size_t s = 0; s < sizes.size(); ++s)
        stage.curve.push_back({static_cast<double>(sizes[s]), Seconds{least[i][s]}});
      // An engine copies while the thread goes on; where the thread copies, it also takes messages.
      stage.worker = memory.is_asynchronous() ? static_cast<int>(i) : std::min<int>(static_cast<int>(i), 1);
    }
    return stages;
  }
  void message(MessageMemory& memory, std::uint64_t slot, std::uint64_t bytes) {
    if (group_.leads()) {
      world_.send(memory.slot(slot), bytes, partner_, Tag::ack);
      world_.receive(memory.slot(slot), bytes, partner_, Tag::ack);
    } else {
      world_.receive(memory.slot(slot), bytes, partner_, Tag::ack);
      world_.send(memory.slot(slot), bytes, partner_, Tag::ack);
    }
  }
  template <class Work> static double quickest(Work&& work) {
    constexpr std::uint64_t times = 12;
    Seconds least{1e9};
    for (std::uint64_t i = 0; i < times; ++i) {
      const Seconds begin = steady_clock().now();
      work(i);
      least = std::min(least, steady_clock().now() - begin);
    }
    return least.count();
  }

  World& world_;
  Group& group_;
  std::map<TransferCase, std::uint64_t> max_bytes_;
  const std::unique_ptr<MessageDevice> device_;  // before the memories, which are allocated under its binding
  TransferCase case_;
  int partner_ = 0;
  bool sends_first_ = false, is_awake_ = false;
  std::uint64_t bytes_ = 0, seed_ = 0;
  StagingSlots slots_;
  Staging how_;
  std::unique_ptr<MessageMemory> source_, target_;  // of a round trip the target is where it lands, at either end
};

}  // namespace

StagingSlots slots_of(const TransferCase& c, std::uint64_t max_bytes) {
  if (c.access != Access::staged) return {};
  return {staging_slots, std::min(max_bytes, c.chunk_bytes ? c.chunk_bytes : most_chunk_bytes)};
}

StagingNeed needs_of(const TransferCase& c, std::uint64_t max_bytes) {
  const std::uint64_t ends = c.pattern == Pattern::stream ? 1 : 2;
  const StagingSlots slots = slots_of(c, max_bytes);
  const std::uint64_t staged = ends * slots.count * slots.bytes;
  const std::uint64_t payload = saturating_plus(max_bytes, 2 * payload::guard_bytes);
  if (c.direction != Direction::h2h) return {staged, ends == 2 ? saturating_plus(payload, payload) : payload};
  return {saturating_plus(staged, ends == 2 ? saturating_plus(payload, payload) : payload), 0};
}

std::unique_ptr<Runner<Transfers>> rank_runner(World& world, Group& group, std::span<const Step<Transfers>> steps) {
  if (steps.empty()) throw Error(ErrorKind::usage, "no transfer to open a runner for");
  return std::make_unique<RankRunner>(world, group, steps);
}

}  // namespace npgpu::ranks
