// Specs: what is read, and one clear sentence for each way to get one wrong.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>

#include "netpipe/devices/simulated/device.hpp"
#include "netpipe/devices/simulated/json_object.hpp"
#include "netpipe/devices/simulated/library.hpp"
#include "netpipe/devices/simulated/spec.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace simulated_spec_test {

using namespace npgpu;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "npgpu-specs-XXXXXX").string();
    path = mkdtemp(pattern.data());
  }
  ~Folder() { fs::remove_all(path); }
  fs::path file(const std::string& name, const std::string& text) const {
    std::ofstream(path / name) << text;
    return path / name;
  }
  fs::path path;
};

// An environment variable for the length of a test.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
  ~Variable() { unsetenv(name_); }

 private:
  const char* name_;
};

json least() {
  return json::parse(R"({"name": "N", "source": "here", "memory_bytes": 1000,
                         "host": {"copy_us": 1, "copy_async_us": 2}, "links": {}})");
}

std::string refusal(const fs::path& file) {
  try {
    simulated::read_spec(file);
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::usage);
    return e.what();
  }
  return "accepted";
}

const fs::path source_devices = fs::path(NPGPU_SOURCE_DIR) / "data/devices";

}  // namespace

TEST_CASE("the least spec: what is left out is free, noiseless and without faults") {
  const Folder folder;
  const auto spec = simulated::read_spec(folder.file("n.json", least().dump()));
  CHECK(spec.name == "N");
  CHECK(spec.memory_bytes == 1000);
  CHECK(microseconds(spec.host.copy) == doctest::Approx(1));
  CHECK(microseconds(spec.host.copy_async) == doctest::Approx(2));
  CHECK(spec.host.synchronize.count() == 0);
  CHECK(spec.host.gate_capacity == 1000);
  CHECK(spec.copy_engines == 2);
  CHECK(spec.duplex_slowdown_h2d == 1);
  CHECK(spec.noise.sigma == 0);
  CHECK(spec.faults.empty());
  CHECK(spec.link(Direction::h2d, Memory::pinned) == nullptr);
  CHECK(spec.link(Direction::d2d, Memory::device) == nullptr);
}

TEST_CASE("brackets nested far too deep are refused in a sentence, and do not end the stack") {
  const Folder folder;
  for (const char* bracket : {"[", "{\"a\":"}) {
    std::string text = R"({"name": )";
    for (int i = 0; i < 1'000'000; ++i) text += bracket;
    const fs::path file = folder.file("deep.json", text);
    CHECK(refusal(file) == "--device: " + file.string() + ": brackets nest deeper than 32 levels");
  }
  // Closed again, as a sound document is.
  const fs::path closed =
      folder.file("closed.json", R"({"name": )" + std::string(1'000'000, '[') + std::string(1'000'000, ']') + "}");
  CHECK(refusal(closed).find("nest deeper than 32 levels") != std::string::npos);
}

TEST_CASE("every key is read into its place") {
  const Folder folder;
  const auto spec = simulated::read_spec(folder.file("n.json", R"({
    "name": "N", "source": "here", "memory_bytes": 1000,
    "host": {"copy_us": 1, "copy_async_us": 2, "launch_us": 3, "record_us": 4, "synchronize_us": 5, "gate_capacity": 6},
    "links": {"h2d": {"pinned": {"rate_gb_s": 7, "latency_us": 8, "gap_us": 9}, "pageable": {"rate_gb_s": 10, "turned_gb_s": 9.5},
                      "write-combined": {"rate_gb_s": 11}, "managed": {"rate_gb_s": 12}},
              "d2h": {"pinned": {"rate_gb_s": 13}}, "d2d": {"rate_gb_s": 14}, "h2h": {"rate_gb_s": 15}},
    "copy_engines": 1, "duplex": {"sl_h": 1.25, "sl_d": 1.5}, "limits": {"link_gb_s": 16, "memory_gb_s": 17},
    "noise": {"seed": 18, "sigma": 0.1, "operation_sigma": 0.2, "outlier_rate": 0.3, "outlier_factor": 4,
              "drift": 0.05, "cost_drift": 0.06},
    "faults": [{"call": 19, "kind": "corrupt"}, {"call": 20, "kind": "gate-timeout"}],
    "healthy": {"h2d_rate": 6.5e9},
    "hardware": {"compute_capability": "1.3", "sms": 30, "shader_clock_mhz": 1296.5}})"));
  CHECK(number_fact(spec.condition.facts, "healthy_h2d_rate") == 6.5e9);
  CHECK(microseconds(spec.host.launch) == doctest::Approx(3));
  CHECK(microseconds(spec.host.record) == doctest::Approx(4));
  CHECK(microseconds(spec.host.synchronize) == doctest::Approx(5));
  CHECK(spec.host.gate_capacity == 6);
  const simulated::Link* pinned = spec.link(Direction::h2d, Memory::pinned);
  REQUIRE(pinned);
  CHECK(pinned->bytes_per_s == doctest::Approx(7e9));
  CHECK(microseconds(pinned->latency) == doctest::Approx(8));
  CHECK(microseconds(pinned->gap) == doctest::Approx(9));
  CHECK(pinned->turned_bytes_per_s == 0);
  CHECK(spec.link(Direction::h2d, Memory::pageable)->bytes_per_s == doctest::Approx(10e9));
  CHECK(spec.link(Direction::h2d, Memory::pageable)->turned_bytes_per_s == doctest::Approx(9.5e9));
  CHECK(spec.link(Direction::h2d, Memory::write_combined)->bytes_per_s == doctest::Approx(11e9));
  CHECK(spec.link(Direction::h2d, Memory::managed)->bytes_per_s == doctest::Approx(12e9));
  CHECK(spec.link(Direction::d2h, Memory::pinned)->bytes_per_s == doctest::Approx(13e9));
  CHECK(spec.link(Direction::d2h, Memory::pageable) == nullptr);
  CHECK(spec.link(Direction::d2d, Memory::device)->bytes_per_s == doctest::Approx(14e9));
  CHECK(spec.link(Direction::h2h, Memory::pinned)->bytes_per_s == doctest::Approx(15e9));
  CHECK(spec.link(Direction::peer, Memory::device) == nullptr);
  CHECK(spec.copy_engines == 1);
  CHECK(spec.duplex_slowdown_h2d == 1.25);
  CHECK(spec.duplex_slowdown_d2h == 1.5);
  CHECK(spec.noise.seed == 18);
  CHECK(spec.noise.sigma == 0.1);
  CHECK(spec.noise.operation_sigma == 0.2);
  CHECK(spec.noise.outlier_rate == 0.3);
  CHECK(spec.noise.outlier_factor == 4);
  CHECK(spec.noise.drift == 0.05);
  CHECK(spec.noise.cost_drift == 0.06);
  REQUIRE(spec.faults.size() == 2);
  CHECK(spec.faults[0].call == 19);
  CHECK(spec.faults[0].kind == simulated::FaultKind::corrupt);
  CHECK(spec.faults[1].kind == simulated::FaultKind::gate_timeout);

  const DeviceInfo info = simulated::info_of(spec, "sim:n");
  CHECK(info.id == "sim:n");
  CHECK(info.simulated);
  CHECK(info.link.per_s == doctest::Approx(16e9));
  CHECK(info.memory.per_s == doctest::Approx(17e9));
  REQUIRE(find_fact(info.facts, "sms"));
  CHECK(*find_fact(info.facts, "sms") == Fact{std::int64_t{30}});
  CHECK(*find_fact(info.facts, "shader_clock_mhz") == Fact{1296.5});
  CHECK(*find_fact(info.facts, "compute_capability") == Fact{std::string("1.3")});
  CHECK(*find_fact(info.facts, "spec_source") == Fact{std::string("here")});
  CHECK(std::get<double>(*find_fact(info.facts, "h2d_write_combined_gb_s")) == doctest::Approx(11));
  CHECK(*find_fact(info.facts, "faults") == Fact{std::string("corrupt at call 19, gate-timeout at call 20")});
}

TEST_CASE("where no limit is stated, the spec's own rates are: the fastest link, and d2d read and written") {
  const Folder folder;
  json j = least();
  j["links"] = json::parse(
      R"({"h2d": {"pinned": {"rate_gb_s": 3}}, "d2h": {"pinned": {"rate_gb_s": 4}}, "d2d": {"rate_gb_s": 36}})");
  const auto info = simulated::info_of(simulated::read_spec(folder.file("n.json", j.dump())), "sim:n");
  CHECK(info.link.per_s == doctest::Approx(4e9));
  CHECK(info.memory.per_s == doctest::Approx(72e9));
  j["links"] = json::object();
  const auto none = simulated::info_of(simulated::read_spec(folder.file("n.json", j.dump())), "sim:n");
  CHECK_FALSE(none.link.per_s > 0);
  CHECK(none.link.source == "unknown");
}

TEST_CASE("a wrong spec is refused with its file, the key and what was expected") {
  struct Row {
    const char* pointer;  // what is changed
    const char* value;    // to what; null: taken out
    const char* says;
  };
  const Row rows[] = {
      {"/name", nullptr, "name: expected a text, found nothing"},
      {"/name", "7", "name: expected a text, found 7"},
      {"/name", "\"\"", "name: expected a text, found \"\""},
      {"/source", nullptr, "source: expected a text, found nothing"},
      {"/memory_bytes", nullptr, "memory_bytes: expected a whole number from 1 to"},
      {"/memory_bytes", "0", "memory_bytes: expected a whole number"},
      {"/memory_bytes", "-5", "memory_bytes: expected a whole number"},
      {"/memory_bytes", "1.5", "memory_bytes: expected a whole number"},
      {"/memory_bytes", "\"4 GB\"",
       "memory_bytes: expected a whole number from 1 to 9223372036854775807, found \"4 GB\""},
      {"/memory_bytes", "99999999999999999999", "memory_bytes: expected a whole number"},
      {"/host", nullptr, "host: expected an object {...}, found nothing"},
      {"/host", "[]", "host: expected an object {...}, found []"},
      {"/host/copy_us", nullptr, "host.copy_us: expected a number from 0 to 1000000000, found nothing"},
      {"/host/copy_us", "-1", "host.copy_us: expected a number from 0"},
      {"/host/copy_us", "true", "host.copy_us: expected a number from 0 to 1000000000, found true"},
      {"/host/copy_async_us", nullptr, "host.copy_async_us: expected"},
      {"/host/gate_capacity", "1", "host.gate_capacity: expected a whole number from 2"},
      {"/host/copy_ms", "1", "host.copy_ms: unknown key; known here: copy_async_us, copy_us, gate_capacity, launch_us"},
      {"/links", nullptr, "links: expected an object {...}, found nothing"},
      {"/links/h2d", "3", "links.h2d: expected an object {...}, found 3"},
      {"/links/h2d", R"({"pinned": {"rate_gb_s": -3}})",
       "links.h2d.pinned.rate_gb_s: expected a number over 0, up to 1000000, found -3"},
      {"/links/h2d", R"({"pinned": {"rate_gb_s": 0}})", "links.h2d.pinned.rate_gb_s: expected a number over 0"},
      {"/links/h2d", R"({"pinned": {"rate_gb_s": 1e7}})", "links.h2d.pinned.rate_gb_s: expected a number over 0"},
      {"/links/h2d", R"({"pinned": {"rate_gb_s": "fast"}})",
       "links.h2d.pinned.rate_gb_s: expected a number over 0, up to 1000000, found \"fast\""},
      {"/links/h2d", R"({"pinned": {}})",
       "links.h2d.pinned.rate_gb_s: expected a number over 0, up to 1000000, found nothing"},
      {"/links/h2d", R"({"pinned": {"rate_gb_s": 3, "gap_us": -1}})",
       "links.h2d.pinned.gap_us: expected a number from 0"},
      {"/links/h2d", R"({"pinned": {"rate_gb_s": 3, "lateny_us": 1}})",
       "links.h2d.pinned.lateny_us: unknown key; known here: gap_us, latency_us, rate_gb_s"},
      {"/links/h2d", R"({"device": {"rate_gb_s": 3}})",
       "links.h2d.device: unknown key; known here: managed, pageable, pinned, write-combined"},
      {"/links/d2d", R"({"pinned": {"rate_gb_s": 3}})",
       "links.d2d.rate_gb_s: expected a number over 0, up to 1000000, found nothing"},
      {"/links/p2p", "{}", "links.p2p: unknown key; known here: d2d, d2h, h2d, h2h"},
      {"/copy_engines", "0", "copy_engines: expected a whole number from 1 to 2, found 0"},
      {"/copy_engines", "3", "copy_engines: expected a whole number from 1 to 2, found 3"},
      {"/duplex", R"({"sl_h": 0.5})", "duplex.sl_h: expected a number from 1 to 1000, found 0.5"},
      {"/duplex", R"({"sl": 2})", "duplex.sl: unknown key; known here: sl_d, sl_h"},
      {"/limits", R"({"link_gb_s": 0})", "limits.link_gb_s: expected a number over 0"},
      {"/noise", R"({"sigma": 2})", "noise.sigma: expected a number from 0 to 1, found 2"},
      {"/noise", R"({"seed": -1})", "noise.seed: expected a whole number"},
      {"/noise", R"({"sigma": null})", "noise.sigma: expected a number from 0 to 1, found null"},
      {"/faults", "{}", "faults: expected a list of objects [{...}], found {}"},
      {"/faults", "[3]", "faults: expected a list of objects [{...}], found [3]"},
      {"/faults", R"([{"call": 0, "kind": "fail"}])", "faults[0].call: expected a whole number from 1"},
      {"/faults", R"([{"call": 1, "kind": "fail"}, {"call": 2, "kind": "explode"}])",
       "faults[1].kind: expected one of fail, corrupt, zeros, lost, gate-timeout, found \"explode\""},
      {"/faults", R"([{"call": 1}])", "faults[0].kind: expected a text, found nothing"},
      {"/hardware", R"({"smss": 3})", "hardware.smss: unknown key"},
      {"/hardware", R"({"sms": "many"})", "hardware.sms: expected a number from 0"},
      {"/hardware", R"({"sms": -1})", "hardware.sms: expected a number from 0"},
      {"/hardware", R"({"block_threads": 5e-324})", "hardware.block_threads: expected a number from 0"},
      {"/hardware", R"({"block_threads": 0.5})",
       "hardware.block_threads: expected a whole number from 0 to 1000000, found 0.5"},
      {"/hardware", R"({"shader_clock_mhz": 1e-300})",
       "hardware.shader_clock_mhz: expected a number from 0 to 1000000000, none below 1e-09, found 1e-300"},
      {"/hardware", R"({"l2_gb_s": 1e308})", "hardware.l2_gb_s: expected a number from 0 to 1000000000"},
      {"/hardware", R"({"l2_bytes": 1e15})", "hardware.l2_bytes: expected a number from 0 to 1000000000"},
      {"/links/h2d", R"({"pinned": {"rate_gb_s": 5e-324}})",
       "links.h2d.pinned.rate_gb_s: expected a number over 0, up to 1000000, none below 1e-09"},
      {"/noise", R"({"sigma": 5e-324})", "noise.sigma: expected a number from 0 to 1, none below 1e-09"},
      {"/hardware", R"({"compute_capability": 9.0})", "hardware.compute_capability: expected a text, found 9.0"},
      {"/comment", "1",
       "comment: unknown key; known here: copy_engines, counters, counters_rise, course, duplex, facts, faults, "
       "figures, flip_every_bytes, hardware, healthy, host, like, limits, link, links"},
  };
  const Folder folder;
  for (const Row& row : rows) {
    json j = least();
    const json::json_pointer pointer(row.pointer);
    if (row.value) j[pointer] = json::parse(row.value);
    else j[pointer.parent_pointer()].erase(pointer.back());
    const fs::path file = folder.file("wrong.json", j.dump());
    const std::string why = refusal(file);
    CAPTURE(why);
    CHECK(why.find(file.string() + ": " + row.says) == 0);
    CHECK(why.find('\n') == std::string::npos);
  }
}

TEST_CASE("files that are no JSON objects, or cannot be read") {
  const Folder folder;
  const auto says = [&](const std::string& text) { return refusal(folder.file("wrong.json", text)); };
  CHECK(says("").find("wrong.json: not JSON: ") != std::string::npos);
  CHECK(says("{\"name\": ").find("not JSON: parse error at line 1") != std::string::npos);
  CHECK(says("<xml/>").find("not JSON") != std::string::npos);
  CHECK(says("[1, 2]").find("expected an object {...}, found [1,2]") != std::string::npos);
  CHECK(says("{\"name\": 1e999}").find("not JSON") != std::string::npos);
  CHECK(says("{\"name\": \"\xff\"}").find("not JSON") != std::string::npos);
  CHECK(says("{\"name\": \"a\", \"name\": \"b\"}").find("the key 'name' stands twice in one object") !=
        std::string::npos);
  CHECK(says("{\"a\": {\"x\": 1}, \"b\": {\"x\": 1}, \"b\": 1}").find("the key 'b' stands twice") != std::string::npos);
  CHECK(refusal(folder.path / "absent.json").find("absent.json: cannot be read: No such file or directory") !=
        std::string::npos);
  CHECK(refusal(folder.path).find("is a folder, not a plain file") != std::string::npos);
  if (geteuid() != 0) {
    const fs::path closed = folder.file("closed.json", least().dump());
    fs::permissions(closed, fs::perms::none);
    CHECK(refusal(closed).find("cannot be read: Permission denied") != std::string::npos);
  }
}

TEST_CASE("a device is a name in a folder or a path, and the user's own folders come first") {
  const Folder first, second;
  json j = least();
  j["name"] = "First";
  first.file("plain.json", j.dump());
  first.file("mine.json", j.dump());
  j["name"] = "Second";
  second.file("mine.json", j.dump());
  second.file("other.json", j.dump());
  CHECK(simulated::spec_of("sim:plain").name == "Plain");  // the source tree's
  const Variable own("NPGPU_DEVICES", first.path.string() + ":/absent:" + second.path.string());
  CHECK(simulated::spec_of("sim:plain").name == "First");
  CHECK(simulated::spec_of("sim:mine").name == "First");
  CHECK(simulated::spec_of("sim:other").name == "Second");
  CHECK(simulated::spec_of("sim:" + (second.path / "mine.json").string()).name == "Second");
  const auto ids = simulated::known_ids();
  CHECK(std::count(ids.begin(), ids.end(), "sim:mine") == 1);
  CHECK(std::count(ids.begin(), ids.end(), "sim:other") == 1);
  CHECK(std::count(ids.begin(), ids.end(), "sim:plain") == 1);
  CHECK(std::is_sorted(ids.begin(), ids.end()));
}

TEST_CASE("a seed behind the name is another scatter of the same device, and a folder stands for what is in it") {
  const auto usual = simulated::spec_of("sim:h200"), other = simulated::spec_of("sim:h200?seed=7");
  CHECK(usual.noise.seed == 200);  // as the file has it
  CHECK(other.noise.seed == 7);
  CHECK(other.name == usual.name);
  CHECK(simulated::spec_of("sim:sick/half-the-lanes").condition.link.lanes == 8);
  CHECK(simulated::parts_of("sim:node8?seed=0").name == "sim:node8");
  for (const char* wrong : {"sim:h200?seed=", "sim:h200?seed=x", "sim:h200?seed=-1", "sim:h200?speed=7", "sim:h200?"})
    CHECK_THROWS_WITH(simulated::spec_of(wrong), doctest::Contains("sim:h200?seed=7"));
  const auto sick = devices::node("sim:sick");
  CHECK(sick.size() == simulated::known_ids("sick").size());
  CHECK(std::ranges::count(sick, "sim:sick/slow-memory") == 1);
  for (const char* none : {"sim:nonesuch", "sim:..", "sim:"}) CHECK(devices::node(none).size() == 1);
}

TEST_CASE("a device that is not there: the ones that are") {
  for (const char* id : {"sim:", "sim:nonesuch", "sim:..", "host", "plain", ""}) {
    CAPTURE(id);
    CHECK_THROWS_AS(simulated::spec_file(id), Error);
  }
  CHECK_THROWS_WITH(simulated::spec_file("sim:nonesuch"),
                    doctest::Contains("--device: there is no simulated device 'sim:nonesuch'; there are "));
  CHECK_THROWS_WITH(simulated::spec_file("sim:nonesuch"), doctest::Contains("sim:plain"));
  CHECK_THROWS_WITH(simulated::spec_of("sim:/absent/x.json"), doctest::Contains("/absent/x.json: cannot be read"));
}

TEST_CASE("the specs of the house are right, and say where their figures come from") {
  int specs = 0;
  for (const auto& entry : fs::directory_iterator(source_devices)) {
    if (entry.path().extension() != ".json") continue;
    ++specs;
    INFO(entry.path().string());
    const auto spec = simulated::read_spec(entry.path());
    CHECK(spec.faults.empty());
    CHECK(spec.source.size() > 20);
    for (const Direction d : {Direction::h2d, Direction::d2h})
      for (const Memory m : {Memory::pinned, Memory::pageable}) CHECK(spec.link(d, m));
    CHECK(spec.link(Direction::d2d, Memory::device));
    const DeviceInfo info = simulated::info_of(spec, "sim:x");
    CHECK(info.link.per_s > 0);
    CHECK(info.memory.per_s > 0);
  }
  CHECK(specs >= 5);
}

TEST_CASE("a device drifts from opening to opening, the same way each time the program runs") {
  simulated::Spec spec = simulated::spec_of("sim:h200");
  const auto copy_us = [&](std::uint64_t opening) {
    return microseconds(simulated::Device("sim:h200", spec, opening).spec().host.copy);
  };
  CHECK(copy_us(0) == 2.5);
  CHECK(copy_us(1) == 2.5);
  spec.noise.cost_drift = 0.04;
  CHECK(copy_us(0) != copy_us(1));
  CHECK(copy_us(1) == copy_us(1));
  CHECK(copy_us(1) == doctest::Approx(2.5).epsilon(0.2));

  simulated::Noise noise;
  CHECK(simulated::NoiseSource(noise, 3).trial() == 1);
  noise.drift = 0.01;
  CHECK(simulated::NoiseSource(noise, 3).trial() != simulated::NoiseSource(noise, 4).trial());
  CHECK(simulated::NoiseSource(noise, 3).trial() == doctest::Approx(1).epsilon(0.05));
}

TEST_CASE("a spec is like another one, with what it changes") {
  const Folder folder;
  json base = least();
  base["links"] = json::parse(R"({"h2d": {"pinned": {"rate_gb_s": 10, "latency_us": 2}}})");
  base["facts"] = {{"max_pcie_lanes", 16}, {"driver_version", "580.1"}};
  folder.file("base.json", base.dump());
  const auto spec = simulated::read_spec(folder.file(
      "sick.json", R"({"like": "base.json", "name": "S", "memory_bytes": 5, "facts": {"driver_version": null},
                                   "links": {"h2d": {"pinned": {"rate_gb_s": 4}}}, "link": {"generation": 5, "lanes": 8}})"));
  CHECK(spec.name == "S");
  CHECK(spec.source == "here");
  CHECK(spec.link(Direction::h2d, Memory::pinned)->bytes_per_s == doctest::Approx(4e9));
  CHECK(microseconds(spec.link(Direction::h2d, Memory::pinned)->latency) == doctest::Approx(2));
  const Facts facts = simulated::info_of(spec, "sim:s").facts;
  CHECK(number_fact(facts, "max_pcie_lanes") == 16);
  CHECK(number_fact(facts, "pcie_lanes_now") == 8);
  CHECK(find_fact(facts, "driver_version") == nullptr);

  // The GPU of a node that is like one of another folder is where that one says.
  const std::filesystem::path nodes = std::filesystem::path(NPGPU_SOURCE_DIR) / "data/devices/nodes";
  const json node =
      simulated::read_json(folder.file("node.json", json{{"like", (nodes / "node8.json").string()}}.dump()));
  CHECK(std::filesystem::exists(node.at("gpu").get<std::string>()));
}

TEST_CASE("a spec that is like itself, like nothing, or like what is not there is refused") {
  const Folder folder;
  CHECK(refusal(folder.file("self.json", R"({"like": "self.json"})")).find("more than 8 files") != std::string::npos);
  CHECK(refusal(folder.file("empty.json", R"({"like": ""})")).find("like: expected the path") != std::string::npos);
  CHECK(refusal(folder.file("number.json", R"({"like": 3})")).find("like: expected the path") != std::string::npos);
  CHECK(refusal(folder.file("none.json", R"({"like": "nowhere.json"})")).find("nowhere.json: cannot be read") !=
        std::string::npos);
}

TEST_CASE("a device's condition: counters rise once it was used, its neighbour is always there") {
  const Folder folder;
  json sick = least();
  sick["links"] = json::parse(R"({"h2d": {"pinned": {"rate_gb_s": 10}}})");
  sick["counters"] = {{"ecc_corrected_volatile", 3}, {"pcie_replays", 1}};
  sick["counters_rise"] = {{"ecc_corrected_volatile", 2}};
  sick["link"] = {{"generation", 4}, {"lanes", 16}};
  sick["neighbour"] = {{"name", "python3 (4711)"}, {"link", 1}};
  sick["telemetry"] = {{"power_w", 300}, {"throttle_reasons", 32}};
  sick["hardware"] = {{"shader_clock_mhz", 1200}};
  const std::string id = "sim:" + folder.file("sick.json", sick.dump()).string();
  CHECK(number_fact(devices::counters(id), "ecc_corrected_volatile") == 3);
  {
    const auto device = simulated::open_device(id);
    CHECK(device->telemetry().power_w == 300);
    CHECK(device->telemetry().sm_clock_mhz == 1200);
    CHECK(device->telemetry().throttle_reasons == 32);
  }
  CHECK(number_fact(devices::counters(id), "ecc_corrected_volatile") == 5);
  CHECK(number_fact(devices::counters(id), "pcie_replays") == 1);
  CHECK(devices::link_state(id).generation == 4);
  const auto watch = devices::watch(id);
  REQUIRE(watch);
  const Disturbance found = watch->end();
  CHECK(found.causes == static_cast<std::uint32_t>(Cause::link_busy));
  CHECK(found.by == "python3 (4711)");
  sick["neighbour"] = {{"name", "python3 (4711)"}};
  CHECK(refusal(folder.file("idle.json", sick.dump())).find("neighbour.device: expected 1") != std::string::npos);
}

TEST_CASE("a fault comes once, or again and again") {
  const simulated::Fault once{.call = 5}, again{.call = 5, .every = 3};
  for (const std::uint64_t call : {1, 5, 8, 11}) {
    CHECK(once.is_at(call) == (call == 5));
    CHECK(again.is_at(call) == (call >= 5));
  }
  CHECK_FALSE(again.is_at(6));
}

}  // namespace simulated_spec_test
