// What a shell or a manual page wants to know of an option, read off its sentences, so that all say the same.
#pragma once

#include <string>
#include <vector>

#include "netpipe/cli/options.hpp"

namespace npgpu::cli {

// The words that the option takes: "host", "event" and "gated" of "host: the host's clock. event: ... gated: ...", or
// "a", "b" of "Kind: a, b."; none if it takes numbers, files or what else cannot be listed. A list in the sentence of
// its command goes first: that takes fewer. Modules and probes are those of this build.
std::vector<std::string> words_of(const Option&);

// Without its stop.
std::string first_sentence(const std::string& text);

}  // namespace npgpu::cli
