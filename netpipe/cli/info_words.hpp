// What measures each kind and whether it is usable here, the words that options take, and all devices.
#pragma once

#include "netpipe/report/json.hpp"

namespace npgpu::cli {

// `kinds`: of each its backends, and the words that options of its command take. `missing`: what this build lacks.
// `devices`: all that can be named.
Json words_json();
void print_words(const Json&);  // of words_json(), on standard output

}  // namespace npgpu::cli
