#include "netpipe/report/facts_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "netpipe/report/layout.hpp"

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
std::string counted(const std::string& count, const std::string& what) {
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
  add(line, "", counted(fact(facts, "sockets"), "socket"));
  add(line, "", counted(fact(facts, "cores"), "core"));
  add(line, "", counted(fact(facts, "numa_nodes"), "NUMA node"));
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

// Of a run that continued the trace, maybe elsewhere and with another build.
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

}  // namespace

std::string facts_text(const Trace& trace, const TextStyle& style) {
  const Ink ink(style.color);
  const auto width = static_cast<std::size_t>(std::max(40, style.width));
  const TraceRoot& root = trace.root;
  std::size_t simulated = 0, measured = 0;
  const auto count = [&](const auto& all) {
    for (const auto& one : all) ++(one.simulated ? simulated : measured);
  };
  count(trace.of<Transfers>());
  count(trace.of<Probes>());
  count(trace.of<Jobs>());
  const bool any = simulated > 0, all = any && measured == 0;

  std::string title = "Measured on " + (root.hostname.empty() ? "an unnamed host" : root.hostname);
  if (all) title = "SIMULATED: no measurement of hardware";
  std::string out = (all ? ink.alarm(title) : ink.bold(title)) + '\n';
  if (any && !all) out += ink.alarm(labelled("note", "some of it is SIMULATED: no measurement of hardware", width));

  std::string run = root.start_time_utc;
  std::string tool = root.tool_version.empty() ? "" : "npgpu " + root.tool_version;
  if (!tool.empty() && !root.git_commit.empty()) tool += " (" + root.git_commit + ')';
  add(run, "", tool);
  if (!run.empty()) out += labelled("run", run, width);
  if (!root.argv.empty()) out += labelled("command", root.argv, width);
  std::string sweeps;
  const bool others = !trace.of<Probes>().empty() || !trace.of<Jobs>().empty();
  add(sweeps, "", trace.of<Transfers>().empty() && others ? "" : counted(std::to_string(trace.of<Transfers>().size()), "sweep"));
  add(sweeps, "", trace.of<Probes>().empty() ? "" : counted(std::to_string(trace.of<Probes>().size()), "probe"));
  if (!trace.of<Jobs>().empty()) add(sweeps, "jobs in streams of ", counted(std::to_string(trace.of<Jobs>().size()), "case"));
  out += root.complete ? labelled("state", "complete, " + sweeps, width)
                       : ink.alarm(labelled("state", "INCOMPLETE: the run did not reach its end; " + sweeps, width));
  for (const auto& [group, facts] : trace.provenance) {
    const std::string line = group == "host" ? host_line(facts) : is_device(group) ? device_line(facts) : "";
    if (!line.empty()) out += labelled(group, line, width);
    if (group.starts_with("resume_") && group.find('/') == std::string::npos)
      out += labelled("resumed", resume_line(facts), width);
    if (group == "plan")
      for (const auto& [name, why] : facts)
        if (name.starts_with("left_out")) out += labelled("left out", text_of(why), width);
  }
  return out;
}

}  // namespace npgpu
