#include "netpipe/trace/decode.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <exception>
#include <new>
#include <optional>

#include "netpipe/trace/files.hpp"
#include "netpipe/trace/hdf5.hpp"
#include "netpipe/trace/tables.hpp"
#include "npgpu/clock.hpp"
#include "npgpu/error.hpp"

namespace npgpu::trace {

namespace {

constexpr Seconds max_patience{600};  // on the wall, should it wait for something

// The child's verdict on the pipe: '+' for well, '-' and a text for an exception.
void say(int pipe, const std::string& verdict) {
  std::size_t said = 0;
  while (said < verdict.size()) {
    const ssize_t put = ::write(pipe, verdict.data() + said, verdict.size() - said);
    if (put <= 0) break;
    said += static_cast<std::size_t>(put);
  }
}

[[noreturn]] void be_the_child(int mouth, const std::function<void()>& read, Seconds max_processor_time) {
  const int pipe = become_reader(mouth);
  limit_processor_time(max_processor_time);
  try {
    read();
    say(pipe, "+");
  } catch (const std::exception& e) {
    say(pipe, std::string("-") + e.what());
  }
  ::_exit(0);  // no destructors: what they would flush is the parent's
}

// Everything the child says until it ends; nothing if it takes too long.
std::optional<std::string> listen(int pipe) {
  const SteadyClock clock;
  const Seconds end = clock.now() + max_patience;
  std::string said;
  for (;;) {
    const Seconds left = end - clock.now();
    pollfd ready{pipe, POLLIN, 0};
    const int polled = left.count() <= 0 ? 0 : ::poll(&ready, 1, static_cast<int>(left.count() * 1000) + 1);
    if (polled < 0 && errno == EINTR) continue;
    if (polled <= 0) return std::nullopt;
    std::array<char, 4096> some;
    const ssize_t got = ::read(pipe, some.data(), some.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return said;
    said.append(some.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

int become_reader(int mouth) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Where the standard descriptors are closed, the pipe may have got one of their numbers.
  const int pipe = mouth > STDERR_FILENO ? mouth : ::fcntl(mouth, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  for (const int number : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGXCPU, SIGTERM, SIGINT})
    ::signal(number, SIG_DFL);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  // Aborting libraries print; the parent says it in its own words.
  const int nowhere = ::open("/dev/null", O_WRONLY);
  for (const int standard : {STDOUT_FILENO, STDERR_FILENO})
    if (nowhere >= 0 && nowhere != standard) ::dup2(nowhere, standard);
  return pipe;
}

void limit_processor_time(Seconds most) {
  rlimit limit{};
  ::getrlimit(RLIMIT_CPU, &limit);
  limit.rlim_cur = std::min(limit.rlim_max, static_cast<rlim_t>(std::ceil(most.count())));
  ::setrlimit(RLIMIT_CPU, &limit);
}

Seconds patience_for(std::size_t bytes) {
  // A megabyte takes some milliseconds.
  return Seconds{std::ceil(static_cast<double>(bytes) / 1e6)};
}

GuardedRead guarded_read(const std::function<void()>& read, Seconds max_processor_time) {
  using Outcome = GuardedRead::Outcome;
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  const Descriptor ear(ends[0]);
  Descriptor mouth(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return {};
  if (child == 0) be_the_child(mouth.get(), read, max_processor_time);
  mouth = Descriptor();  // the child's is the only one now: its end is the end of the pipe
  const std::optional<std::string> said = listen(ear.get());
  if (!said) ::kill(child, SIGKILL);
  int status = 0;
  pid_t waited = 0;
  while ((waited = ::waitpid(child, &status, 0)) < 0 && errno == EINTR) {
  }
  if (said == "+") return {};
  if (said && !said->empty()) return {Outcome::threw, said->substr(1)};
  const bool by_signal = waited == child && WIFSIGNALED(status);
  if (!said || (by_signal && WTERMSIG(status) == SIGXCPU)) return {Outcome::died, "it does not end"};
  return {Outcome::died, by_signal ? ::strsignal(WTERMSIG(status)) : "it ends without a word"};
}

namespace {

// HDF5's signature stands at 0, or behind a user's block of 512 bytes or a power of two times that.
bool signed_by_hdf5(std::span<const std::byte> bytes) {
  constexpr std::array<unsigned char, 8> signature{0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  for (std::size_t at = 0; at + signature.size() <= bytes.size(); at = at == 0 ? 512 : 2 * at)
    if (std::memcmp(bytes.data() + at, signature.data(), signature.size()) == 0) return true;
  return false;
}

// "2.0" -> 2, 0
void read_version(const std::string& text, Trace& trace) {
  const char* const end = text.data() + text.size();
  const auto [dot, major_error] = std::from_chars(text.data(), end, trace.version_major);
  const bool has_major = major_error == std::errc() && dot != end && *dot == '.';
  const auto [rest, minor_error] = std::from_chars(has_major ? dot + 1 : end, end, trace.version_minor);
  if (minor_error != std::errc() || rest != end || trace.version_major < 1 || trace.version_minor < 0)
    throw FormatError("attribute 'schema_version' of / is '" + text + "', no version");
  if (trace.version_major > version_major)
    throw FormatError(
        fmt::format("has trace version {}, and this program reads {}.x: a newer npgpu is needed", text, version_major));
  if (trace.version_major < version_major)
    throw FormatError(
        fmt::format("has trace version {}, which only the npgpu that wrote it reads; this one reads {}.x, "
                    "so it has to be measured again",
                    text, version_major));
}

void read_root(hid_t file, Trace& trace) {
  if (!has(file, "schema_name"))
    throw FormatError("is an HDF5 file but not an npgpu trace: it has no attribute 'schema_name'");
  const std::string schema = get_text(file, "/", "schema_name");
  if (schema != schema_name)
    throw FormatError(fmt::format("is an HDF5 file but not an npgpu trace: its schema_name is '{}'", schema));
  read_version(get_text(file, "/", "schema_version"), trace);
  trace.root.complete = get_flag(file, "/", "complete");
  get_header(file, "/", trace.root);
}

// A continued trace has groups in groups: resume_1 and resume_1/host.
void read_provenance(hid_t group, const std::string& where, const std::string& prefix, int depth, Provenance& all) {
  for (const std::string& name : names_in(group)) {
    const std::string path = where + "/" + name;
    const Handle one = open_group(group, where, name);
    all.emplace_back(prefix + name, get_facts(one, path));
    if (depth > 1) read_provenance(one, path, prefix + name + "/", depth - 1, all);
  }
}

bool is_number(const std::string& name) { return name.find_first_not_of("0123456789") == std::string::npos; }

// Numbered without gaps; a gap is a FormatError. A kind that the trace is older than has no group.
template <class K> void read_kind(hid_t file, std::uint64_t image_bytes, std::vector<Series<K>>& all) {
  const std::string parent(K::name);
  if (!has_link(file, parent)) return;
  const Handle groups = open_group(file, "/", parent);
  const auto names = names_in(groups);
  const auto count = static_cast<std::size_t>(std::count_if(names.begin(), names.end(), is_number));
  for (std::size_t i = 0; i < count; ++i) {
    const std::string where = "/" + parent + "/" + group_name(i);
    const Handle group = open_group(groups, "/" + parent, group_name(i));
    Series<K>& series = all.emplace_back();
    get_header(group, where, series);
    series.visits = Table<Visit<K>>::open(group, where, "visits", image_bytes).read();
    series.samples = Table<typename K::Sample>::open(group, where, "samples", image_bytes).read();
    check_rows(series, where);
  }
}

Trace read_image(std::span<const std::byte> bytes) {
  if (!signed_by_hdf5(bytes)) throw FormatError("is not an HDF5 file");
  const Handle file = [&] {
    try {
      return open_image(bytes);
    } catch (const FormatError& flaw) {
      const std::string why = flaw.what();
      throw FormatError((why.find("truncated") != std::string::npos ? "is truncated: " : "is damaged: ") + why);
    }
  }();
  Trace trace;
  read_root(file, trace);
  read_provenance(open_group(file, "/", "provenance"), "/provenance", "", 2, trace.provenance);
  for_each_kind([&]<class K>() { read_kind(file, bytes.size(), trace.of<K>()); });
  return trace;
}

}  // namespace

Trace decode(std::span<const std::byte> bytes, const std::string& file) {
  try {
    return read_image(bytes);
  } catch (const FormatError& flaw) {
    throw Error(ErrorKind::usage, file + ": " + flaw.what());
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::usage, file + ": needs more memory than there is");
  }
}

void rehearse(std::size_t bytes, const std::string& file, const std::function<void()>& what) {
  const GuardedRead rehearsal = guarded_read(
      [&] {
        what();
        H5garbage_collect();  // where damage made HDF5 write past its buffers, freeing them fails: here, not in the run
      },
      patience_for(bytes));
  if (rehearsal.outcome == GuardedRead::Outcome::threw) throw Error(ErrorKind::usage, rehearsal.text);
  if (rehearsal.outcome == GuardedRead::Outcome::died)
    throw Error(ErrorKind::usage, fmt::format("{}: is damaged: HDF5 fails on it ({})", file, rehearsal.text));
}

}  // namespace npgpu::trace

npgpu::Trace npgpu::read_trace(const std::filesystem::path& path, Guard guard) {
  const auto bytes = trace::read_file(path);
  const auto read = [&] { return trace::decode(bytes, path.string()); };
  if (guard == Guard::child) trace::rehearse(bytes.size(), path.string(), read);
  return read();
}
