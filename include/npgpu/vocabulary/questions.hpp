// What probes and other cases ask. The description of a probe, for all devices, has the unit of its work, the axes of
// its shapes, their laws, and the figures of a device that follow from them. Code that plans, reads, judges or prints
// uses it and compares no names of probes. The description of a probe is a const Joined<ProbeDescription> in
// probes/<name>/description.cpp.
//
// Example:
//   const npgpu::Trace trace = npgpu::read_trace("node.h5");
//   for (const npgpu::ProbeSeries& series : trace.of<npgpu::Probes>()) {
//     const npgpu::ProbeDescription& probe = npgpu::description_of(series.question);
//     std::cout << title(series.question) << ": " << probe.summary;
//     std::cout << "; in " << npgpu::counted_of(series.question).unit << "/s";
//     if (const npgpu::LawRule* law = npgpu::rule_of(series.question)) std::cout << "; " << law->rule;
//     std::cout << '\n';
//   }
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "npgpu/model/compare.hpp"
#include "npgpu/vocabulary/call.hpp"
#include "npgpu/vocabulary/probe.hpp"
#include "npgpu/vocabulary/transfer.hpp"

namespace npgpu {

// What of a device a probe asks for. Most that is derived, judged or kept of a device goes by it.
enum class ProbeQuestion {
  computing_power,   // multiply-adds
  memory_bandwidth,  // of the device's memory, streaming
  memory_latency,    // of the device's memory: a chase
  cache_bandwidth,   // of L2: reads that it answers
  tensor_power,      // products of small matrices, by tensor cores
  matrix_products,   // by a library, in the device's memory
  ladder,            // kernels that do the same work, each by one idea better than the one before
  migration,         // pages that move between host and device
  bank_conflicts,    // of shared memory, by words that are loaded
};

// Axes that only some shapes have.
struct OwnAxes {
  bool stride = false, offset = false, ways = false, rung = false;
  bool resources = false;  // registers and shared_bytes
  bool matrices = false;   // m, n, k, panels, ops, alpha and beta
  bool pages = false;
  bool cluster = false;
  bool columns = false;  // n alone

  // Whether its shapes show what a pattern costs. Then a rate is given for each unit, too, and a table has columns only
  // of what differs.
  bool has_pattern() const { return stride || offset || ways || rung || resources || cluster || columns || pages; }
};

// What work is counted in.
struct Counted {
  std::string_view unit;   // of a rate, without "/s": "B", "FLOP"; a word stands apart from its prefix: "atomics"
  std::string_view words;  // "bytes read and written"
  // One of them, "load", where each waits for the one before: then the figure is the time of one. Else empty.
  std::string_view one{};

  bool each_waits() const { return !one.empty(); }
};

// A size of the hardware that shows in a law: the smallest stride, in words of 4 bytes, beyond which an access takes no
// longer, because each lane has a piece of its own.
struct HardwareSize {
  const char* name;     // "sector size"
  const char* meaning;  // a sentence's subject
  double bytes;         // by the CUDA C++ Programming Guide
};

// A law (npgpu/model/derive.hpp).
struct LawRule {
  std::optional<Space> space{};                             // of cases there; of all
  std::optional<Operation> operation{};                     // of cases that do this; of all
  double (*passes)(const Shape&, const Layout&) = nullptr;  // that the shape takes, of whatever each does the same work
  const char *rule = "", *counts = "", *where_not = "";     // as Law has them
  bool among_all = false;  // shapes of other grids are compared with each other, too: they do the same work
  std::optional<HardwareSize> size{};
  bool shows_banks = false;  // its slow-downs by stride are those of banks of shared memory
};

// A parameter that derive() makes of a case: the best rate per cycle of a unit.
struct UnitRate {
  std::optional<Space> space{};  // of cases there; of all
  const char* name = "";         // "L2 bandwidth"; "{}" stands for the case's type, a second one for its operation
  const char* meaning = "";      // "reads that L2 answers"
  // Only over shapes whose set is between these parts of the last cache, where its size is known.
  double least_of_cache = 0, most_of_cache = 0;
  bool (*of)(const ProbeCase&, const Shape&) = nullptr;  // only over such shapes; a case that has none is not asked
  // Work that one step does: then the parameter is the cycles of a step, not a rate.
  double (*step)(const ProbeCase&, const Shape&) = nullptr;
};

// The fastest shape, where operations are counted.
std::vector<FigureChoice> figures_by_operation(const ProbeCase&);

struct ProbeDescription {
  std::string_view name{};     // that users type and a trace holds
  std::string_view summary{};  // "multiply-adds in registers"
  std::optional<ProbeQuestion> question{};
  OwnAxes axes{};
  bool has_corners = false;          // of computing power or memory bandwidth (npgpu/model/derive.hpp)
  bool is_usual = true;              // some of it is measured where every device is asked for everything
  std::optional<Counted> counted{};  // where that is neither bytes nor operations
  std::vector<LawRule> laws{};
  std::vector<UnitRate> unit_rates{};

  // What a device of blocks of threads is asked: GPUs and simulated devices. A family has its own where it differs, as
  // hosts do, whose lanes are all or one (probes/runner.hpp).
  std::vector<ProbeCase> (*cases)(const std::string& device) = nullptr;
  const char* there_are = "";  // these cases in words, for whoever asks for another
  std::vector<Shape> (*shapes)(const ProbeCase&, const Layout&) = nullptr;        // corners first, each once
  std::vector<Shape> (*usual_shapes)(const ProbeCase&, const Layout&) = nullptr;  // Probe::default_shapes(); null: all
  std::optional<std::string> (*refuses)(const ProbeCase&, const Shape&) = nullptr;  // whatever the device
  const char* no_limit = "";  // why nothing is known that no rate exceeds; empty: a family says what is

  // What compare() has of a case among the numbers that stand for a device.
  std::vector<FigureChoice> (*key_figures)(const ProbeCase&) = figures_by_operation;

  std::string_view rank() const { return name; }
};

// The description of a probe that this build does not know, as another version may have written, has patterns and
// nothing else.
const ProbeDescription& description_of(std::string_view probe);
inline const ProbeDescription& description_of(const ProbeCase& c) { return description_of(c.probe); }
inline bool asks(const ProbeCase& c, ProbeQuestion question) { return description_of(c).question == question; }
// By the description or, where it says nothing, by the operation: bytes, or arithmetic operations.
Counted counted_of(const ProbeCase&);
// Null: no law is known for the case.
const LawRule* rule_of(const ProbeCase&);
// "host " before the name of a host's figure.
inline std::string_view where_of(const ProbeCase& c) { return is_host_timed(c) ? "host " : ""; }

// Which case answers which question. Plans are made of these questions. Overview, check, compare, fleet and the
// references of side-by-side runs find a trace's series by them.
//
// Example:
//   const npgpu::Trace trace = npgpu::read_trace("node.h5");
//   for (const npgpu::TransferSeries& series : trace.of<npgpu::Transfers>())
//     if (npgpu::question_of(series.question) == npgpu::CopyQuestion::to_device)
//       std::cout << "host to device: " << npgpu::results(series).back().rate.value / 1e9 << " GB/s\n";

// Questions about copies of one flow of bytes, or of one flow and its reverse. The copies are back to back, unless the
// comment says otherwise.
enum class CopyQuestion {
  to_device,  // host to device, pinned memory, asynchronous, by the device's clock
  to_host,
  both_ways,
  to_device_queued,  // as to_device, by the host's clock: the time includes the calls
  to_host_queued,
  to_device_blocking,  // pinned, by the host's clock
  to_host_blocking,
  to_device_pageable,  // blocking, by the host's clock
  to_host_pageable,
  to_device_write_combined,
  within_device,  // asynchronous, by the device's clock
  within_device_cold,
  to_peer,  // into the memory of another device, by the device's clock
  within_host,
  within_host_cold,
  within_host_both_ways,
  there_and_back,  // ping-pong between host and device, pinned
  there_and_back_pageable,
  there_and_back_in_host,
};
template <>
inline constexpr std::array<std::string_view, 19> names_of<CopyQuestion>{"to-device",
                                                                         "to-host",
                                                                         "both-ways",
                                                                         "to-device-queued",
                                                                         "to-host-queued",
                                                                         "to-device-blocking",
                                                                         "to-host-blocking",
                                                                         "to-device-pageable",
                                                                         "to-host-pageable",
                                                                         "to-device-write-combined",
                                                                         "within-device",
                                                                         "within-device-cold",
                                                                         "to-peer",
                                                                         "within-host",
                                                                         "within-host-cold",
                                                                         "within-host-both-ways",
                                                                         "there-and-back",
                                                                         "there-and-back-pageable",
                                                                         "there-and-back-in-host"};

// Nothing if the case answers none of these questions: copies at offsets, on chosen NUMA nodes, by an executor that is
// not the device's usual one, of several lanes, between ranks, or next to a second process.
std::optional<CopyQuestion> question_of(const TransferCase&);
// The case that answers the question with this module, between host and device or within the device. Not for to_peer,
// which needs two devices.
TransferCase case_of(CopyQuestion, const std::string& module, const std::string& device);

// The question of the probe, if the case answers it. Nothing for a case in other memory or of another form.
std::optional<ProbeQuestion> question_of(const ProbeCase&);

enum class CallQuestion {
  launch,           // a kernel on an idle device
  launch_in_a_row,  // kernels back to back
  signal,           // a kernel, until the host sees what it writes
};
std::optional<CallQuestion> question_of(const CallCase&);

}  // namespace npgpu
