#include "netpipe/collectives/company.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "netpipe/ranks/ends.hpp"
#include "npgpu/consensus.hpp"

namespace npgpu::collectives {

namespace {

using Wanted = PartRequest::Wanted;

// All ranks run the same program, so that bytes are the same there.
template <class T> std::string bytes_of(const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
template <class T> T from_bytes(const std::string& bytes) {
  T value;
  if (bytes.size() != sizeof value) throw Error(ErrorKind::failed, "a rank's message cannot be read");
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

std::unique_ptr<Company> of_this_process;

}  // namespace

Company::Company(ranks::RankSet& ranks, std::vector<Member> members, Seconds patience, std::function<bool()> stopped)
    : ranks_(ranks), members_(std::move(members)), patience_(patience), stopped_(std::move(stopped)) {}

std::string Company::hosts() const {
  std::string text;
  for (const Member& one : members_) text += (text.empty() ? "" : ",") + one.host;
  return text;
}

std::string Company::devices() const {
  std::string text;
  for (std::size_t i = 0; i < members_.size(); ++i)
    text += (i == 0 ? "" : ",") + ranks::text_of({members_[i].device, static_cast<int>(i)});
  return text;
}

void Company::watch() {
  const Seconds now = steady_clock().now();
  constexpr Seconds after_signal{0.2};
  if (stopped_ && stopped_()) {
    if (stopped_at_ < Seconds{0}) stopped_at_ = now;
    if (now - stopped_at_ > after_signal) throw GaveUp("stopped by a signal", true);
  }
  if (now - asked_ > patience_)
    throw GaveUp(fmt::format("an operation did not end within {:g} s (--rank-timeout)", patience_.count()), false);
}

// Each waits for all others, by messages to the rank 1, 2, 4, ... places further on, so that all begin within some
// microseconds (a barrier by dissemination: Hensgen, Finkel and Manber 1988).
void Company::meet(std::uint64_t number) {
  constexpr std::uint64_t looks_between = 16;  // as a rank that waits for a word
  static std::uint64_t sent, came;             // which the library may use after a wait that was given up
  const int n = ranks_.size(), me = ranks_.rank();
  ranks::World& world = ranks_.world();
  std::uint64_t looks = 0;
  const auto look = [&] {
    if (++looks % looks_between == 0) watch();
  };
  sent = number;
  for (int distance = 1; distance < n; distance *= 2) {
    const int to = (me + distance) % n, from = (me + n - distance) % n;
    ranks::Request out = world.begin_send(&sent, sizeof sent, to, ranks::Tag::ack);
    do {  // an older number is of a trial that was given up
      while (!world.coming(from, ranks::Tag::ack)) look();
      world.receive(&came, sizeof came, from, ranks::Tag::ack);
    } while (came != number);
    while (!world.is_done(out)) look();
  }
}

PartReply Company::done(const PartRequest& request) {
  asked_ = steady_clock().now();
  const std::uint64_t number = ++orders_;
  const auto open = [&] {
    PartRequest own = request;
    const auto rank = static_cast<std::size_t>(ranks_.rank());
    own.rank = static_cast<std::uint32_t>(rank);
    own.ranks = static_cast<std::uint32_t>(members_.size());
    members_[rank].device.copy(own.device, sizeof own.device - 1);
    // watch() gives up first.
    return gpu_parts(members_[rank].device).open(own, devices(), {2 * patience_, [this] { watch(); }});
  };
  const PartReply reply = answer_of(part_, request, open, [&] { meet(number); });
  is_given_up_ = is_given_up_ || reply.gave_up;
  return reply;
}

void Company::tell(const PartRequest& request) {
  ranks_.everyone().of_leader(bytes_of(request));
  told_ = steady_clock().now();
}

std::vector<PartReply> Company::ask(const PartRequest& request) {
  if (is_lost()) throw RankLost(why_lost_);
  std::vector<PartReply> all;
  try {
    tell(request);
    const PartReply mine = done(request);
    // The others give up when this one does.
    const Seconds longer = mine.gave_up ? std::min(Seconds{5}, patience_ / 2) : Seconds{0};
    const Seconds left = std::max(patience_ - (steady_clock().now() - asked_), Seconds{0}) + longer;
    for (const std::string& one : ranks_.everyone().to_leader(bytes_of(mine), left))
      all.push_back(from_bytes<PartReply>(one));
  } catch (const Error& e) {
    why_lost_ = e.what();
    throw RankLost(why_lost_);
  }
  std::string why;
  bool hangs = false, is_stopped = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    is_stopped |= all[i].is_stopped;
    hangs |= all[i].gave_up && !all[i].is_stopped;
    if (all[i].error[0] && !all[i].gave_up && why.empty())
      why = fmt::format("{}: {}", ranks_.name(static_cast<int>(i)), all[i].error);
  }
  if (hangs) {  // what still runs cannot be ended, and every rank is in it
    for (std::size_t i = 0; i < all.size() && why.empty(); ++i)
      if (all[i].gave_up) why = fmt::format("{}: {}", ranks_.name(static_cast<int>(i)), all[i].error);
    why_lost_ = why;
    throw RankLost(why);
  }
  if (!why.empty()) throw Error(ErrorKind::failed, why);
  return is_stopped ? std::vector<PartReply>{} : all;
}

void Company::still_here() {
  if (is_lost() || steady_clock().now() - told_ < std::min(Seconds{1}, patience_ / 4)) return;
  tell({});
}

void Company::call_roll() {
  PartRequest request;
  request.what = Wanted::answer;
  (void)ask(request);
}

void Company::dismiss() {
  if (is_lost()) return;
  PartRequest request;
  request.what = Wanted::leave;
  tell(request);
  if (is_given_up_) static_cast<void>(part_.release());  // what still runs ends with the process
}

void Company::serve() {
  // The first rank is to find out first who hangs, as it has the trace. It is heard of once a second.
  ranks::Patience waiting;
  waiting.until_parted = 1.5 * patience_ + Seconds{1};
  waiting.until_said = waiting.until_parted;
  std::vector<int> all;
  std::vector<std::string> names;
  for (int rank = 0; rank < ranks_.size(); ++rank) {
    all.push_back(rank);
    names.push_back(ranks_.name(rank));
  }
  ranks::Group everyone(ranks_.world(), all, names, waiting);
  for (;;) {
    const auto request = from_bytes<PartRequest>(everyone.of_leader(std::string()));
    if (request.what == Wanted::leave) break;
    if (request.what == Wanted::nothing) continue;
    const PartReply reply = done(request);
    everyone.to_leader(bytes_of(reply), patience_);
  }
  if (is_given_up_) static_cast<void>(part_.release());
}

Company& begin_company(ranks::RankSet& ranks, std::vector<Company::Member> members, Seconds patience,
                       std::function<bool()> stopped) {
  of_this_process = std::make_unique<Company>(ranks, std::move(members), patience, std::move(stopped));
  return *of_this_process;
}

Company* company() { return of_this_process.get(); }

std::optional<std::string> why_no_ranks(const CollectiveCase& c) {
  if (c.processes != CollectiveProcesses::ranks || company()) return std::nullopt;
  return "ranks of a job are started by mpirun or srun: mpirun -n 2 npgpu collectives";
}

std::string hosts_of(const CollectiveCase& c) {
  return c.processes == CollectiveProcesses::ranks && company() ? company()->hosts() : "";
}

namespace {

class RanksRunner final : public Runner<Collectives> {
 public:
  explicit RanksRunner(std::span<const Step<Collectives>> steps) : all_(*company()) {
    for (const auto& step : steps) most_bytes_ = std::max(most_bytes_, step.axes.bytes);
    buffers_ = steps.front().question.buffers;
    open();
  }
  ~RanksRunner() override {
    if (all_.is_lost() || is_stopped_) return;
    try {
      ask(Wanted::close);
    } catch (const Error&) {  // who is gone is named by what is asked next
    }
  }

  void prepare(const Step<Collectives>& step) override {
    if (!is_open_) open();
    step_ = step;
    seed_ += 0xD1B54A32D192ED03;
    (void)ask(preparing(step, seed_));
  }
  bool run(std::uint64_t repeats, std::vector<CollectiveSample>& samples) override {
    const std::size_t before = samples.size();
    std::uint32_t lane = 0;
    bool is_valid = true;
    for (const PartReply& reply : ask(Wanted::run, repeats)) {
      samples.push_back(reply.sample);
      samples.back().lane = lane++;
      is_valid = is_valid && reply.is_valid;
    }
    // In each rank it took until that one was done: for all, until the last one was.
    const auto own = std::span(samples).subspan(before);
    double longest = 0;
    for (const CollectiveSample& s : own) longest = std::max(longest, s.host_us);
    if (is_host_timed(step_.question))
      for (CollectiveSample& s : own) s.host_us = longest;
    return is_valid && lane > 0;
  }
  std::optional<std::string> check(std::span<CollectiveSample> last_trial) override {
    std::vector<WrongElements> found;
    for (const PartReply& reply : ask(Wanted::check)) found.push_back(reply.wrong);
    return verdict_of(step_, found, last_trial);
  }
  void warm_up(Seconds duration) override {
    constexpr std::uint64_t operations = 20;
    const Seconds begin = steady_clock().now();
    while (!is_stopped_ && steady_clock().now() - begin < duration) (void)ask(Wanted::warm_up, operations);
  }
  std::uint64_t max_repeats() const override { return all_.part() ? all_.part()->max_repeats() : 0; }
  double work() const override { return static_cast<double>(step_.axes.bytes); }
  std::uint64_t bytes() const override { return step_.axes.bytes; }
  const Clock& clock() const override { return all_.part() ? all_.part()->clock() : steady_clock(); }
  Telemetry telemetry() override { return all_.part() ? all_.part()->telemetry() : Telemetry{}; }
  std::string binding() const override { return "each rank: " + (all_.part() ? all_.part()->binding() : "unknown"); }

 private:
  // All have what they need before they join, as one that cannot would let the others wait.
  void open() {
    PartRequest request;
    request.what = Wanted::open;
    request.most_bytes = most_bytes_;
    request.buffers = buffers_;
    (void)ask(request);
    request.what = Wanted::join;
    request.meeting = gpu_parts(all_.members().front().device).meeting();
    (void)ask(request);
    is_open_ = true;
  }
  std::vector<PartReply> ask(Wanted what, std::uint64_t repeats = 0) {
    PartRequest request;
    request.what = what;
    request.repeats = repeats;
    return ask(request);
  }
  std::vector<PartReply> ask(const PartRequest& request) {
    if (is_stopped_) return {};
    try {
      auto replies = all_.ask(request);
      is_stopped_ = replies.empty();
      return replies;
    } catch (const Error&) {
      is_open_ = false;
      throw;
    }
  }

  Company& all_;
  std::uint64_t most_bytes_ = 0, seed_ = 0;
  CollectiveBuffers buffers_ = CollectiveBuffers::plain;
  Step<Collectives> step_;
  bool is_open_ = false, is_stopped_ = false;
};

}  // namespace

std::unique_ptr<Runner<Collectives>> runner_of_ranks(std::span<const Step<Collectives>> steps) {
  return std::make_unique<RanksRunner>(steps);
}

}  // namespace npgpu::collectives
