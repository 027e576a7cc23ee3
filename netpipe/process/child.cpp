#include "netpipe/process/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <exception>
#include <fstream>
#include <new>
#include <sstream>

#include "npgpu/vocabulary/device.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::process {

std::optional<int> Ending::signal() const {
  return WIFSIGNALED(status_) ? std::optional(WTERMSIG(status_)) : std::nullopt;
}

std::optional<int> Ending::exit_code() const {
  return WIFEXITED(status_) ? std::optional(WEXITSTATUS(status_)) : std::nullopt;
}

std::string Ending::text() const {
  if (!signal()) return "it ends without a word";
  return *signal() == SIGXCPU ? "it does not end" : ::strsignal(*signal());
}

Child::~Child() {
  if (!is_there()) return;
  signal(SIGKILL);
  (void)wait();
}

void Child::signal(int number) const {
  if (is_there()) ::kill(pid_, number);
}

Ending Child::wait() { return awaited(0).value_or(Ending(0)); }

std::optional<Ending> Child::ended() { return awaited(WNOHANG); }

std::optional<Ending> Child::awaited(int options) {
  int status = 0;  // where this process ignores SIGCHLD, how its children end is not known
  if (retried([&] { return ::waitpid(pid_, &status, options); }) == 0) return std::nullopt;
  pid_ = -1;
  return Ending(status);
}

Child started(const Program& program, const std::string& what) {
  const auto require = [&](int error) {
    if (error) throw Error(ErrorKind::failed, what + " cannot be started: " + system_text(error));
  };
  int highest = STDERR_FILENO;
  for (const Program::Given& one : program.given) highest = std::max(highest, one.number);
  struct Actions {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    Actions() { ::posix_spawn_file_actions_init(&files), ::posix_spawnattr_init(&attributes); }
    ~Actions() { ::posix_spawn_file_actions_destroy(&files), ::posix_spawnattr_destroy(&attributes); }
  } actions;
  // Copied above all numbers there, so that giving one does not replace another that is still to be given.
  std::vector<Descriptor> copies;
  for (const Program::Given& one : program.given) {
    copies.emplace_back(::fcntl(one.descriptor, F_DUPFD_CLOEXEC, highest + 1));
    require(copies.back().open() ? 0 : errno);
    require(::posix_spawn_file_actions_adddup2(&actions.files, copies.back().get(), one.number));
  }
  if (program.in_own_group) require(::posix_spawnattr_setflags(&actions.attributes, POSIX_SPAWN_SETPGROUP));
  std::vector<std::string> words = program.words;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t pid = -1;
  require(::posix_spawn(&pid, program.file.c_str(), &actions.files, &actions.attributes, arguments.data(), environ));
  return Child(pid);
}

// Copies of this process that do one thing.

namespace {

// Returns the pipe's write end, which may be another descriptor now.
int become_child(int write_end) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Where the standard descriptors are closed, the pipe may have got one of their numbers.
  if (write_end <= STDERR_FILENO) write_end = ::fcntl(write_end, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  for (const int number : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGXCPU, SIGTERM, SIGINT})
    ::signal(number, SIG_DFL);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  // Aborting libraries print; the parent says it in its own words.
  const int nowhere = ::open("/dev/null", O_WRONLY);
  for (const int standard : {STDOUT_FILENO, STDERR_FILENO})
    if (nowhere >= 0 && nowhere != standard) ::dup2(nowhere, standard);
  return write_end;
}

[[noreturn]] void child_main(Pipe& pipe, const std::function<void(int)>& act) {
  ::close(pipe.read_end.release());
  try {
    act(become_child(pipe.write_end.get()));
  } catch (...) {
    ::_exit(1);
  }
  ::_exit(0);  // no destructors: what they would flush is the parent's
}

Seconds processor_time() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return Seconds{seconds(used.ru_utime) + seconds(used.ru_stime)};
}

}  // namespace

ForkedChild::ForkedChild(const std::function<void(int)>& act) {
  Pipe pipe;
  const pid_t pid = ::fork();
  if (pid < 0) throw Error(ErrorKind::failed, "a process cannot be started: " + system_text(errno));
  if (pid == 0) child_main(pipe, act);
  child = Child(pid);
  read_end = std::move(pipe.read_end);  // the child's write end is now the only one: its end is the end of the pipe
}

void limit_this_process(const Limits& limits) {
  const auto limit = [](auto resource, rlim_t most) {
    rlimit now{};
    ::getrlimit(resource, &now);
    now.rlim_cur = std::min(now.rlim_max, most);
    ::setrlimit(resource, &now);
  };
  limit(RLIMIT_CPU, static_cast<rlim_t>(std::ceil((processor_time() + limits.processor_time).count())));
#ifndef __SANITIZE_ADDRESS__  // which takes room for shadows of all memory
  std::size_t pages = 0;      // of the address space, which is much where there is a GPU
  std::ifstream("/proc/self/statm") >> pages;
  if (pages > 0) limit(RLIMIT_AS, pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + limits.memory);
#endif
}

Reply reply_of_child(const std::function<std::string()>& answer, const Limits& limits) try {
  using Outcome = Reply::Outcome;
  enum Kind : std::uint32_t { returned, threw, no_memory };
  ForkedChild forked([&](int write_end) {
    limit_this_process(limits);
    try {
      send(write_end, {returned, 0, answer()});
    } catch (const std::bad_alloc&) {
      send(write_end, {no_memory, 0, {}});
    } catch (const std::exception& e) {
      send(write_end, {threw, 0, e.what()});
    }
  });
  Inbox inbox(std::move(forked.read_end));
  const SteadyClock clock;
  const Seconds end = clock.now() + limits.wall_time;
  do
    if (!is_readable(inbox.descriptor(), end - clock.now())) return {Outcome::died, "it does not end"};
  while (inbox.read_some());
  const Ending ending = forked.child.wait();
  auto message = inbox.next();
  if (!message || ending.signal()) return {Outcome::died, ending.text()};
  const Outcome outcome = message->kind == returned    ? Outcome::returned
                          : message->kind == no_memory ? Outcome::no_memory
                                                       : Outcome::threw;
  return {outcome, std::move(message->text)};
} catch (const Error&) {
  return {};
}

namespace {

// The lock is the process's, not the descriptor's: children that inherit the descriptor do not share it.
void lock(int fd, int number, short type) {
  struct flock one {};
  one.l_type = type;
  one.l_whence = SEEK_SET;
  one.l_start = number;
  one.l_len = 1;
  retried([&] { return ::fcntl(fd, F_SETLKW, &one); });
}

}  // namespace

Turn::Turn() : descriptor_(std::make_shared<Descriptor>(::memfd_create("npgpu-turn", MFD_CLOEXEC))) {
  if (!descriptor_->open()) throw Error(ErrorKind::failed, "processes cannot take turns: " + system_text(errno));
}

Turn::Turn(Descriptor inherited) : descriptor_(std::make_shared<Descriptor>(std::move(inherited))) {
  if (::fcntl(get(), F_GET_SEALS) < 0) throw Error(ErrorKind::failed, "the descriptor is of something else");
  (void)::fcntl(get(), F_SETFD, FD_CLOEXEC);
}

std::shared_ptr<void> Turn::take(int number, bool shared) const {
  lock(get(), number, shared ? F_RDLCK : F_WRLCK);
  return {nullptr, [number, kept = descriptor_](void*) { lock(kept->get(), number, F_UNLCK); }};
}

namespace {

// The content of a small file that the kernel makes; empty if there is none.
std::string read_proc_file(const std::string& path) {
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 1024> text{};
  const ssize_t length = fd.open() ? ::read(fd.get(), text.data(), text.size()) : -1;
  return {text.data(), length < 0 ? 0 : static_cast<std::size_t>(length)};
}

// What follows the name in a process's stat: the state, field 3 of proc(5), and on. Empty if there is no such process.
std::vector<std::string> stat_of(long pid) {
  const std::string stat = read_proc_file(fmt::format("/proc/{}/stat", pid));
  const std::size_t name_ends = stat.rfind(')');
  std::vector<std::string> all;
  if (name_ends == std::string::npos) return all;
  std::istringstream fields(stat.substr(name_ends + 1));
  for (std::string field; fields >> field;) all.push_back(field);
  return all;
}
constexpr std::size_t state = 0, start_time = 19;

std::string start_in(const std::vector<std::string>& fields) {
  std::string boot = read_proc_file("/proc/sys/kernel/random/boot_id");
  if (fields.size() <= start_time || boot.empty()) return {};
  boot.erase(boot.find_last_not_of('\n') + 1);
  return boot + ":" + fields[start_time];
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

std::string start_of(long pid) { return start_in(stat_of(pid)); }

std::string fate_of(long pid, const std::string& start) {
  if (start.empty()) return {};
  const auto fields = stat_of(pid);
  if (start_in(fields) != start) return "is gone";
  if (fields[state] == "Z" || fields[state] == "X") return "is gone";  // nobody has asked yet how it ended
  if (fields[state] == "T" || fields[state] == "t") return "is stopped";
  return {};
}

}  // namespace npgpu::process
