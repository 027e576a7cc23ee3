#include "netpipe/collectives/nccl.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "netpipe/engine/algorithms.hpp"
#include "npgpu/vocabulary/units.hpp"

extern char** environ;

namespace npgpu::nccl {

namespace {

constexpr int least_version = 21300;

// The first function that the library does not have; null if it has all.
const char* missing_of(void* from, Library& l) {
  const auto is_missing = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(from, name));
    return function == nullptr;
  };
  const char* missing = nullptr;
  const auto find = [&](auto& function, const char* name) {
    if (!missing && is_missing(function, name)) missing = name;
  };
  find(l.get_version, "ncclGetVersion");
  find(l.error_text, "ncclGetErrorString");
  find(l.last_error, "ncclGetLastError");
  find(l.init_all, "ncclCommInitAll");
  find(l.destroy, "ncclCommDestroy");
  find(l.abort, "ncclCommAbort");
  find(l.async_error, "ncclCommGetAsyncError");
  find(l.group_start, "ncclGroupStart");
  find(l.group_end, "ncclGroupEnd");
  find(l.all_reduce, "ncclAllReduce");
  find(l.reduce_scatter, "ncclReduceScatter");
  find(l.all_gather, "ncclAllGather");
  find(l.broadcast, "ncclBroadcast");
  find(l.reduce, "ncclReduce");
  find(l.send, "ncclSend");
  find(l.receive, "ncclRecv");
  (void)is_missing(l.reset_debug, "ncclResetDebugInit");
  return missing;
}

std::string version_of(int code) { return fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100); }

// What changes its choices behind a program's back, in order.
std::string settings() {
  std::vector<std::string> all;
  for (char** one = environ; *one; ++one)
    if (std::string_view(*one).starts_with("NCCL_")) all.emplace_back(*one);
  std::ranges::sort(all);
  std::string text;
  for (const std::string& one : all) text += ", " + one;
  return text;
}

constexpr const char* remedy = "install NCCL (libnccl2), or name the library in NPGPU_NCCL";

}  // namespace

int type_of(DataType type) {
  switch (type) {
    case DataType::fp16: return fp16;
    case DataType::bf16: return bf16;
    case DataType::int8: return int8;
    default: return fp32;
  }
}

Library load() {
  const char* const chosen = std::getenv("NPGPU_NCCL");
  const bool is_chosen = chosen && *chosen;
  const std::string name = is_chosen ? chosen : "libnccl.so.2";
  Library l;
  void* const found = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);  // held as long as the process
  if (!found) {
    l.why_not = is_chosen
                    ? fmt::format("NCCL is not there: {}, which NPGPU_NCCL names, cannot be opened", name)
                    : fmt::format("NCCL is not there: no {} is where the system looks for libraries; {}", name, remedy);
    return l;
  }
  if (const char* const missing = missing_of(found, l)) {
    l.why_not = fmt::format("{} has no {}: a NCCL of 2.13 or later has it; {}", name, missing, remedy);
    return l;
  }
  if (const int result = l.get_version(&l.version); result != success)
    l.why_not = fmt::format("{} does not report its version: {}; {}", name, said(l.error_text(result)), remedy);
  else if (l.version <= 0) l.why_not = fmt::format("{} reports the version {}; {}", name, l.version, remedy);
  // Before 2.9 a version was three digits shorter.
  else if (l.version < least_version)
    l.why_not = fmt::format(
        "{} is NCCL {}, and 2.13 or later is needed; {}", name,
        l.version < 10000 ? fmt::format("{}.{}", l.version / 1000, l.version / 100 % 10) : version_of(l.version),
        remedy);
  l.text = fmt::format("NCCL {} ({}){}", version_of(l.version), name, settings());
  return l;
}

const Library& library() {
  static const Library found = load();
  return found;
}

void check(int result, const char* what, Communicator communicator) {
  if (result == success || result == in_progress) return;
  const Library& l = library();
  std::string text = fmt::format("NCCL: {}: {}", what, said(l.error_text(result)));
  const char* const more = l.last_error(communicator);
  if (more && *more) text += fmt::format(" ({})", more);
  throw Error(ErrorKind::failed, text);
}

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
