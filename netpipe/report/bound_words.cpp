#include "netpipe/report/bound_words.hpp"

namespace npgpu {

std::string bound_words(Bound bound) {
  switch (bound) {
    case Bound::h2d_engine:
      return "the engine for copies in";
    case Bound::d2h_engine:
      return "the engine for copies out";
    case Bound::copy_engine:
      return "the one copy engine";
    case Bound::compute:
      return "the kernel";
    case Bound::host_issue:
      return "the host, issuing";
  }
  return {};
}

}  // namespace npgpu
