#include "netpipe/record/import.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <fstream>

#include "netpipe/files/input.hpp"
#include "netpipe/process/descriptor.hpp"
#include "npgpu/vocabulary/field.hpp"

namespace npgpu::record {

void refuse_import(const std::filesystem::path& path, const std::string& why) {
  throw Error(ErrorKind::usage, path.string() + ": " + why);
}

void refuse_too_many(const std::filesystem::path& path, std::size_t events) {
  if (events > most_imported)
    refuse_import(path,
                  fmt::format("has more than {} events, the most that is read: record a shorter time", most_imported));
}

RecordMemory memory_called(std::string_view text) {
  std::string word(text);
  std::ranges::transform(word, word.begin(),
                         [](unsigned char c) { return c == ' ' ? '-' : static_cast<char>(std::tolower(c)); });
  return named<RecordMemory>(word).value_or(RecordMemory::unknown);
}

Recording import_recording(const std::filesystem::path& path) {
  struct stat is {};
  if (::stat(path.c_str(), &is) != 0) refuse_import(path, "cannot be read: " + process::system_text(errno));
  if (!S_ISREG(is.st_mode)) refuse_import(path, fmt::format("is {}, not a plain file", files::kind_text(is.st_mode)));
  std::string begin(16, '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse_import(path, "cannot be read: " + process::system_text(errno));
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<std::size_t>(file.gcount()));
  const std::size_t text = begin.find_first_not_of(" \t\r\n");
  if (begin.starts_with("SQLite format 3")) return recording_of(read_nsys(path));
  if (begin.starts_with("\x1f\x8b") || (text != std::string::npos && begin[text] == '{'))
    return recording_of(read_kineto(path));
  refuse_import(path,
                "is neither a trace that torch.profiler exported, nor one of Nsight Systems as SQLite; nsys export "
                "--type sqlite makes that of a .nsys-rep");
}

}  // namespace npgpu::record
