#include "npgpu/beside.hpp"

namespace npgpu {

std::string_view deed_of(Beside beside) {
  switch (beside) {
    case Beside::nobody: break;
    case Beside::idle: return "holds a context";
    case Beside::copies: return "copies both ways";
    case Beside::kernels: return "computes";
    case Beside::launches: return "launches kernels";
  }
  return {};
}

}  // namespace npgpu
