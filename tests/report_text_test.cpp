#include <doctest/doctest.h>

#include <sstream>

#include "npgpu/model/figures.hpp"
#include "npgpu/report/report.hpp"
#include "tests/made_sweep.hpp"

namespace report_text_test {

using namespace npgpu;

namespace {

Trace trace_of(TransferSeries sweep) {
  Trace trace;
  trace.root.hostname = "node17";
  trace.root.start_time_utc = "2026-11-21T06:19:25Z";
  trace.root.tool_version = "0.1.0";
  trace.root.git_commit = "abc";
  trace.root.argv = "npgpu transfer";
  trace.root.complete = true;
  trace.of<Transfers>() = {std::move(sweep)};
  return trace;
}

// Wide, so that no sentence is broken where a test looks for it.
TextStyle wide() {
  TextStyle style;
  style.width = 200;
  return style;
}

std::string text(const Trace& trace, const TextStyle& style = wide()) {
  std::ostringstream out;
  report_text(out, TraceResults(trace), style);
  return out.str();
}

std::string overview(const Trace& trace, const TextStyle& style = wide()) {
  std::ostringstream out;
  report_overview(out, TraceResults(trace), overview_of(trace), style);
  return out.str();
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// The line that begins with `size`, less what stands in front.
std::string row(const std::string& text, const std::string& size) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin != std::string::npos && line.compare(begin, size.size(), size) == 0) return line.substr(begin);
  }
  return "no row " + size;
}

std::size_t widest(const std::string& text) {
  std::istringstream in(text);
  std::size_t most = 0;
  for (std::string line; std::getline(in, line);) most = std::max(most, line.size());
  return most;
}

// 5 us + 1 ns a byte over the octaves 1 .. 2^last, seven equal trials each.
TransferSeries line_sweep(int last = 20) {
  TransferSeries sweep = sweep_of();
  for (int k = 0; k <= last; ++k) {
    const auto bytes = std::uint64_t{1} << k;
    add_point(sweep, bytes, std::vector<double>(7, 5 + static_cast<double>(bytes) / 1000));
  }
  return sweep;
}

}  // namespace

TEST_CASE("a page begins with where it was taken") {
  Trace trace = trace_of(line_sweep());
  trace.provenance = {
      {"build", {{"compiler", std::string("GNU")}}},
      {"host",
       {{"cpu_model", std::string("CPU")},
        {"sockets", std::int64_t{1}},
        {"cores", std::int64_t{4}},
        {"in_virtual_machine", std::int64_t{1}}}},
      {"gpu0", {{"id", std::string("cuda:0")}, {"name", std::string("H200")}, {"driver_version", std::string("580")}}},
      {"plan", {{"left_out_1", std::string("no peer")}}},
      {"resume_1", {{"hostname", std::string("node18")}, {"tool_version", std::string("0.2.0")}}},
      {"resume_1/host", {{"cpu_model", std::string("CPU2")}}}};
  const std::string out = text(trace);
  CHECK(
      out.starts_with("Measured on node17\n  run       2026-11-21T06:19:25Z, npgpu 0.1.0 (abc)\n"
                      "  command   npgpu transfer\n  state     complete; transfers: 1 series, 21 points\n"
                      "  host      CPU, 1 socket, 4 cores, in a virtual machine\n  gpu0      H200, cuda:0, driver 580\n"
                      "  left out  no peer\n"
                      "  resumed   on node18, npgpu 0.2.0\n\n"));
  trace.root.complete = false;
  CHECK(has(text(trace), "INCOMPLETE: the run did not reach its end; transfers: 1 series"));
}

TEST_CASE("a row by hand: median, percent, interval from the median, minimum, trials") {
  TransferSeries sweep = sweep_of();
  sweep.limit = {1e9, "by hand"};
  // 4096 bytes in 8 us: 512 MB/s, 51.2 %. Of seven, the interval ends 11/15 of the way from 6 and from 12 to 8: at
  // 7.467 and 9.067, -6.7 % +13.3 %, which is unsteady.
  add_point(sweep, 4096, {8, 6, 8, 8, 12, 8, 8});
  const std::string out = text(trace_of(sweep));
  CHECK(has(out, "   size    GB/s  % of limit  time us  95 % interval  min us  trials\n"));
  CHECK(row(out, "4 KiB") == "4 KiB  0.5120        51.2    8.000   -6.7 +13.3 %   6.000       7  *");
  CHECK(has(out, "\n  limit     1.000 GB/s: by hand\n"));
  // NetPIPE's minimum: 4096 bytes in 6 us.
  CHECK(has(out, "best      512.0 MB/s at 4 KiB, 51.2 % of the limit; fastest trial (NetPIPE's figure) 682.7"));
}

TEST_CASE("the curve in words: every number of a line known beforehand") {
  TransferSeries sweep = line_sweep();
  const std::string out = text(trace_of(sweep));
  CHECK(has(out, "  latency   5.102 us, mean of the 10 smallest sizes, 1 B to 512 B (NetPIPE's latency)\n"));
  CHECK(has(out, "  N1/2      4.8"));
  CHECK(has(out, "KiB, where the rate first reaches half of the best\n"));
  CHECK(has(out, "  knee      about "));
  CHECK(has(out,
            "  fit       time = 5.000 us (5.000 .. 5.000) + bytes / 1.000 GB/s (1.000 .. 1.000 GB/s), off by at most "
            "0.00 %\n"));
}

TEST_CASE("a curve that no line describes says so; what is missing says why") {
  TransferSeries sweep = sweep_of();
  for (const std::uint64_t bytes : {64 * KiB, 128 * KiB, 256 * KiB, 512 * KiB, 1024 * KiB})
    add_point(sweep, bytes, {static_cast<double>(bytes) / (bytes > 128 * KiB ? 500 : 1000)});
  const std::string out = text(trace_of(sweep));
  CHECK(has(out, "one line does not describe this curve"));
  CHECK(has(out, "no latency: the fitted line meets zero bytes at -"));
  CHECK(has(out, "  latency   none: at 1048576 bytes most of the time is transfer\n"));
  CHECK(has(out, "  N1/2      none: the smallest size already reaches half of the best rate\n"));
  CHECK(has(out, "  knee      none: the rate does not rise with the size\n"));
}

TEST_CASE("a best rate that larger sizes do not keep is shown with theirs") {
  TransferSeries sweep = sweep_of();
  add_point(sweep, 1024, {1});
  add_point(sweep, 2048, {2.2});
  CHECK_FALSE(has(text(trace_of(sweep)), "largest size"));  // 931 of 1024 MB/s is nearly it
  add_point(sweep, 4096, {8});
  CHECK(has(text(trace_of(sweep)), "best      1.024 GB/s at 1 KiB; at the largest size, 4 KiB, 512.0 MB/s; fastest"));
}

TEST_CASE("times that do not grow leave the fit without a rate, and say why") {
  TransferSeries sweep = sweep_of();
  for (const std::uint64_t bytes : {1, 2, 4, 8}) add_point(sweep, bytes, {5});
  CHECK(has(text(trace_of(sweep)),
            "  fit       time = 5.000 us (5.000 .. 5.000), off by at most 0.00 %; no rate: the time "
            "does not grow with the size\n"));
}

TEST_CASE("one point and two points keep quiet about what they cannot know") {
  TransferSeries sweep = sweep_of();
  add_point(sweep, 1024, {1});
  std::string out = text(trace_of(sweep));
  CHECK(row(out, "1 KiB") == "1 KiB  1.024    1.000              -   1.000       1");
  CHECK(has(out, "  latency   none: one size was measured: latency and rate need two\n"));
  CHECK(has(out, "  fit       none: one size was measured: latency and rate need two\n"));
  add_point(sweep, 2048, {1.5});
  out = text(trace_of(sweep));
  CHECK(has(out, "exactly through two sizes"));
  CHECK_FALSE(has(out, "nan"));
}

TEST_CASE("points that are unsteady are marked and explained") {
  TransferSeries sweep = line_sweep(3);
  sweep.visits[1].stop = Stop::not_converged;  // says how it was measured; its times are equal
  CHECK_FALSE(has(text(trace_of(sweep)), "unsteady"));
  // 1 .. 1.6 times as long: from 1.0733 to 1.5267 about 1.3, +-17.4 %.
  for (std::size_t i = 0; i < 7; ++i) sweep.samples[7 + i].host_us *= 1 + 0.1 * static_cast<double>(i);
  const std::string out = text(trace_of(sweep));
  CHECK(row(out, "2 B").ends_with("  *"));
  CHECK_FALSE(row(out, "1 B").ends_with("*"));
  CHECK(has(out, "* 1 of 4 sizes unsteady: an interval wider than +-5 %\n"));
  sweep.unsteady_above = 0.18;  // where the class scatters as much
  CHECK_FALSE(has(text(trace_of(sweep)), "unsteady"));
  CHECK_FALSE(row(text(trace_of(sweep)), "2 B").ends_with("*"));
}

TEST_CASE("what has no rate is marked with its reason, and a wrong payload is no rate") {
  TransferSeries sweep = line_sweep(3);
  sweep.samples.back().intact = 0;
  add_point(sweep, 16, {NAN});
  add_point(sweep, 32, {0});
  const std::string out = text(trace_of(sweep));
  CHECK(row(out, "8 B").ends_with("-   -           0  !"));
  CHECK(has(out, "! void: the payload arrived wrong (8 B)\n"));
  CHECK(has(out, "! no usable trial (16 B)\n"));
  CHECK(has(out, "! none: the clock is too coarse for these times (32 B)\n"));
}

TEST_CASE("points at which the device held its clocks back are marked, and idle clocks are nothing") {
  TransferSeries sweep = line_sweep(3);
  sweep.visits[0].telemetry.throttle_reasons = 1;  // idle
  sweep.visits[1].telemetry.throttle_reasons = 4 | 0x20;
  sweep.visits[1].telemetry.power_w = 700;
  sweep.visits[2].telemetry.power_w = 120;
  const std::string out = text(trace_of(sweep));
  CHECK(row(out, "2 B").ends_with("  d"));
  CHECK(row(out, "1 B").ends_with("7"));
  CHECK(has(out, "d 1 of 4 sizes were disturbed: the device held its clocks back\n"));
  CHECK(has(out, "  clocks    120 .. 700 W, held back: power cap, held back: temperature (software)\n"));
}

TEST_CASE("a disturbed visit goes unmentioned; a point that rests on such is marked, with the causes and by whom") {
  TransferSeries sweep = sweep_of();
  for (const double us : {10.0, 30.0, 10.02}) add_point(sweep, 1024, std::vector<double>(7, us));
  disturb(sweep.visits[1], Cause::host_busy, "python3 (4711)");
  std::string out = text(trace_of(sweep));
  CHECK(has(out, "transfers: 1 series, 1 point\n"));
  CHECK(has(row(out, "1 KiB"), " 10.01 "));
  CHECK(row(out, "1 KiB").ends_with(" 14"));
  CHECK_FALSE(has(out, "disturbed"));
  for (const std::size_t i : {0U, 2U}) disturb(sweep.visits[i], Cause::device_busy, "cc1plus (12)");
  out = text(trace_of(sweep));
  CHECK(has(row(out, "1 KiB"), " 10.02 "));
  CHECK(row(out, "1 KiB").ends_with(" 21  *d"));  // with the 30 us it is unsteady, too
  CHECK(has(out,
            "d 1 of 1 sizes were disturbed: others used the host's processors, another process used the device; most "
            "of all by cc1plus (12), python3 (4711)\n"));
}

TEST_CASE("perturbed neighbours are folded into their centres, and said to be") {
  TransferSeries sweep = sweep_of();
  for (const std::uint64_t bytes : {1021, 1024, 1027, 1533, 1536, 1539})
    add_point(sweep, bytes, {bytes == 1027 ? 5.5 : bytes == 1021 ? 4.9 : 5.0});
  const std::string out = text(trace_of(sweep));
  CHECK(row(out, "1 KiB").ends_with("-2.0 +10.0 %"));  // 4.9 and 5.5 us against 5
  CHECK(row(out, "1021 B").starts_with("no row"));
  CHECK(has(out, "+-3 B: times of the 4 sizes 3 bytes below and above those shown"));
  CHECK(has(out, "slowest around 1 KiB"));
  TextStyle style = wide();
  style.every_size = true;
  const std::string all = text(trace_of(sweep), style);
  CHECK(row(all, "1021 B").starts_with("1021 B  0.2084"));
  CHECK_FALSE(has(all, "+-3 B"));
}

TEST_CASE("a duplex shows each direction and both side by side, and both's time") {
  TransferSeries sweep = sweep_of(Pattern::duplex);
  sweep.limit = {2e9, "by hand"};
  add_duplex(sweep, 1000, {1, 1, 1}, {2, 2, 2});
  std::string out = text(trace_of(sweep));
  CHECK(has(out, "h2d GB/s  d2h GB/s  both GB/s  % of limit  time us"));
  // 1000 bytes in 1 us, in 2 us, 2000 in 2 us of 4 GB/s both ways.
  CHECK(row(out, "1000 B").starts_with("1000 B     1.000    0.5000      1.000        25.0    2.000"));
  CHECK(has(out, "  limit     2.000 GB/s each way: by hand\n"));
  CHECK(has(out, "  d2h       best 500.0 MB/s at 1000 B, with the other lanes running\n"));
  sweep.question.direction = Direction::d2d;
  CHECK(has(text(trace_of(sweep)), "d2d GB/s  d2d back GB/s"));
}

TEST_CASE("what could not be measured is said plainly") {
  TransferSeries sweep = sweep_of();
  sweep.error = "no memory";
  CHECK(has(text(trace_of(sweep)), "  NOT RUN   no memory\n"));
  add_point(sweep, 1024, {1});
  CHECK(has(text(trace_of(sweep)), "  STOPPED   no memory\n"));
  CHECK(has(text(trace_of(sweep_of())), "none were measured"));
  TransferSeries timeless = sweep_of();
  add_point(timeless, 1024, {NAN});
  CHECK(has(text(trace_of(timeless)), "  curve     none: no point has a rate\n"));
}

TEST_CASE("an unknown limit gives its reason and no percentages; above one, a warning") {
  TransferSeries sweep = line_sweep(3);
  sweep.limit.source = "unknown: no link";
  std::string out = text(trace_of(sweep));
  CHECK(has(out, "  limit     unknown: no link\n"));
  CHECK_FALSE(has(out, "% of limit"));
  sweep.limit = {1, "tiny"};
  CHECK(has(text(trace_of(sweep)), "above 100 %"));
}

TEST_CASE("a simulated device is SIMULATED in the title of page and series") {
  TransferSeries sweep = line_sweep(3);
  sweep.simulated = true;
  Trace trace = trace_of(sweep);
  std::string out = text(trace);
  CHECK(out.starts_with("SIMULATED: no measurement of hardware\n"));
  CHECK(has(out, "\nSIMULATED cudaMemcpy cuda:0 h2d"));
  trace.of<Transfers>().push_back(line_sweep(3));
  out = text(trace);
  CHECK(out.starts_with("Measured on node17\n"));
  CHECK(has(out, "some of it is SIMULATED"));
}

TEST_CASE("no line is wider than the terminal, and no column is lost for that") {
  TransferSeries sweep = line_sweep();
  sweep.limit = {63e9, "PCIe Gen5 x16: 32 GT/s * 16 lanes * 128/130"};
  sweep.schedule = "adaptive tolerance 0.01 level 0.95 trial 0.002 s least 8 budget 0.15 s";
  add_point(sweep, (1 << 20) - 3, {1100});
  add_point(sweep, (1 << 19) - 3, {550});
  for (const int width : {60, 80, 100, 200}) {
    TextStyle style;
    style.width = width;
    const std::string out = text(trace_of(sweep), style);
    CHECK(widest(out) <= static_cast<std::size_t>(width));
    CHECK(has(out, "% of limit"));
  }
}

TEST_CASE("a report of a selection says of how many series it is") {
  TextStyle style = wide();
  style.series_in_trace = 19;
  CHECK(has(text(trace_of(line_sweep(3)), style), "complete; shown are 1 of 19 series; transfers: 1 series, 4 points"));
  style.series_in_trace = 1;
  CHECK_FALSE(has(text(trace_of(line_sweep(3)), style), "shown are"));
}

TEST_CASE("escape sequences in a trace do not reach the terminal") {
  TransferSeries sweep = line_sweep(3);
  sweep.device_name = sweep.binding = sweep.error = sweep.limit.source = "evil \x1b]0;title\x07";
  Trace trace = trace_of(sweep);
  trace.root.hostname = trace.root.argv = sweep.device_name;
  trace.provenance = {{"host", {{"cpu_model", sweep.device_name}}}};
  for (const std::string& out : {text(trace), overview(trace)}) {
    CHECK_FALSE(has(out, "\x1b"));
    CHECK_FALSE(has(out, "\x07"));
    CHECK(has(out, "evil \\x1b]0;title\\x07"));
  }
}

TEST_CASE("the smallest sizes of queued copies show a gap, those of blocking ones a latency") {
  TransferSeries sweep = line_sweep();
  sweep.question.async = true;
  CHECK(has(text(trace_of(sweep)), "  gap       5.102 us, mean of the 10 smallest sizes"));
  CHECK_FALSE(has(text(trace_of(sweep)), "  latency "));
  sweep.question.pattern = Pattern::pingpong;
  CHECK(has(text(trace_of(sweep)), "  latency "));
}

TEST_CASE("a knee behind which the rate falls says so") {
  TransferSeries sweep = line_sweep(16);
  add_point(sweep, 1 << 18, {600});
  CHECK(has(text(trace_of(sweep)), "and beyond 64 KiB the rate falls by"));
}

TEST_CASE("trials that a gate voided are counted") {
  TransferSeries sweep = line_sweep(3);
  sweep.visits[1].void_trials = 2;
  CHECK(has(text(trace_of(sweep)), "2 trials left out: their gate timed out"));
}

TEST_CASE("a duplex keeps to the width too: its single lanes give way last") {
  TransferSeries sweep = sweep_of(Pattern::duplex);
  sweep.question.direction = Direction::h2h;
  add_duplex(sweep, 1, {3.018e-3}, {3.018e-3});
  add_duplex(sweep, 201326592, {34628}, {34629});
  for (const int width : {60, 80, 100}) {
    TextStyle style;
    style.width = width;
    const std::string out = text(trace_of(sweep), style);
    CHECK(widest(out) <= static_cast<std::size_t>(width));
    CHECK(has(out, "both GB/s"));
    CHECK(has(out, "h2h back GB/s"));
  }
}

TEST_CASE("colours only where asked for") {
  Trace trace = trace_of(line_sweep(3));
  CHECK_FALSE(has(text(trace), "\x1b"));
  CHECK_FALSE(has(overview(trace), "\x1b"));
  TextStyle style = wide();
  style.color = true;
  CHECK(has(text(trace, style), "\x1b[1m"));
}

}  // namespace report_text_test
