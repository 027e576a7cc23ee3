#include "netpipe/trace/decode.hpp"
#include "netpipe/trace/files.hpp"
#include "npgpu/trace.hpp"

namespace npgpu {

Trace read_trace(const std::filesystem::path& path) {
  return trace::decode_guarded(trace::read_file(path), path.string());
}

}  // namespace npgpu
