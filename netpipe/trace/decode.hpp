// From the bytes of a file to a Trace.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "npgpu/trace.hpp"
#include "npgpu/units.hpp"

namespace npgpu::trace {

// What a file holds: a trace, or the runs of a merged file.
struct Contents {
  std::vector<Trace> runs;
  std::size_t count = 0;  // of runs, also of those that were not asked for
  bool is_merged = false;
};
// `only`: of a merged file only this run. Error(usage) beginning with `file` if these are not the bytes of a sound
// trace or merged file. HDF5 itself may crash on damaged ones.
Contents decode(std::span<const std::byte>, const std::string& file, std::optional<std::size_t> only = {},
                Depth = Depth::whole);

// HDF5 can crash or hang on a damaged file. It can also write past its buffers, of which a process may die much later:
// HDF5 1.10.8 copies as many bytes of a text as the file's heap claims into a buffer for as many as the attribute
// claims. So a child process reads such a file, and its parent's HDF5 never sees it.

// What the child hands to its parent. `image`: where the parent needs a file, one that HDF5 wrote anew.
struct DecodedFile {
  Contents contents;
  std::vector<std::byte> image{};
};
// What `make` makes of the file of so many bytes, in a child process; in this one if there can be none. Throws what
// that threw, or Error(usage) saying that the file is damaged if the child died.
DecodedFile in_child(std::size_t bytes, const std::string& file, const std::function<DecodedFile()>& make);

struct GuardedRead {
  enum class Outcome {
    well,   // came to its end; text: what it returned
    none,   // no child could be made, and the caller reads as everybody else does
    threw,  // text: what the exception said
    died,   // text: "Segmentation fault", "it does not end"
  } outcome = Outcome::none;
  std::string text{};
};

// What a child that reads may take.
struct Patience {
  Seconds processor_time{1};
  std::size_t memory = std::size_t{1} << 29;  // bytes, beyond what the process has when it begins
};
// For reading a file of so many bytes. What takes more, does not end: HDF5 goes round in damaged files.
Patience patience_for(std::size_t bytes);

// Runs `read` in a forked child.
GuardedRead guarded_read(const std::function<std::string()>& read, const Patience&);

// What such a child does first: it ends with its parent, prints nothing and leaves no core. Returns the pipe's
// descriptor, which may be another one now.
int become_reader(int pipe);
// From now on. A loop without end is told by processor time, which a busy machine does not use up.
void limit_reader(const Patience&);

}  // namespace npgpu::trace
