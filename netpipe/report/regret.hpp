// Cross-validated regrets, as a table and as JSON; npgpu/regret.hpp says what they are.
#pragma once

#include <string>
#include <vector>

#include "netpipe/report/document.hpp"
#include "netpipe/report/json.hpp"
#include "npgpu/predict.hpp"

namespace npgpu {

// A share in percent, "-" where there is none.
std::string percent_cell(double share);

struct NamedRegret {
  std::string name;
  CrossValidated regret;
};
// A row each, and what it means. `what`: "jobs", "sizes". Nothing has one: a sentence that says why. `measuring`: see
// regrets_of_measuring().
void cross_validated_text(Document&, const std::string& what, const std::vector<NamedRegret>&, const Spread& measuring);

Json spread_json(const Spread&);
Json cross_validated_json(const CrossValidated&);

}  // namespace npgpu
