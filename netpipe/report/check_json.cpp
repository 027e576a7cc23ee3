#include "netpipe/report/json.hpp"
#include "npgpu/check.hpp"

namespace npgpu {

NPGPU_FORM(CheckOf::Gpu, &T::id, &T::name, &T::uuid, &T::simulated);
NPGPU_FORM(CheckOf, &T::verdict, &T::exit_code, called<"reason", known<&check_reason>>,
           within<&T::root, &TraceRoot::hostname>, within<&T::root, &TraceRoot::start_time_utc>,
           within<&T::root, &TraceRoot::tool_version>, called<"decided_by", &T::decided>,
           called<"not_judged_because", known<&T::why_not_judged>>, &T::measured_again, &T::wall_s, known<&T::trace>,
           &T::gpus, &T::findings,
           called<"soak", [](const T& of, JsonOf as) { return list_by(of.soaks, as, soak_json); }>);

void check_json(std::ostream& out, const CheckOf& of) { write_document(out, "npgpu-check", 1, of, 2); }

}  // namespace npgpu
