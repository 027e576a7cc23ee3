// simulate --chrome, as the Trace Event Format has it: an object with traceEvents, in which metadata events (M) name
// processes and threads and complete events (X) have ts and dur in microseconds. Perfetto wants the complete events of
// a thread to be nested or apart, and drops others.
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

namespace simulation_chrome_test {

using namespace npgpu;
using Json = nlohmann::json;

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

}  // namespace simulation_chrome_test
