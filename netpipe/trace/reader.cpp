#include "netpipe/trace/decode.hpp"
#include "netpipe/trace/files.hpp"
#include "npgpu/trace.hpp"

namespace npgpu {

Trace read_trace(const std::filesystem::path& path, Guard guard) {
  const auto bytes = trace::read_file(path);
  const auto read = [&] { return trace::decode(bytes, path.string()); };
  if (guard == Guard::child) trace::rehearse(bytes.size(), path.string(), read);
  return read();
}

}  // namespace npgpu
