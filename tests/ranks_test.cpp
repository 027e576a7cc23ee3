// Messages between ranks that are threads: who meets whom, what is agreed, staged messages chunk by chunk, spoiled
// ones.
#include <doctest/doctest.h>

#include <exception>
#include <functional>
#include <set>
#include <thread>

#include "netpipe/engine/message_memory.hpp"
#include "netpipe/ranks/group.hpp"
#include "netpipe/ranks/pipeline.hpp"
#include "netpipe/ranks/runner.hpp"
#include "npgpu/measuring/runner.hpp"
#include "npgpu/vocabulary/units.hpp"
#include "tests/thread_world.hpp"

namespace ranks_test {

using namespace npgpu;
using tests::Post;
using tests::ThreadWorld;

namespace {

// `work` in a thread for each rank; what one of them throws is thrown here.
void in_ranks(Post& post, int size, const std::function<void(ThreadWorld&)>& work) {
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(size));
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < size; ++rank)
      threads.emplace_back([&, rank] {
        try {
          ThreadWorld world(post, rank, size);
          work(world);
        } catch (...) {
          post.close();  // the others wait for nothing
          errors[static_cast<std::size_t>(rank)] = std::current_exception();
        }
      });
  }
  // The first to fail may have been any; what the others then say is of no interest.
  std::exception_ptr first;
  for (const auto& error : errors) {
    if (!error) continue;
    if (!first) first = error;
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& e) {
      if (std::string_view(e.what()) != "another rank has failed") first = error;
    }
  }
  if (first) std::rethrow_exception(first);
}

// Of a family that binds and reads telemetry. Its memory is the host's.
class MadeDevice final : public MessageDevice {
 public:
  explicit MadeDevice(bool bind) : bind_(bind) {}
  std::string binding() const override { return bind_ ? "NUMA node 7" : "not bound: --no-bind"; }
  Telemetry telemetry() override { return {.sm_clock_mhz = 1234, .power_w = 56}; }

 private:
  bool bind_;
};
class MadeMemories final : public MessageMemories {
 public:
  std::string_view kind() const override { return "made"; }
  std::unique_ptr<MessageDevice> device(const std::string&, bool bind) const override {
    return std::make_unique<MadeDevice>(bind);
  }
  std::unique_ptr<MessageMemory> open(const std::string&, std::uint64_t max_bytes, std::uint64_t offset,
                                      const StagingSlots& slots) const override {
    return registered<MessageMemories>().front()->open("host", max_bytes, offset, slots);
  }
};

ranks::Group group_of(ThreadWorld& world, ranks::Patience patience = {}) {
  std::vector<int> members;
  std::vector<std::string> names;
  for (int rank = 0; rank < world.size(); ++rank) {
    members.push_back(rank);
    names.push_back("rank " + std::to_string(rank));
  }
  return {world, members, names, patience};
}

}  // namespace

TEST_CASE("four ranks meet in three rounds, each pair once") {
  CHECK(ranks::rounds_of(4) == 3);
  // Round 0 of places 0 1 2 that turn and 3 that stays: 0 is on its own and meets 3; 1 and 2 add to 3 = 0.
  CHECK(ranks::partner_of(0, 4, 0) == 3);
  CHECK(ranks::partner_of(1, 4, 0) == 2);
  CHECK(ranks::partners_of(0, 4) == std::vector{3, 2, 1});
}

TEST_CASE("any number of ranks: one partner at a time, each pair once, an odd one rests") {
  CHECK(ranks::rounds_of(1) == 0);
  for (int size = 2; size <= 17; ++size) {
    CAPTURE(size);
    std::set<std::pair<int, int>> met;
    for (int round = 0; round < ranks::rounds_of(size); ++round) {
      int rests = 0;
      for (int rank = 0; rank < size; ++rank) {
        const auto partner = ranks::partner_of(rank, size, round);
        rests += !partner;
        if (!partner) continue;
        REQUIRE(*partner != rank);
        CHECK(ranks::partner_of(*partner, size, round) == rank);
        if (rank < *partner) CHECK(met.emplace(rank, *partner).second);
      }
      CHECK(rests == size % 2);
    }
    CHECK(met.size() == static_cast<std::size_t>(size * (size - 1) / 2));
  }
}

TEST_CASE("places are read as they are written") {
  CHECK(ranks::text_of({"cuda:0", 3}) == "cuda:0@3");
  const auto place = ranks::parse_place("cuda:0@3");
  REQUIRE(place);
  CHECK(place->device == "cuda:0");
  CHECK(place->rank == 3);
  for (const char* wrong : {"host", "@1", "host@", "host@x", "host@-1", "host@1x"})
    CHECK_FALSE(ranks::parse_place(wrong).has_value());
}

TEST_CASE("all hear what each says, in the same order, and what the first says") {
  for (const int size : {2, 3}) {
    Post post;
    in_ranks(post, size, [&](ThreadWorld& world) {
      ranks::Group group = group_of(world);
      std::vector<std::string> expected;
      for (int rank = 0; rank < size; ++rank) expected.push_back("I am " + std::to_string(rank));
      if (group.of_all("I am " + std::to_string(world.rank())) != expected) throw Error(ErrorKind::failed, "of_all");
      if (group.of_leader(std::to_string(world.rank())) != "0") throw Error(ErrorKind::failed, "of_leader");
      if (!group.any(world.rank() == size - 1) || group.any(false)) throw Error(ErrorKind::failed, "any");
      if (group.first_failure(world.rank() == 1 ? "no memory" : "") != "rank 1: no memory")
        throw Error(ErrorKind::failed, "first_failure");
      if (!group.first_failure("").empty()) throw Error(ErrorKind::failed, "no failure");
    });
  }
}

TEST_CASE("a rank that does not answer is named") {
  Post post;
  ThreadWorld world(post, 0, 2);
  ranks::Group group = group_of(world, {.until_said = Seconds{100}, .until_parted = Seconds{0.01}});
  CHECK_THROWS_WITH_AS(group.any(false), doctest::Contains("rank 1 did not answer"), RankLost);
}

TEST_CASE("nor does a rank wait for a word that has begun to come or to leave, and gets no further") {
  // What one begins to send or to receive is never done.
  class Stuck final : public ranks::World {
   public:
    int rank() const override { return 0; }
    int size() const override { return 2; }
    void send(const void*, std::uint64_t, int, ranks::Tag) override { FAIL("it would not return"); }
    void receive(void*, std::uint64_t, int, ranks::Tag) override { FAIL("it would not return"); }
    ranks::Request begin_send(const void*, std::uint64_t, int, ranks::Tag) override { return {1}; }
    ranks::Request begin_receive(void*, std::uint64_t, int, ranks::Tag) override { return {1}; }
    void wait(ranks::Request&) override { FAIL("it would not return"); }
    bool is_done(ranks::Request&) override { return false; }
    std::optional<std::uint64_t> coming(int, ranks::Tag) override { return 1 << 20; }
    [[noreturn]] void abort(int) override { throw Error(ErrorKind::failed, "aborted"); }
    std::string library() const override { return "stuck"; }
    bool takes_device_memory() const override { return false; }
  } world;
  const ranks::Patience patience{.until_said = Seconds{100}, .until_parted = Seconds{0.01}};
  ranks::Group group(world, {0, 1}, {"rank 0", "rank 1"}, patience), led(world, {1, 0}, {"rank 0", "rank 1"}, patience);
  CHECK_THROWS_WITH_AS(group.of_leader("a long one"), doctest::Contains("rank 1 did not answer"), RankLost);
  CHECK_THROWS_WITH_AS(led.of_leader(""), doctest::Contains("rank 1 did not answer"), RankLost);
  CHECK_THROWS_WITH_AS(group.of_all(""), doctest::Contains("rank 1 did not answer"), RankLost);
}

TEST_CASE("a rank that is asked to stop does not wait for one that is gone") {
  Post post;
  ThreadWorld world(post, 0, 2);
  ranks::Group group = group_of(world, {.stopped = [] { return true; }, .last_wait = Seconds{0.01}});
  CHECK_THROWS_WITH_AS(group.any(false), doctest::Contains("rank 1 is gone"), RankLost);
}

TEST_CASE("the leader's times decide how all repeat") {
  Post post;
  std::vector<std::uint64_t> repeats[2];
  in_ranks(post, 2, [&](ThreadWorld& world) {
    ranks::Group group = group_of(world);
    const auto schedule = agreed_schedule(classic_schedule({.target = Seconds{1}, .trials = 2}), group);
    schedule->begin(8, 0);
    for (auto step = schedule->next(); step.kind != Schedule::Step::Kind::stop; step = schedule->next()) {
      repeats[world.rank()].push_back(step.repeats);
      // A second for each repeat on the leader's clock; the other's is ten times slower.
      const Seconds took{static_cast<double>(step.repeats) * (world.rank() == 0 ? 0.01 : 0.1)};
      schedule->record(took, took);
    }
  });
  CHECK(repeats[0] == repeats[1]);
  CHECK(repeats[0].back() == 100);
}

TEST_CASE("a staged message arrives whole, whatever its chunks") {
  const MessageMemories& host = *registered<MessageMemories>().front();
  for (const std::uint64_t bytes : {1u, 63u, 64u, 65u, 1000u})
    for (const std::uint64_t chunk : {1u, 64u, 100u, 1000u, 4096u})
      for (const std::uint64_t slots : {2u, 3u, 4u}) {
        CAPTURE(bytes);
        CAPTURE(chunk);
        CAPTURE(slots);
        Post post;
        in_ranks(post, 2, [&](ThreadWorld& world) {
          const ranks::Staging how{&world, 1 - world.rank(), slots, std::min(chunk, bytes)};
          const auto from = host.open("host", bytes, 0, {slots, how.chunk});
          const auto to = host.open("host", bytes, 0, {slots, how.chunk});
          from->fill(bytes, 7);
          to->arm(bytes, 7);
          if (world.rank() == 0) ranks::send_staged(how, *from, bytes);
          else ranks::receive_staged(how, *to, bytes);
          if (world.rank() == 1)
            if (const auto wrong = to->wrong(bytes, 7)) throw Error(ErrorKind::failed, *wrong);
          to->arm(bytes, 7);
          ranks::exchange_staged(how, *from, *to, bytes);
          if (const auto wrong = to->wrong(bytes, 7)) throw Error(ErrorKind::failed, *wrong);
        });
      }
}

namespace {

struct Outcome {
  std::optional<std::string> wrong;
  std::vector<TransferSample> samples;
};

// Two trials of three repeats of 1000 B on both ranks; what each of them says of it.
std::array<Outcome, 2> measured(Pattern pattern, Access access, bool async, const Post::Fault& fault) {
  Post post;
  post.fault = fault;
  std::array<Outcome, 2> all;
  in_ranks(post, 2, [&](ThreadWorld& world) {
    ranks::Group group = group_of(world);
    TransferCase c = ranks::rank_case({"host", 0}, {"host", 1});
    c.pattern = pattern;
    c.access = access;
    c.async = async;
    c.chunk_bytes = access == Access::staged ? 300 : 0;
    const Step<Transfers> step{c, {1000}};
    const auto runner = ranks::rank_runner(world, group, std::span(&step, 1));
    runner->prepare(step);
    Outcome& mine = all[static_cast<std::size_t>(world.rank())];
    for (int trial = 0; trial < 2; ++trial) {
      mine.samples.clear();
      runner->run(3, mine.samples);
    }
    mine.wrong = runner->check(mine.samples);
  });
  return all;
}

}  // namespace

TEST_CASE("messages that are right are said to be right by both") {
  for (const Pattern pattern : {Pattern::stream, Pattern::pingpong, Pattern::duplex})
    for (const Access access : {Access::write, Access::staged})
      for (const bool async : {false, true}) {
        CAPTURE(name(pattern));
        CAPTURE(name(access));
        for (const Outcome& one : measured(pattern, access, async, {})) {
          CHECK_FALSE(one.wrong);
          CHECK(one.samples.size() == (pattern == Pattern::duplex ? 2 : 1));
          for (const TransferSample& sample : one.samples) {
            CHECK(sample.intact == 1);
            CHECK(sample.repeats == 3);
            CHECK(sample.host_us > 0);
          }
        }
      }
}

TEST_CASE("each end is bound near its own device, and reads its telemetry") {
  for (const bool bind : {true, false}) {
    Post post;
    in_ranks(post, 2, [&](ThreadWorld& world) {
      ranks::Group group = group_of(world);
      TransferCase c = ranks::rank_case({"made:0", 0}, {"host", 1});
      c.access = Access::staged;
      c.bind = bind;
      const Step<Transfers> step{c, {1000}};
      const auto runner = ranks::rank_runner(world, group, std::span(&step, 1));
      const std::string expected = world.rank() == 1 ? "as the job was started: cpu"
                                   : bind            ? "NUMA node 7; thread on cpu"
                                                     : "not bound: --no-bind; thread on cpu";
      if (!runner->binding().starts_with(expected)) throw Error(ErrorKind::failed, runner->binding());
      runner->prepare(step);
      const double mhz = runner->telemetry().sm_clock_mhz;
      if (world.rank() == 0 ? mhz != 1234 : mhz == mhz) throw Error(ErrorKind::failed, "telemetry of another");
    });
  }
}

TEST_CASE("both take the same chunk, choose it once, and keep that of a run that goes on") {
  for (const Pattern pattern : {Pattern::stream, Pattern::pingpong, Pattern::duplex}) {
    Post post;
    std::string texts[2];
    in_ranks(post, 2, [&](ThreadWorld& world) {
      ranks::Group group = group_of(world);
      TransferCase c = ranks::rank_case({"host", 0}, {"host", 1});
      c.pattern = pattern;
      c.access = Access::staged;
      const std::vector<Step<Transfers>> steps{{c, {100000}}, {c, {50000}}, {c, {9000}}, {c, {8}}};
      const auto own = [&](const Step<Transfers>& step) -> ChunkChoice& {
        return group.chunks[chunk_fact(1 - world.rank(), pattern, step.axes.bytes)];
      };
      // One rank's trace has a choice that the other one's lacks.
      if (world.rank() == 1) own(steps[1]) = {8192, 12288};
      std::map<std::string, std::string> before;
      for (int round = 0; round < 2; ++round) {
        const auto runner = ranks::rank_runner(world, group, steps);
        for (const Step<Transfers>& step : steps) {
          runner->prepare(step);
          std::vector<TransferSample> samples;
          runner->run(2, samples);
          if (runner->check(samples)) throw Error(ErrorKind::failed, "wrong");
          const std::string text = choice_text(own(step));
          std::string& known = before[text_of(step.axes)];
          if (round == 0) texts[world.rank()] += text + '\n';
          else if (text != known) throw Error(ErrorKind::failed, "another chunk in the second round");
          known = text;
        }
      }
      if (own(steps[1]).taken != 12288) throw Error(ErrorKind::failed, "a choice of before is forgotten");
      if (own(steps[0]).tried.size() < 2 || !own(steps[3]).tried.empty())
        throw Error(ErrorKind::failed, texts[world.rank()]);
    });
    CHECK(texts[0] == texts[1]);
  }
}

TEST_CASE("a spoiled lane is found and named by both") {
  // The last payload of the last trial, number 5; and of a pingpong the way back.
  for (const Outcome& one : measured(Pattern::stream, Access::write, false, {0, 1, 5, 17})) {
    REQUIRE(one.wrong);
    CHECK(one.wrong->find("host@0>host@1: byte 17 of 1000 is ") == 0);
    CHECK(one.samples[0].intact == 0);
  }
  for (const Outcome& one : measured(Pattern::pingpong, Access::write, true, {1, 0, 5, 999})) {
    REQUIRE(one.wrong);
    CHECK(one.wrong->find("host@1>host@0: byte 999 of 1000 is ") == 0);
    CHECK(one.samples[0].intact == 0);
  }
  for (const Outcome& one : measured(Pattern::duplex, Access::write, false, {1, 0, 5, 0})) {
    REQUIRE(one.wrong);
    CHECK(one.wrong->find("host@1>host@0: byte 0 of 1000 is ") == 0);
    CHECK(one.samples[0].intact == 1);
    CHECK(one.samples[1].intact == 0);
  }
  // In chunks of 300 B: of the last message, the third one.
  for (const Outcome& one : measured(Pattern::stream, Access::staged, false, {0, 1, 22, 4})) {
    REQUIRE(one.wrong);
    CHECK(one.wrong->find("host@0>host@1: byte 604 of 1000 is ") == 0);
  }
}

}  // namespace ranks_test

NPGPU_REGISTERED(MessageMemories, ranks_test::MadeMemories)
