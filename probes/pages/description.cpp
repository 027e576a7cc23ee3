#include "npgpu/probe_description.hpp"

namespace npgpu {

namespace {

bool few_pages(const ProbeCase&, const Shape& s) { return s.bytes <= 64 * MiB; }
bool many_pages(const ProbeCase&, const Shape& s) { return s.bytes > 64 * GiB; }
double one_page(const ProbeCase&, const Shape&) { return 1; }

}  // namespace

const Joined<ProbeDescription> pages_description(
    {.name = "pages",
     .summary = "loads that wait for each other, each from another page of 2 MiB, up to nearly all of memory",
     .axes = {},
     .is_usual = false,
     .unit_rates = {{.name = "page cycles, 64 MiB",
                     .meaning = "a load from another page of a set of few pages",
                     .of = few_pages,
                     .step = one_page},
                    {.name = "page cycles, beyond 64 GiB",
                     .meaning = "a load from another page of a set of more than 64 GiB",
                     .of = many_pages,
                     .step = one_page}},
     .key_figures = [](const ProbeCase&) -> std::vector<FigureChoice> {
       return {{"latency of a load from another page", Among::largest, FigureUnit::us_a_load}};
     }});

}  // namespace npgpu
