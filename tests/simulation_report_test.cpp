// Simulations as text and as a timeline of a browser, and how texts are laid out.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "made_simulation.hpp"
#include "netpipe/report/document.hpp"
#include "netpipe/report/layout.hpp"

namespace simulation_report_test {

using namespace npgpu;
using Json = nlohmann::json;

// The drawing and the JSON of a simulation, with chunks of 10, 20 and 10 ms.

namespace {

Simulation simulation(std::uint32_t n) { return simulation_of(made(ms(10, 20, 10), n), n); }

std::string text_of(const Simulation& s) {
  std::ostringstream out;
  // 60 columns for 60 ms.
  simulation_text(out, s, {.color = false, .width = 72});
  return out.str();
}

// Without its label.
std::string row(const std::string& text, const std::string& label) {
  const auto at = text.find("\n  " + label);
  REQUIRE(at != std::string::npos);
  return text.substr(at + 13, text.find('\n', at + 1) - at - 13);
}

}  // namespace

TEST_CASE("a column a millisecond") {
  const std::string text = text_of(simulation(2));
  CAPTURE(text);
  const auto times = [](int n, char c) { return std::string(static_cast<std::size_t>(n), c); };
  CHECK(row(text, "copy-in ") == times(10, '0') + times(10, '1') + times(40, '.'));
  CHECK(row(text, "compute ") == times(10, '.') + times(20, '0') + times(20, '1') + times(10, '.'));
  CHECK(row(text, "copy-out ") == times(30, '.') + times(10, '0') + times(10, '.') + times(10, '1'));
  CHECK(row(text, "host ") == times(60, '.'));  // its calls take no time
  CHECK(text.find("SIMULATED 2 chunks in 2 streams") == 0);
  CHECK(text.find("\n  node      sim:made\n") != std::string::npos);
  CHECK(text.find("60.00 ms") != std::string::npos);
  CHECK(text.find("bottleneck kernel, 67 % busy") != std::string::npos);
}

TEST_CASE("the bottleneck is that of the drawn run, not of the best") {
  MadeJob job = made(ms(10, 20, 10), 2);
  job.costs.copy_h2d = job.costs.copy_d2h = Curve::line(Seconds{0}, Seconds{10e-6});
  Simulation s = simulation_of(job, 2);
  CHECK(text_of(s).find("bottleneck kernel, 67 % busy") != std::string::npos);
  s.streams = 1;
  s.timeline = simulate(s.job, 1, s.costs, s.order);  // 20, 40 and 20 ms, one after the other
  CHECK(text_of(s).find("bottleneck kernel, 50 % busy") != std::string::npos);
}

TEST_CASE("less than half of a column is marked as such") {
  Simulation s = simulation(2);
  s.timeline.entries = {{Stage::kernel, 0, 0, Server::compute, Seconds{0.0101}, Seconds{0.0104}}};
  CHECK(row(text_of(s), "compute ").substr(9, 3) == ".:.");
}

TEST_CASE("JSON") {
  std::ostringstream out;
  simulation_json(out, simulation(2));
  const Json json = Json::parse(out.str());
  CHECK(json["document"] == "npgpu-simulation");
  CHECK(json["total_us"].get<double>() == doctest::Approx(60000));
  CHECK(json["busy_us"]["compute"].get<double>() == doctest::Approx(40000));
  CHECK(json["best"]["bound"] == "compute");
  CHECK(json["candidates"].size() == 2);
  CHECK(json["timeline"].size() == 12);
  CHECK(json["timeline"].back()["server"] == "compute");
  CHECK(json["timeline"].back()["end_us"].get<double>() == doctest::Approx(50000));
}

// simulate --chrome, as the Trace Event Format has it: an object with traceEvents, in which metadata events (M) name
// processes and threads and complete events (X) have ts and dur in microseconds. Perfetto wants the complete events of
// a thread to be nested or apart, and drops others.

namespace {

struct Event {
  std::string name, stage;
  double start = 0, end = 0;  // us
  int chunk = 0;
};

// What an importer makes of the file: threads by their processes' and their own names, with their events.
struct Imported {
  Json document;
  std::map<std::pair<std::string, std::string>, std::vector<Event>> threads;
};

Imported imported(const Simulation& s) {
  std::ostringstream out;
  simulation_chrome(out, s);
  Imported in{Json::parse(out.str()), {}};
  std::map<int, std::string> processes;
  std::map<std::pair<int, int>, std::string> threads;
  for (const Json& e : in.document.at("traceEvents")) {
    if (e.at("ph") != "M") continue;
    const int process = e.at("pid"), thread = e.at("tid");
    if (e.at("name") == "process_name") {
      CHECK(processes.emplace(process, e.at("args").at("name")).second);
    } else if (e.at("name") == "thread_name") {
      CHECK(threads.emplace(std::pair{process, thread}, e.at("args").at("name")).second);
    } else {
      CHECK(e.at("name") == "thread_sort_index");
      CHECK(e.at("args").at("sort_index").is_number_integer());
    }
  }
  for (const Json& e : in.document.at("traceEvents")) {
    if (e.at("ph") == "M") continue;
    REQUIRE(e.at("ph") == "X");
    CHECK(e.at("ts").is_number());
    CHECK(e.at("ts").get<double>() >= 0);
    CHECK(e.at("dur").get<double>() >= 0);
    const int process = e.at("pid"), thread = e.at("tid");
    Event event{e.at("name"), e.at("cat"), e.at("ts"), 0, e.at("args").at("chunk")};
    event.end = event.start + e.at("dur").get<double>();
    in.threads[{processes.at(process), threads.at({process, thread})}].push_back(std::move(event));
  }
  return in;
}

// Sorted by their start, none begins before the last has ended; half a nanosecond is rounding.
void check_apart(Imported& in) {
  for (auto& [thread, events] : in.threads) {
    CAPTURE(thread.second);
    std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.start < b.start; });
    for (std::size_t i = 1; i < events.size(); ++i) CHECK(events[i].start >= events[i - 1].end - 0.5e-3);
  }
}

// What the streams' process shows of a chunk, in the order of time.
std::map<int, std::vector<Event>> by_chunk(const Imported& in) {
  std::map<int, std::vector<Event>> chunks;
  for (const auto& [thread, events] : in.threads)
    if (thread.first == "streams")
      for (const Event& e : events) chunks[e.chunk].push_back(e);
  for (auto& [chunk, events] : chunks)
    std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.start < b.start; });
  return chunks;
}

// The time with at least one event on any lane of a server.
double busy(const Imported& in, const std::string& server) {
  std::vector<Event> all;
  for (const auto& [thread, events] : in.threads)
    if (thread.first != "streams" && thread.second.rfind(server, 0) == 0)
      all.insert(all.end(), events.begin(), events.end());
  std::sort(all.begin(), all.end(), [](const Event& a, const Event& b) { return a.start < b.start; });
  double sum = 0, until = 0;
  for (const Event& e : all) {
    sum += std::max(0.0, e.end - std::max(e.start, until));
    until = std::max(until, e.end);
  }
  return sum;
}

// 3 chunks of 10, 20 and 10 ms; a call takes 1 ms.
MadeJob calls() {
  MadeJob m = made(ms(10, 20, 10), 3);
  m.costs.issue = ms(1, 1, 1);
  return m;
}

}  // namespace

TEST_CASE("the document: processes and threads by name, and every operation where it ran") {
  Imported in = imported(simulation_of(calls(), 3));
  CHECK(in.document.at("displayTimeUnit") == "ns");
  std::set<std::string> servers, streams;
  for (const auto& [thread, events] : in.threads) (thread.first == "streams" ? streams : servers).insert(thread.second);
  CHECK(in.threads.count({"SIMULATED sim:made", "compute"}) == 1);
  CHECK(servers == std::set<std::string>{"host", "copy-in", "compute", "copy-out"});
  CHECK(streams == std::set<std::string>{"stream 0", "stream 1", "stream 2"});
  CHECK(in.threads.at({"SIMULATED sim:made", "host"}).size() == 9);
  CHECK(in.threads.at({"SIMULATED sim:made", "copy-in"}).size() == 3);
  // The first call takes 1 ms; then its copy runs until 11 ms, and its kernel may begin: all are issued by then.
  const auto& kernels = in.threads.at({"SIMULATED sim:made", "compute"});
  REQUIRE(kernels.size() == 3);
  CHECK(kernels[0].name == "kernel 0");
  CHECK(kernels[0].start == doctest::Approx(11'000));
  CHECK(kernels[2].end == doctest::Approx(71'000));
  CHECK(in.threads.at({"SIMULATED sim:made", "host"})[0].name == "issue h2d 0");
}

TEST_CASE("events of one engine never overlap, and a chunk's stages follow each other") {
  for (const Order order : {Order::breadth_first, Order::depth_first}) {
    CAPTURE(name(order));
    Imported in = imported(simulation_of(calls(), 3, order));
    check_apart(in);
    const auto chunks = by_chunk(in);
    CHECK(chunks.size() == 3);
    for (const auto& [chunk, events] : chunks) {
      REQUIRE(events.size() == 3);
      CHECK(events[0].stage == "h2d");
      CHECK(events[1].stage == "kernel");
      CHECK(events[2].stage == "d2h");
      CHECK(events[1].start >= events[0].end);
      CHECK(events[2].start >= events[1].end);
    }
  }
}

TEST_CASE("kernels that run together get lanes") {
  MadeJob m = made(ms(10, 20, 10), 4);
  // Each kernel takes half of the device for twice as long.
  m.job.kernel_of_fraction = Curve({{0.25, Seconds{0.04}}, {1, Seconds{0.08}}});
  Imported in = imported(simulation_of(m, 4));
  CHECK(in.threads.count({"SIMULATED sim:made", "compute"}) == 1);
  CHECK(in.threads.count({"SIMULATED sim:made", "compute 2"}) == 1);
  CHECK(in.threads.count({"SIMULATED sim:made", "compute 3"}) == 0);
  check_apart(in);
}

TEST_CASE("independent stages of a chunk run at the same time, each in a stream of its own") {
  Imported in = imported(simulation_of(calls(), 3, Order::independent));
  check_apart(in);
  CHECK(in.threads.count({"streams", "stream 0 h2d"}) == 1);
  CHECK(in.threads.count({"streams", "stream 2 d2h"}) == 1);
  CHECK(in.threads.count({"streams", "stream 0"}) == 0);
  // Nothing waits for another's stage: the first copy out begins once it is issued, not after its kernel.
  const auto chunk = by_chunk(in).at(0);
  REQUIRE(chunk.size() == 3);
  CHECK(chunk[2].start < chunk[0].end + 1);
}

TEST_CASE("sums agree with those of the JSON") {
  for (const Order order : {Order::breadth_first, Order::depth_first, Order::independent}) {
    const Simulation s = simulation_of(calls(), 3, order);
    const Imported in = imported(s);
    std::ostringstream out;
    simulation_json(out, s);
    const Json json = Json::parse(out.str());
    CHECK(busy(in, "host") == doctest::Approx(json["busy_us"]["host"].get<double>()));
    CHECK(busy(in, "copy-in") == doctest::Approx(json["busy_us"]["copy_in"].get<double>()));
    CHECK(busy(in, "copy-out") == doctest::Approx(json["busy_us"]["copy_out"].get<double>()));
    CHECK(busy(in, "compute") == doctest::Approx(json["busy_us"]["compute"].get<double>()));
    double last = 0;
    for (const auto& [thread, events] : in.threads)
      for (const Event& e : events) last = std::max(last, e.end);
    CHECK(last == doctest::Approx(json["total_us"].get<double>()));  // no latency after the last
  }
}

TEST_CASE("a width is what a terminal shows, not the bytes of UTF-8") {
  CHECK(display_width("abc") == 3);
  CHECK(display_width("M\xc3\xbcller") == 6);             // u umlaut: two bytes, one column
  CHECK(display_width("\xc2\xb1") == 1);                  // plus-minus
  CHECK(display_width("e\xcc\x81") == 1);                 // e with a combining accent
  CHECK(display_width("\xe8\xae\xa1\xe7\xae\x97") == 4);  // two Chinese characters, two columns each
  CHECK(display_width("\xf0\x9f\x9a\x80") == 2);          // a rocket
  CHECK(display_width("\xff\xc3") == 2);                  // no UTF-8: a column a byte, and no crash
  CHECK(display_width("") == 0);
}

TEST_CASE("texts wrap between words, behind a hanging indent") {
  CHECK(wrapped("one two three", 7) == "one two\nthree");
  CHECK(wrapped("a 123456789 b", 5) == "a\n123456789\nb");
  CHECK(wrapped("\xc2\xb1\xc2\xb1 \xc2\xb1\xc2\xb1", 5) == "\xc2\xb1\xc2\xb1 \xc2\xb1\xc2\xb1");
  CHECK(wrapped("one two three", 8, 2) == "one two\n  three");
  CHECK(wrapped("one\ntwo", 80, 2) == "one\\x0atwo");
  CHECK(wrapped("one two three", 7, 2) == "one two\n  three");
  CHECK(wrapped("one two three", 13, 2) == "one two three");
  CHECK(wrapped("one two three", 12, 2) == "one two\n  three");
  CHECK(wrapped("longerthanaline x", 5, 0) == "longerthanaline\nx");
  CHECK(wrapped("aaa bbb", 7, 0, 2) == "aaa\nbbb");  // the first line begins at column 2
  CHECK(wrapped("\x1b[31mred", 80, 4) == "\\x1b[31mred");
  CHECK(wrapped("\xc3\xbc\xc3\xbc\xc3\xbc x", 5, 0) == "\xc3\xbc\xc3\xbc\xc3\xbc x");
  CHECK(wrapped("", 10, 2).empty());
}

TEST_CASE("a percent sign is not parted from its number") {
  CHECK(wrapped("off by 5 % now", 8, 0) == "off by\n5 % now");
}

TEST_CASE("a labelled line begins its text in column 12, and goes on there") {
  CHECK(labelled("limit", "63 GB/s of it", 19) == "  limit     63 GB/s\n            of it\n");
  CHECK(labelled("averylongname", "x", 40) == "  averylongname x\n");
}

TEST_CASE("columns line up, by the point where there is one") {
  Table table({right("size"), decimal("GB/s"), left("note")});
  table.row({"1 B", "0.125", "a"});
  table.row({"16 MiB", "12", "b"});
  table.row({"8 B", "-", ""});
  const auto lines = table.lines(80);
  REQUIRE(lines.size() == 4);
  CHECK(lines[0] == "    size    GB/s  note\n");
  CHECK(lines[1] == "     1 B   0.125  a\n");
  CHECK(lines[2] == "  16 MiB  12      b\n");
  CHECK(lines[3] == "     8 B   -\n");
}

TEST_CASE("a table too wide has its least important columns below their row, and loses none") {
  Table table({right("size"), right("minor", 1), right("least", 2), decimal("last")});
  table.row({"1", "2", "3", "4.5"});
  table.row({"10", "-", "", "5"});
  CHECK(table.lines(26)[1] == "     1      2      3   4.5\n");
  CHECK(table.lines(25) == std::vector<std::string>{"  size  minor  last\n", "     1      2   4.5\n      least 3\n",
                                                    "    10      -   5\n"});
  // The first column stays, and of one rank the last goes. What says nothing is not repeated.
  CHECK(table.lines(12) == std::vector<std::string>{"  size  last\n",
                                                    "     1   4.5\n      minor\n        2,\n        least\n        3\n",
                                                    "    10   5\n"});
  CHECK(table.lines(7)[2] == "    10\n      last\n        5\n");
  CHECK(table.lines(1000)[1] == "     1      2      3   4.5\n");
}

TEST_CASE("in a pipe a table is as wide as it is") {
  Table table({left("title"), right("rate")});
  table.row({std::string(150, 'x'), "1.5"});
  Document document;
  document.table(table);
  const std::string line = std::string(150, 'x') + "   1.5\n";
  CHECK(to_text(document, {.width = 60, .whole_tables = true}).find(line) != std::string::npos);
  CHECK(to_text(document, {.width = 60}).find(line) == std::string::npos);
}

TEST_CASE("a column that is not there takes no room, and its cells are passed over") {
  Table table({left("a"), right("b", 0, false), right("c")});
  table.row({"x", "hidden", "1"});
  CHECK(table.lines(80) == std::vector<std::string>{"  a  c\n", "  x  1\n"});
}

TEST_CASE("marks that no row has take no column, in no form") {
  Table table({left("name"), right("rate"), left("")});
  table.row({"a", "-", ""});
  CHECK(table.lines(80) == std::vector<std::string>{"  name  rate\n", "  a        -\n"});
  CHECK(table.markdown().starts_with("| name | rate |\n| --- | ---: |\n"));
  CHECK(table.html("").find("marks") == std::string::npos);
  table.row({"b", "1", "*"});
  CHECK(table.html("").find("marks") != std::string::npos);
}

TEST_CASE("a text alone that is wider than the terminal wraps") {
  Table table({left("title"), right("rate")});
  table.row({"a title that is far too long for thirty", "1.5"});
  CHECK(table.lines(30)[1] == "  a title that is far too long\n    for thirty\n      rate 1.5\n");
}

TEST_CASE("control characters and escapes never reach the terminal, whatever way a text takes") {
  const std::string evil =
      "\x1b[31mred\x07\xc2\x9b"
      "1m\xff";
  const std::string shown = "\\x1b[31mred\\x07\\xc2\\x9b1m\\xff";
  CHECK(printable(evil) == shown);
  CHECK(printable("caf\xc3\xa9\n") == "caf\xc3\xa9\n");
  CHECK(wrapped(evil, 80, 0) == shown);
  CHECK(labelled(evil, evil, 200) == "  " + shown + ' ' + shown + '\n');
  CHECK(Ink(false).bold(evil) == shown);
  CHECK(Ink(true).bold(evil) == "\x1b[1m" + shown + "\x1b[0m");
  Table table({left("a")});
  table.row({evil});
  CHECK(table.lines(80)[1] == "  " + shown + '\n');
}

TEST_CASE("cells of UTF-8 do not shift the columns behind them") {
  Table table({left("a"), left("b")});
  table.row({"\xc3\xbc", "x"});
  table.row({"uu", "x"});
  CHECK(table.lines(80)[1] == "  \xc3\xbc   x\n");
}

TEST_CASE("without colours not one escape is written") {
  CHECK(Ink(false).alarm("x") == "x");
  CHECK(Ink(true).alarm("x") == "\x1b[1;31mx\x1b[0m");
  CHECK(Ink(true).bold("").empty());
}

}  // namespace simulation_report_test
