#include "npgpu/probe.hpp"

namespace npgpu {

std::string title(const ProbeCase& c) {
  std::string text = c.probe + ' ' + c.device + ' ';
  text += name(c.operation);
  text += ' ';
  text += name(c.type);
  if (c.form == Form::dependent) text += " dependent";
  if (c.space != Space::registers && c.space != Space::global && c.space != Space::host) {
    text += ' ';
    text += name(c.space);
  }
  return text;
}

}  // namespace npgpu
