// How jobs are cut and issued: arithmetic that a reader can check by hand.
#include "npgpu/vocabulary/job.hpp"

#include <doctest/doctest.h>

#include <set>

#include "netpipe/jobs/runner.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace job_test {

using namespace npgpu;

TEST_CASE("pieces end at lines of 128 B, the last at the very end") {
  // 1000 B in 3: borders 333 and 666 become 256 and 640.
  CHECK(piece_of(1000, 3, 0).first == 0);
  CHECK(piece_of(1000, 3, 0).bytes == 256);
  CHECK(piece_of(1000, 3, 1).first == 256);
  CHECK(piece_of(1000, 3, 1).bytes == 384);
  CHECK(piece_of(1000, 3, 2).first == 640);
  CHECK(piece_of(1000, 3, 2).bytes == 360);
  CHECK(piece_of(0, 3, 2).bytes == 0);
  CHECK(piece_of(60 * MiB, 16, 15).first == 60 * MiB / 16 * 15);  // whole lines: cut evenly
  CHECK(piece_of(60 * MiB, 16, 15).bytes == 60 * MiB / 16);
}

TEST_CASE("pieces are all of a job, each byte once, and none is empty from 128 B a chunk on") {
  for (const std::uint64_t total :
       {std::uint64_t{128}, std::uint64_t{64 * 128}, std::uint64_t{64 * 128 + 4}, 512 * MiB + 12})
    for (const std::uint32_t n : {1u, 3u, 7u, 64u}) {
      if (total / n < 128) continue;
      std::uint64_t next = 0;
      for (std::uint32_t c = 0; c < n; ++c) {
        const Piece piece = piece_of(total, n, c);
        CHECK(piece.first == next);
        CHECK(piece.bytes > 0);
        next += piece.bytes;
      }
      CHECK(next == total);
    }
}

TEST_CASE("orders of issue: two chunks, one stream each") {
  const JobShape job{.bytes_in = 256, .bytes_out = 256, .kernel_bytes = 256, .chunks = 2, .streams = 2};
  using enum Stage;
  CHECK(issues_of(Order::breadth_first, job) ==
        std::vector<Issue>{{h2d, 0, 0}, {h2d, 1, 1}, {kernel, 0, 0}, {kernel, 1, 1}, {d2h, 0, 0}, {d2h, 1, 1}});
  CHECK(issues_of(Order::depth_first, job) ==
        std::vector<Issue>{{h2d, 0, 0}, {kernel, 0, 0}, {d2h, 0, 0}, {h2d, 1, 1}, {kernel, 1, 1}, {d2h, 1, 1}});
  CHECK(issues_of(Order::independent, job) ==
        std::vector<Issue>{{h2d, 0, 0}, {kernel, 0, 2}, {d2h, 0, 4}, {h2d, 1, 1}, {kernel, 1, 3}, {d2h, 1, 5}});
  CHECK(streams_of(Order::breadth_first, job) == 2);
  CHECK(streams_of(Order::independent, job) == 6);
}

TEST_CASE("stages that a job does not have are not issued, and chunks go round the streams") {
  const JobShape job{.bytes_out = 3 * 128, .chunks = 3, .streams = 2};
  using enum Stage;
  CHECK(issues_of(Order::depth_first, job) == std::vector<Issue>{{d2h, 0, 0}, {d2h, 1, 1}, {d2h, 2, 0}});
}

TEST_CASE("places on the device: one region a chunk, as long as its longest part") {
  // In 2 lines a chunk, out 1, kernel 3.
  const JobShape job{.bytes_in = 512, .bytes_out = 256, .kernel_bytes = 768, .chunks = 2};
  const JobLayout one = layout_of(Order::breadth_first, job);
  CHECK(one.device_bytes == 768);
  CHECK(one.chunks[0].in_at == 0);
  CHECK(one.chunks[1].in_at == 384);
  CHECK(one.chunks[1].out_at == 384);
  CHECK(one.chunks[1].out.first == 128);
  const JobLayout apart = layout_of(Order::independent, job);
  CHECK(apart.device_bytes == 512 + 768 + 256);
  CHECK(apart.chunks[1].in_at == 256);
  CHECK(apart.chunks[1].work_at == 512 + 384);
  CHECK(apart.chunks[1].out_at == 512 + 768 + 128);
}

TEST_CASE("regions never overlap, whatever the shares") {
  // 18 lines in, 20 out, in 5 chunks: 3 4 3 4 4 and 4 each; rounding lets either be the longer one.
  const JobShape job{.bytes_in = 18 * 128, .bytes_out = 20 * 128 + 4, .chunks = 5};
  const JobLayout layout = layout_of(Order::depth_first, job);
  std::uint64_t end = 0;
  for (const ChunkPlaces& p : layout.chunks) {
    CHECK(p.in_at == end);
    CHECK(p.in_at % 128 == 0);
    end = p.in_at + (std::max(p.in.bytes, p.out.bytes) + 127) / 128 * 128;
  }
  CHECK(layout.device_bytes == end);
}

TEST_CASE("what a run must leave: where each of its parts lies, and what has been there") {
  struct Memory : LaidOutJob {
    using LaidOutJob::LaidOutJob, LaidOutJob::take, LaidOutJob::next_run, LaidOutJob::left, LaidOutJob::wrong_text;
  } memory({.in = 512, .out = 256, .device = 1536});
  const JobShape job{.bytes_in = 512, .bytes_out = 256, .kernel_bytes = 768, .iterations = 2, .chunks = 2};
  memory.take({{.order = Order::independent}, job});
  const auto apart = memory.left();
  REQUIRE(apart.size() == 8);
  // The second chunk's: 2 lines of input, 3 of the kernel's, and a line out that nothing was written to but the copy.
  CHECK((apart[4].at == 256 && apart[4].bytes == 256 && apart[4].in && !apart[4].work));
  CHECK((apart[5].at == 512 + 384 && apart[5].bytes == 384 && !apart[5].in && apart[5].work));
  CHECK((apart[6].at == 512 + 768 + 128 && !apart[6].on_host && !apart[6].in && !apart[6].work));
  CHECK((apart[7].at == 128 && apart[7].on_host && apart[7].device_first == apart[6].at));
  CHECK(memory.wrong_text(apart[7], 3) == "output of chunk 1 of 2 on the host: word 3 is not what the job leaves");
  memory.take({{.order = Order::depth_first}, job});
  const auto one = memory.left();
  REQUIRE(one.size() == 4);
  CHECK((one[2].at == 384 && one[2].bytes == 384 && one[2].in && one[2].work && !one[2].on_host));
  CHECK((one[3].at == 128 && one[3].bytes == 128 && one[3].device_first == 384 && one[3].in && one[3].work));
  const RunWords first = memory.next_run(), second = memory.next_run();
  CHECK(first.factor == 3);
  CHECK(second.factor == 5);
  CHECK(second.start - first.start == 2 * 192);  // two iterations of 192 words
  CHECK_THROWS_AS(memory.take({{}, {.bytes_in = 1024}}), Error);
  CHECK_THROWS_AS(memory.take({{.workload = Workload::memory}, job}), Error);  // there is no scratch
}

TEST_CASE("what cannot be is refused, in words") {
  const JobCase copies{.device = "cuda:0", .workload = Workload::none}, kernel{.device = "cuda:0"};
  const auto said = [](const JobCase& c, const JobShape& job, const std::string& word) {
    const auto why = refuses({c, job});
    REQUIRE(why);
    CAPTURE(*why);
    CHECK(why->find(word) != std::string::npos);
  };
  CHECK_FALSE(refuses({copies, {.bytes_in = 4}}));
  CHECK_FALSE(
      refuses({kernel, {.kernel_bytes = 128 * 64, .iterations = 1, .chunks = 64, .streams = 64, .threads = 32}}));
  said(copies, {}, "nothing to copy");
  said(copies, {.bytes_in = 6}, "4-byte words");
  said(copies, {.bytes_in = 127 * 4, .chunks = 4}, "at least 128 bytes");
  said(copies, {.bytes_in = 4, .kernel_bytes = 4}, "workload is none");
  said(kernel, {.bytes_in = 4}, "without bytes");
  said(copies, {.bytes_in = 4, .chunks = 0}, "0 chunks");
  said(copies, {.bytes_in = 4, .streams = 0}, "0 streams");
  said(kernel, {.kernel_bytes = 4, .threads = 1025}, "1025 threads");
  said(kernel, {.kernel_bytes = 4, .iterations = 1'000'001}, "iterations");
  said(copies, {.bytes_in = (std::uint64_t{1} << 33) + 4}, "at most");
  said(copies, {.bytes_in = 4, .kernel_ratio = 1}, "workload is none");
  said({.device = "cuda:0", .workload = Workload::none, .pool = StreamPool::fresh, .gating = Gating::gated},
       {.bytes_in = 4}, "streams are pooled");
}

TEST_CASE("one stream free takes two streams or more, a chunk each, pooled") {
  JobCase c{.device = "cuda:0", .workload = Workload::none, .gating = Gating::last_stream_free};
  const auto why = [&](const JobShape& job) { return refuses({c, job}).value_or(""); };
  const JobShape two{.bytes_in = 256, .chunks = 2, .streams = 2};
  CHECK(why(two) == "");
  CHECK(why({.bytes_in = 256}).find("1 stream:") == 0);
  CHECK(why({.bytes_in = 512, .chunks = 4, .streams = 2}).find("4 chunks in 2 streams") == 0);
  CHECK(why({.bytes_in = 256, .chunks = 2, .streams = 3}).find("2 chunks in 3 streams") == 0);
  c.pool = StreamPool::fresh;
  CHECK(why(two).find("pooled") != std::string::npos);
  c.pool = StreamPool::pooled;
  c.order = Order::depth_first;
  CHECK(why(two) == "");
  c.order = Order::independent;
  CHECK(why(two).find("its own stream") != std::string::npos);
}

TEST_CASE("a title says all that is not the shape's") {
  CHECK(title(JobCase{.device = "cuda:0"}) == "jobs cuda:0 increment breadth-first pooled");
  CHECK(title(JobCase{"cuda:1", Workload::none, Order::independent, StreamPool::fresh, Gating::gated}) ==
        "jobs cuda:1 none independent fresh gated");
  CHECK(title(JobCase{.device = "cuda:0", .issue = Issuing::graph}) ==
        "jobs cuda:0 increment breadth-first pooled graph");
  CHECK(title(JobCase{.device = "cuda:0", .gating = Gating::last_stream_free}) ==
        "jobs cuda:0 increment breadth-first pooled last-stream-free");
}

TEST_CASE("a graph is made before the clock starts and needs no gate") {
  const JobShape job{.bytes_in = 4096, .kernel_bytes = 4096, .iterations = 1};
  JobCase c{.device = "cuda:0", .issue = Issuing::graph};
  CHECK_FALSE(refuses({c, job}));
  c.gating = Gating::gated;
  CHECK(refuses({c, job}).value_or("").find("needs no gate") != std::string::npos);
  c.gating = Gating::open;
  c.pool = StreamPool::fresh;
  CHECK(refuses({c, job}).value_or("").find("pooled") != std::string::npos);
}

}  // namespace job_test
