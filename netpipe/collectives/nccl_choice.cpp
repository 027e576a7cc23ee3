#include "netpipe/collectives/nccl_choice.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstdlib>

namespace npgpu::nccl {

namespace {

// The word behind `before`; empty where the line has none.
std::string_view word_after(std::string_view line, std::string_view before) {
  const std::size_t at = line.find(before);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = line.substr(at + before.size());
  return rest.substr(0, rest.find_first_of(" {}.,/\r"));
}

std::optional<std::int32_t> number_in(std::string_view word) {
  std::int32_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

// Its place in the list, by its name as NCCL writes it, or by its number, which some versions write. -1: not there.
template <std::size_t n> std::int32_t code_of(std::string_view word, const std::array<std::string_view, n>& names) {
  if (const auto number = number_in(word)) return *number >= 0 && *number < static_cast<int>(n) ? *number : -1;
  std::string plain;
  for (const char c : word) plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (std::size_t i = 0; i < n; ++i) {
    std::string known;
    for (const char c : names[i])
      if (c != '-') known += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    std::erase(plain, '_');
    if (plain == known) return static_cast<std::int32_t>(i);
  }
  return -1;
}

constexpr std::int32_t symmetric_code = 7;

void read_line(std::string_view line, Choice& choice) {
  if (const auto path = word_after(line, "] via "); !path.empty())
    choice.path = std::max(choice.path, code_of(path, collective_paths));
  if (line.find(" Bytes -> ") == std::string_view::npos) return;
  if (const auto algorithm = word_after(line, " Bytes -> Algo "); !algorithm.empty()) {
    choice.algorithm = code_of(algorithm, collective_algorithms);
    choice.protocol = code_of(word_after(line, " proto "), collective_protocols);
    const auto first = number_in(word_after(line, "channel{Lo..Hi}={"));
    const std::size_t last_at = line.rfind("..");
    const auto last =
        last_at == std::string_view::npos ? std::nullopt : number_in(word_after(line.substr(last_at), ".."));
    choice.channels = first && last && *last >= *first ? *last - *first + 1 : -1;
  } else if (const auto channels = word_after(line, " nchannels "); !channels.empty()) {
    choice.algorithm = symmetric_code;
    choice.protocol = -1;
    choice.channels = number_in(channels).value_or(-1);
  }
}

template <class Function> void each_line(std::string_view log, const Function& function) {
  while (!log.empty()) {
    const std::string_view line = log.substr(0, log.find('\n'));
    function(line);
    log.remove_prefix(std::min(line.size() + 1, log.size()));
  }
}

void restore(const char* name, const std::optional<std::string>& value) {
  if (value) setenv(name, value->c_str(), 1);
  else unsetenv(name);
}
std::optional<std::string> setting(const char* name) {
  const char* const value = std::getenv(name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}

// Where NCCL's own output goes while npgpu measures.
void print_warnings(std::string_view log) {
  each_line(log, [](std::string_view line) {
    if (line.find(" NCCL WARN ") != std::string_view::npos)
      std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
  });
}

// The user wants no more than warnings, and those on standard output: a log in a file begins anew, and is lost, where
// NCCL reads its settings again.
bool leaves_room(const std::optional<std::string>& level) {
  return !level || ((*level == "WARN" || *level == "VERSION") && !setting("NCCL_DEBUG_FILE"));
}

}  // namespace

Choice choice_in(std::string_view log) {
  Choice choice;
  each_line(log, [&](std::string_view line) { read_line(line, choice); });
  return choice;
}

Log::Log(const Library& library) : library_(library) {
  level_ = setting("NCCL_DEBUG");
  if (!library_.reset_debug || !leaves_room(level_)) return;
  file_ = process::Descriptor(::memfd_create("npgpu-nccl", MFD_CLOEXEC));
  if (file_.get() < 0) return;
  subsystems_ = setting("NCCL_DEBUG_SUBSYS");
  path_ = setting("NCCL_DEBUG_FILE");
  setenv("NCCL_DEBUG_SUBSYS", "TUNING,P2P,SHM,NET", 1);
  setenv("NCCL_DEBUG_FILE", fmt::format("/proc/self/fd/{}", file_.get()).c_str(), 1);
  setenv("NCCL_DEBUG", "INFO", 1);
  library_.reset_debug();
}

Log::~Log() {
  if (file_.get() < 0) return;
  if (level_ == "WARN") print_warnings(text());
  restore("NCCL_DEBUG", level_);
  restore("NCCL_DEBUG_SUBSYS", subsystems_);
  restore("NCCL_DEBUG_FILE", path_);
  library_.reset_debug();
}

std::string Log::text() const {
  std::string all;
  if (file_.get() < 0) return all;
  std::array<char, 4096> some{};
  for (off_t at = 0;;) {
    const ssize_t got = ::pread(file_.get(), some.data(), some.size(), at);
    if (got <= 0) return all;
    all.append(some.data(), static_cast<std::size_t>(got));
    at += got;
  }
}

}  // namespace npgpu::nccl
