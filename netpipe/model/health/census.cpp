// GPUs of the machine that the bus shows and that do not answer.
#include "netpipe/model/health/findings.hpp"

namespace npgpu::model {

std::optional<HealthFinding> judge_census(const Trace& trace) {
  const Facts census = facts_of(trace.provenance, "census");
  const double gpus = number_fact(census, "gpus_on_bus");
  if (std::isnan(gpus)) return std::nullopt;
  const std::string lost = text_fact(census, "gpus_lost"), hidden = text_fact(census, "gpus_hidden"),
                    unknown = text_fact(census, "gpus_unknown");
  HealthFinding finding;
  finding.metric = "gpus_on_bus";
  finding.if_failed = CheckVerdict::broken;
  if (!lost.empty()) {
    finding.health = Health::fail;
    finding.text =
        fmt::format("of {:g} NVIDIA GPU{} on the PCI bus not all answer: {}", gpus, gpus == 1 ? "" : "s", lost);
    finding.explanations.push_back({"lost", "the GPU fell off the bus, or could not be started", lost,
                                    "drain the node and power it off and on; look at dmesg (Xid 79, AER), seating, "
                                    "riser and power cables; replace the GPU if it happens again"});
    return finding;
  }
  // What this process may not see is no fault: nothing is said against it, and that it was not seen is said.
  finding.health = Health::pass;
  finding.text = fmt::format("{:g} NVIDIA GPU{} on the PCI bus", gpus, gpus == 1 ? "" : "s");
  if (hidden.empty() && unknown.empty()) finding.text += gpus == 1 ? ", which answers" : ", which all answer";
  if (!hidden.empty()) finding.text += "; not for this process: " + hidden;
  if (!unknown.empty()) finding.text += "; not known whether they work: " + unknown;
  return finding;
}

}  // namespace npgpu::model
