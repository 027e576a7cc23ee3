#include "netpipe/report/regret.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace npgpu {

std::string percent_cell(double part) { return std::isfinite(part) ? fmt::format("{:.2f}", 100 * part) : "-"; }

void cross_validated_text(Document& doc, const std::string& what, const std::vector<NamedRegret>& all,
                          const Spread& measuring) {
  doc.gap();
  if (std::ranges::all_of(all, [](const NamedRegret& one) { return one.regret.choices == 0; }))
    return doc.note("There is no cross-validated regret: it takes " + what +
                    " that were measured in two rounds or more.");
  Table table({left("regret, cross-validated"), right(what), right("mean %"), right("median %"), right("p5"),
               right("p95"), right("worse", 1)});
  for (const auto& [name, r] : all)
    if (r.choices)
      table.row({name, std::to_string(r.choices), percent_cell(r.mean), percent_cell(r.median), percent_cell(r.p5),
                 percent_cell(r.p95), std::to_string(r.worse)});
  doc.table(std::move(table));
  doc.note(
      "Cross-validated: each round is left out in turn. The others say which number is best, and the round left out "
      "times that number and the model's. The regret above is over the least of noisy times, so that even perfect "
      "advice has some; this one is nearly free of that bias. Below 0 the model's number was better than the one that "
      "the other rounds found. Noise widens both tails alike, and p5 shows by how much. worse: " +
      what + " whose 95 % interval is above 0.");
  doc.left_out();
  if (std::isfinite(measuring.median))
    doc.note(
        fmt::format("Measuring in place of predicting: every other round chooses the best number. In the rounds "
                    "between, its regret "
                    "is {} % in the median and {} % at the 95th percentile; noise alone causes that.",
                    percent_cell(measuring.median), percent_cell(measuring.p95)));
}

Json spread_json(const Spread& s) {
  return Json({entry("median", s.median), entry("p95", s.p95), entry("most", s.most)});
}

Json cross_validated_json(const CrossValidated& r) {
  return Json({entry("choices", r.choices), entry("mean", r.mean), entry("median", r.median), entry("p5", r.p5),
               entry("p95", r.p95), entry("worse", r.worse)});
}

}  // namespace npgpu
