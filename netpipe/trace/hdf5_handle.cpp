#include "netpipe/trace/hdf5_handle.hpp"

namespace npgpu::trace {

void silence_hdf5() { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

std::string hdf5_reason() {
  std::string reason;
  // Upward begins with the innermost call, which knows best.
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned number, const H5E_error2_t* error, void* text) -> herr_t {
        if (number == 0 && error->desc) *static_cast<std::string*>(text) = error->desc;
        return 0;
      },
      &reason);
  H5Eclear2(H5E_DEFAULT);
  return reason;
}

void fail(const std::string& what) {
  const std::string reason = hdf5_reason();
  throw FormatError("cannot " + what + (reason.empty() ? "" : ": " + reason));
}

}  // namespace npgpu::trace
