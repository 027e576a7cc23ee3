#include "netpipe/files/input.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "netpipe/process/descriptor.hpp"
#include "npgpu/vocabulary/device.hpp"

namespace npgpu::files {

using process::Descriptor;
using process::retried;
using process::system_text;

namespace {

std::string name_of(std::string_view what, const std::filesystem::path& path) {
  return what.empty() || path.empty() ? std::string(what) + path.string() : fmt::format("{}: {}", what, path.string());
}

class Input {
 public:
  Input(std::string_view what, const std::filesystem::path& path, const InputLimits& limits)
      : name_(name_of(what, path)), limits_(limits) {
    if (path.empty()) refuse("needs a file name");
    struct stat is {};
    // Looked at first, because opening may do something: a tape rewinds, a socket cannot be opened at all.
    if (::stat(path.c_str(), &is) != 0) refuse_errno();
    check(is.st_mode);
    // Non-blocking: a named pipe must not make us wait for a writer without end.
    fd_ = Descriptor(retried([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK); }));
    if (!fd_.open() || ::fstat(fd_.get(), &is) != 0) refuse_errno();
    check(is.st_mode);
    is_pipe_ = S_ISFIFO(is.st_mode);
    if (!is_pipe_ && static_cast<std::uint64_t>(is.st_size) > limits_.bytes) refuse_size();
  }

  std::string read() {
    is_pipe_ ? read_pipe() : read_file();
    return std::move(content_);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const { throw Error(ErrorKind::usage, name_ + ": " + why); }
  [[noreturn]] void refuse_errno() const { refuse("cannot be read: " + system_text(errno)); }
  [[noreturn]] void refuse_size() const {
    refuse(fmt::format("has more than {} MiB, the most that is read of such a file", limits_.bytes >> 20));
  }
  void check(unsigned mode) const {
    if (S_ISFIFO(mode) && !limits_.pipes) refuse("is a pipe, and must be a plain file, because it is read again");
    if (!S_ISREG(mode) && !S_ISFIFO(mode)) refuse(fmt::format("is {}, not a plain file", kind_text(mode)));
  }

  // What came: 0 at the end, -1 if nothing is there yet.
  ssize_t take() {
    std::array<char, 65536> some;
    const ssize_t got = retried([&] { return ::read(fd_.get(), some.data(), some.size()); });
    if (got < 0 && errno != EAGAIN) refuse_errno();
    if (got > 0) content_.append(some.data(), static_cast<std::size_t>(got));
    if (content_.size() > limits_.bytes) refuse_size();
    return got;
  }

  void read_file() {
    while (take() > 0) {
    }
  }

  void read_pipe() {
    constexpr int look_ms = 50;
    const SteadyClock clock;
    const Seconds begin = clock.now();
    Seconds last = begin;
    for (bool has_writer = false;;) {
      pollfd ready{fd_.get(), POLLIN, 0};
      ::poll(&ready, 1, look_ms);
      const ssize_t got = take();
      const Seconds now = clock.now();
      // Before the first writer a pipe reads as one at its end, but it has not hung up.
      if (got == 0 && (has_writer || ready.revents & POLLHUP)) return;
      if (got != 0) has_writer = true;
      if (got > 0) last = now;
      if (!has_writer && now - begin > limits_.writer)
        refuse(fmt::format("is a pipe, and no process writes to it ({:g} s)", limits_.writer.count()));
      if (now - last > limits_.silence)
        refuse(fmt::format("is a pipe through which nothing came for {:g} s", limits_.silence.count()));
      if (now - begin > limits_.total)
        refuse(fmt::format("is a pipe without an end within {:g} s", limits_.total.count()));
    }
  }

  std::string name_;
  const InputLimits& limits_;
  Descriptor fd_;
  bool is_pipe_ = false;
  std::string content_;
};

}  // namespace

std::string kind_text(unsigned mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return S_ISREG(mode) ? "a plain file" : "no file";
}

std::string read_input(std::string_view what, const std::filesystem::path& path, const InputLimits& limits) {
  return Input(what, path, limits).read();
}

std::string flaw_of_json(const nlohmann::json::exception& e) {
  // "[json.exception.parse_error.101] parse error at line 3, column 7: ..."
  std::string what = e.what();
  if (const std::size_t code = what.find("] "); code != std::string::npos) what.erase(0, code + 2);
  what.erase(std::min(what.find("; last read: "), what.size()));  // which may be all of the file
  return "not JSON: " + what;
}

namespace {

constexpr int max_depth = 32;

// `name` begins the sentence about what is wrong with it.
nlohmann::json parse_json(const std::string& name, std::string_view text, RepeatedKeys repeated) {
  using nlohmann::json;
  const auto refuse = [&](const std::string& why) { throw Error(ErrorKind::usage, name + ": " + why); };
  std::vector<std::set<std::string>> open;
  const auto watch = [&](int depth, json::parse_event_t event, json& value) {
    if (depth > max_depth) refuse(fmt::format("brackets nest deeper than {} levels", max_depth));
    if (repeated == RepeatedKeys::allowed) return true;
    if (event == json::parse_event_t::object_start) open.emplace_back();
    if (event == json::parse_event_t::object_end) open.pop_back();
    if (event == json::parse_event_t::key && !open.back().insert(value.get<std::string>()).second)
      refuse(fmt::format("the key '{}' stands twice in one object", value.get<std::string>()));
    return true;
  };
  try {
    return json::parse(text, watch);
  } catch (const json::exception& e) {
    refuse(flaw_of_json(e));
  }
  return {};
}

}  // namespace

nlohmann::json read_json(std::string_view what, const std::filesystem::path& path, const InputLimits& limits,
                         RepeatedKeys repeated) {
  const std::string text = read_input(what, path, limits);
  return parse_json((what.empty() ? "" : std::string(what) + ": ") + path.string(), text, repeated);
}

}  // namespace npgpu::files
