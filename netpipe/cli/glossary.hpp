// Every option of the program, with its one meaning. Commands choose from these, so that an option, an NPGPU_* variable
// and a key of an INI file mean the same everywhere.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace npgpu::cli {

struct Meaning {
  std::string_view value;    // what stands behind it in a help text: SIZE, FILE; empty for a switch
  std::string text;          // sentences; what is usual in one command only is added there
  char letter = 0;           // its short form, if it has one
  bool repeats = false;      // may be given several times
  std::string_view alone{};  // what it is where none of its words stands behind it; empty: it needs one
};

const std::map<std::string_view, Meaning>& glossary();

}  // namespace npgpu::cli
