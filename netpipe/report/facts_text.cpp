#include <fmt/format.h>

#include <algorithm>

#include "netpipe/report/series_text.hpp"

namespace npgpu {

namespace {

std::string text_of(const Fact& fact) {
  if (const auto* text = std::get_if<std::string>(&fact)) return *text;
  if (const auto* number = std::get_if<std::int64_t>(&fact)) return std::to_string(*number);
  return fmt::format("{:g}", std::get<double>(fact));
}

// Empty where the trace does not say.
std::string fact(const Facts& facts, std::string_view name) {
  for (const auto& [known, value] : facts)
    if (known == name) return text_of(value);
  return {};
}

// "2 sockets", "1 core"; empty where the trace does not say.
std::string some(const std::string& count, const std::string& what) {
  return count.empty() ? "" : count + ' ' + what + (count == "1" ? "" : "s");
}

// "before VALUE", or nothing without a value.
void add(std::string& line, const std::string& before, const std::string& value) {
  if (value.empty()) return;
  if (!line.empty()) line += ", ";
  line += before + value;
}

std::string host_line(const Facts& facts) {
  std::string line;
  add(line, "", fact(facts, "cpu_model"));
  add(line, "", some(fact(facts, "sockets"), "socket"));
  add(line, "", some(fact(facts, "cores"), "core"));
  add(line, "", some(fact(facts, "numa_nodes"), "NUMA node"));
  add(line, "", fact(facts, "kernel"));
  if (fact(facts, "in_virtual_machine") == "1") add(line, "", "in a virtual machine");
  return line;
}

std::string device_line(const Facts& facts) {
  std::string line;
  add(line, "", fact(facts, "name"));
  add(line, "", fact(facts, "id"));
  add(line, "PCI ", fact(facts, "pci_bus_id"));
  add(line, "driver ", fact(facts, "driver_version"));
  add(line, "CUDA runtime ", fact(facts, "cuda_runtime"));
  return line;
}

// A run that continued the trace, maybe elsewhere and with another build.
std::string resume_line(const Facts& facts) {
  std::string line;
  add(line, "", fact(facts, "start_time_utc"));
  add(line, "on ", fact(facts, "hostname"));
  add(line, "npgpu ", fact(facts, "tool_version"));
  add(line, "commit ", fact(facts, "git_commit"));
  return line;
}

// gpu0, gpu1, ...: whatever other groups there are is not for this page.
bool is_device(const std::string& group) {
  return group.size() > 3 && group.starts_with("gpu") &&
         std::all_of(group.begin() + 3, group.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// "complete; transfers: 19 series, 1045 points; probes: 16 series, 640 points"
std::string state_text(const Trace& trace, std::size_t series_in_trace) {
  std::string text = trace.root.complete ? "complete" : "INCOMPLETE: the run did not reach its end";
  std::string kinds;
  std::size_t shown = 0;
  for_each_kind([&]<class K>() {
    std::size_t points = 0;
    for (const Series<K>& series : trace.of<K>()) points += series.points.size();
    shown += trace.of<K>().size();
    if (!trace.of<K>().empty())
      kinds += fmt::format("; {}: {}, {}", K::name, counted(trace.of<K>().size(), "series"), counted(points, "point"));
  });
  if (series_in_trace > shown) text += fmt::format("; shown are {} of {} series", shown, series_in_trace);
  return text + (kinds.empty() ? "; nothing was measured" : kinds);
}

}  // namespace

void facts_text(Page& page, const Trace& trace, const TextStyle& style) {
  const TraceRoot& root = trace.root;
  std::size_t simulated = 0, measured = 0;
  for_each_kind([&]<class K>() {
    for (const Series<K>& series : trace.of<K>()) ++(series.simulated ? simulated : measured);
  });
  const bool all = simulated > 0 && measured == 0;
  if (all) page.text += page.ink.alarm("SIMULATED: no measurement of hardware") + '\n';
  else page.title("Measured on " + (root.hostname.empty() ? "an unnamed host" : root.hostname));
  if (simulated > 0 && !all) page.labelled("note", "some of it is SIMULATED: no measurement of hardware", true);

  std::string run = root.start_time_utc;
  std::string tool = root.tool_version.empty() ? "" : "npgpu " + root.tool_version;
  if (!tool.empty() && !root.git_commit.empty()) tool += " (" + root.git_commit + ')';
  add(run, "", tool);
  if (!run.empty()) page.labelled("run", run);
  if (!root.argv.empty()) page.labelled("command", root.argv);
  page.labelled("state", state_text(trace, style.series_in_trace), !root.complete);
  for (const auto& [group, facts] : trace.provenance) {
    const std::string line = group == "host" ? host_line(facts) : is_device(group) ? device_line(facts) : "";
    if (!line.empty()) page.labelled(group, line);
    if (group.starts_with("resume_") && group.find('/') == std::string::npos)
      page.labelled("resumed", resume_line(facts));
    if (group == "plan")
      for (const auto& [name, why] : facts)
        if (name.starts_with("left_out")) page.labelled("left out", text_of(why));
  }
}

}  // namespace npgpu
