// Runs rounds in children, so that one that crashes or hangs ends no other, and counts what became of them.
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <new>

#include "fuzz.hpp"
#include "npgpu/vocabulary/trace.hpp"

#ifdef __SANITIZE_ADDRESS__
extern "C" const char* __asan_default_options() {
  return "detect_leaks=0:quarantine_size_mb=8:max_allocation_size_mb=1000:allocator_may_return_null=0:handle_abort=1";
}
extern "C" const char* __ubsan_default_options() { return "print_stacktrace=1"; }
#endif

namespace {

using namespace npgpu;
using namespace npgpu::fuzz;
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr double longest_wait_s = 60;  // should it wait for something
#ifdef __SANITIZE_ADDRESS__
constexpr double longest_s = 40;        // of processors, which a busy machine does not use up; a round asks twice
constexpr long most_kib = 3000 * 1000;  // of which shadows and quarantine take most; no limit of memory holds there
#else
constexpr double longest_s = 10;
constexpr long most_kib = 1000 * 1000;
#endif
constexpr std::size_t rounds_of_child = 500;  // what a process gathers ends with it

// What a child tells of itself, in memory that both see.
struct Shared {
  std::size_t round;       // that it is in
  std::int64_t began_ns;   // when
  std::size_t codes[128];  // answers by exit code
  std::size_t flaws;
  double slowest_s, slowest_cpu_s;
  std::size_t slowest_round;
  long peak_kib;
  char flaw[2000];  // of `round`, if it has one
};

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

double cpu_s() {
  double all = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used{};
    getrusage(who, &used);
    for (const timeval& one : {used.ru_utime, used.ru_stime})
      all += static_cast<double>(one.tv_sec) + 1e-6 * static_cast<double>(one.tv_usec);
  }
  return all;
}

long peak_kib() {
  rusage self{}, children{};
  getrusage(RUSAGE_SELF, &self);
  getrusage(RUSAGE_CHILDREN, &children);
  return std::max(self.ru_maxrss, children.ru_maxrss);
}

std::string text_of(const Arguments& words) {
  std::string line = "npgpu";
  for (const std::string& word : words) line += ' ' + cli::quoted(word);
  return line;
}

// False if it has a flaw.
bool run_round(const Kind& kind, std::uint64_t seed, std::size_t round, Shared& shared) {
  std::seed_seq mixed{seed, static_cast<std::uint64_t>(round)};
  Random random(mixed);
  const std::vector<Arguments> all = kind.round(random);
  std::string lines;
  for (const Arguments& words : all) lines += text_of(words) + '\n';
  write("commands", lines);
  shared.began_ns = now_ns();
  const double cpu = cpu_s();
  for (const Arguments& words : all) {
    for (const char* old : {"x.html", "x.xml", "x.prom", "out.h5"}) fs::remove(old);
    const Answer answer = answer_to(words);
    ++shared.codes[static_cast<std::size_t>(answer.code) & 127];
    auto flaw = flaw_of(words, answer);
    if (!flaw && kind.judge) flaw = kind.judge(words, answer);
    if (flaw) {
      const std::string text = text_of(words) + ": " + *flaw;
      std::strncpy(shared.flaw, text.c_str(), sizeof shared.flaw - 1);
      return false;
    }
  }
  const double took = 1e-9 * static_cast<double>(now_ns() - shared.began_ns);
  if (const double used = cpu_s() - cpu; used > longest_s) {
    std::strncpy(shared.flaw, fmt::format("took {:.1f} s of processors", used).c_str(), sizeof shared.flaw - 1);
    return false;
  }
  if (took > shared.slowest_s) {
    shared.slowest_s = took;
    shared.slowest_cpu_s = cpu_s() - cpu;
    shared.slowest_round = round;
  }
  shared.peak_kib = std::max(shared.peak_kib, peak_kib());
  if (peak_kib() > most_kib) {
    std::strncpy(shared.flaw, fmt::format("took {} MiB of memory", peak_kib() / 1024).c_str(), sizeof shared.flaw - 1);
    return false;
  }
  return true;
}

class Fuzzer {
 public:
  Fuzzer(const Kind& kind, std::size_t rounds, std::uint64_t seed)
      : kind_(kind),
        rounds_(rounds),
        seed_(seed),
        shared_(static_cast<Shared*>(
            mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    new (shared_) Shared{};
  }

  // How many rounds failed.
  std::size_t all(std::size_t first) {
    for (std::size_t round = first; round < first + rounds_;) {
      shared_->round = round;
      shared_->began_ns = now_ns();
      shared_->flaw[0] = 0;
      const std::size_t end = std::min(first + rounds_, round + rounds_of_child);
      const pid_t child = fork();
      if (child == 0) be_child(round, end);
      const std::string failure = wait_for(child);
      if (failure.empty()) {
        round = end;
        continue;
      }
      keep(shared_->round, failure);
      round = shared_->round + 1;
    }
    report();
    return failures_;
  }

 private:
  [[noreturn]] void be_child(std::size_t round, std::size_t end) {
    if (!std::freopen("stderr.txt", "w", stderr)) _exit(9);
    for (; round < end; ++round) {
      shared_->round = round;
      if (!run_round(kind_, seed_, round, *shared_)) _exit(1);
    }
    _exit(0);
  }

  // Why it ended too soon; empty if it did not.
  std::string wait_for(pid_t child) {
    for (;;) {
      int status = 0;
      const pid_t ended = waitpid(child, &status, WNOHANG);
      if (ended == child) {
        if (WIFSIGNALED(status)) return fmt::format("signal {}", WTERMSIG(status));
        if (WEXITSTATUS(status) == 0) return {};
        return shared_->flaw[0] ? std::string(shared_->flaw)
                                : fmt::format("the process ended with {}", WEXITSTATUS(status));
      }
      if (1e-9 * static_cast<double>(now_ns() - shared_->began_ns) > longest_wait_s) {
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        return fmt::format("no answer after {} s", longest_wait_s);
      }
      usleep(2000);
    }
  }

  // The inputs and what the child printed, in a folder of their own.
  void keep(std::size_t round, const std::string& why) {
    ++failures_;
    const std::string folder = fmt::format("failed-{}-{}", kind_.name, round);
    std::error_code ignored;
    fs::create_directory(folder, ignored);
    for (const auto& entry : fs::directory_iterator("."))
      if (entry.is_regular_file())
        fs::copy(entry.path(), folder / entry.path().filename(), fs::copy_options::overwrite_existing, ignored);
    fmt::print("{} seed {} round {}: {}\n{}", kind_.name, seed_, round, why, read("commands"));
    std::string said = read("stderr.txt");
    for (const char* of : {"runtime error", "ERROR: AddressSanitizer", "SUMMARY"})
      if (const std::size_t at = said.find(of); at != std::string::npos)
        fmt::print("  {}\n", said.substr(at, said.find('\n', at) - at));
    fmt::print("  kept in {}\n", fs::absolute(folder).string());
    std::fflush(stdout);
  }

  void report() const {
    std::string codes;
    for (std::size_t code = 0; code < 128; ++code)
      if (shared_->codes[code]) codes += fmt::format("{}{}: {}", codes.empty() ? "" : ", ", code, shared_->codes[code]);
    fmt::print(
        "{}: {} rounds from seed {}, {} failed; answers by exit code {}; slowest {:.2f} s ({:.2f} s of processors, "
        "round {}); at most {} MiB\n",
        kind_.name, rounds_, seed_, failures_, codes, shared_->slowest_s, shared_->slowest_cpu_s,
        shared_->slowest_round, shared_->peak_kib / 1024);
  }

  const Kind& kind_;
  std::size_t rounds_, failures_ = 0;
  std::uint64_t seed_;
  Shared* shared_;
};

int usage() {
  std::string text = "usage: npgpu_fuzz KIND ROUNDS [SEED [ROUND]]\n";
  for (const Kind& kind : kinds()) text += fmt::format("  {:<14} {}\n", kind.name, kind.what);
  fmt::print(stderr, "{}", text);
  return 2;
}

std::uint64_t number(const char* text) { return std::strtoull(text, nullptr, 10); }

}  // namespace

int main(int argc, char** argv) {
  skip_hdf5_cleanup_at_exit();
  if (argc < 3) return usage();
  const auto kind = std::ranges::find(kinds(), std::string_view(argv[1]), &Kind::name);
  if (kind == kinds().end()) return usage();
  const std::uint64_t seed = argc > 3 ? number(argv[3]) : 1;
  const std::size_t first = argc > 4 ? number(argv[4]) : 0;
  try {
    kind->make_seeds();
  } catch (const std::exception& e) {
    fmt::print(stderr, "npgpu_fuzz: {}\n", e.what());
    return 1;
  }
  Fuzzer fuzzer(*kind, argc > 4 ? 1 : number(argv[2]), seed);
  return fuzzer.all(first) ? 1 : 0;
}
