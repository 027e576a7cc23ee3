// Variables of the environment whose names begin with NPGPU_: options, and which libraries are taken.
#pragma once

#include <iosfwd>
#include <string>

namespace npgpu::cli {

// NPGPU_DRY_RUN is dry-run; empty if it is no name of ours.
std::string option_of_variable(const std::string& variable);

// A line for each variable that npgpu does not know, and that is nearly the name of one: it would have no effect, and
// nobody would notice. Others that begin so are a site's own (NPGPU_ROOT).
void hint_at_variables(std::ostream&);

}  // namespace npgpu::cli
