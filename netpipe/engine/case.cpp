#include "npgpu/transfer.hpp"

namespace npgpu {

std::string title(const TransferCase& c) {
  std::string text = c.module + ' ' + c.device + ' ';
  text += name(c.direction);
  text += ' ';
  text += name(c.memory);
  text += ' ';
  text += name(c.pattern);
  text += c.async ? " async " : " blocking ";
  text += name(c.timing);
  if (c.cache == Cache::cold) text += " cold";
  if (c.source_offset) text += " soffset=" + std::to_string(c.source_offset);
  if (c.target_offset) text += " roffset=" + std::to_string(c.target_offset);
  if (!c.bind) text += " unbound";
  return text;
}

}  // namespace npgpu
