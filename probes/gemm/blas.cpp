#include "probes/gemm/blas.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "netpipe/engine/algorithms.hpp"
#include "netpipe/files/output.hpp"

namespace npgpu {

namespace {

using gemm::find;

// What the library says of itself: "OpenBLAS 0.3.21 ... SkylakeX" and the like.
std::string own_words(void* library) {
  char* (*openblas)() = nullptr;
  if (find(library, openblas, "openblas_get_config") && openblas()) {
    const std::string text = openblas();
    return text.substr(0, text.find_last_not_of(' ') + 1);
  }
  void (*mkl)(char*, int) = nullptr;
  if (find(library, mkl, {"MKL_Get_Version_String", "mkl_get_version_string"})) {
    char text[200] = {};
    mkl(text, sizeof text - 1);
    const std::string words = text;
    return words.substr(0, words.find_last_not_of(' ') + 1);
  }
  const char* (*blis)() = nullptr;
  if (find(library, blis, "bli_info_get_version_str")) return fmt::format("BLIS {}", said(blis()));
  return "a BLAS that does not say which it is";
}

Blas look() {
  constexpr const char* variable = "NPGPU_BLAS";
  const auto take = [](void* library, const std::string& name, Blas& b) {
    if (!find(library, b.sgemm, "sgemm_") || !find(library, b.dgemm, "dgemm_")) return false;
    find(library, b.set_threads, {"openblas_set_num_threads", "MKL_Set_Num_Threads"});
    b.text = fmt::format("{} ({})", own_words(library), name);
    return true;
  };
  if (auto found = gemm::look_for<Blas>(
          variable, {"libmkl_rt.so.2", "libmkl_rt.so", "libopenblas.so.0", "libblis.so.4", "libblas.so.3"}, take))
    return *found;
  const char* const chosen = gemm::chosen_library(variable);
  Blas none;
  none.why_not = chosen
                     ? fmt::format("NPGPU_BLAS names '{}', which cannot be opened or has no sgemm_ and dgemm_", chosen)
                     : "no BLAS is there: install OpenBLAS (libopenblas.so.0) or MKL, or name one in NPGPU_BLAS";
  return none;
}

std::string read_line(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

std::string task(int id) { return fmt::format("/proc/self/task/{}/", id); }

// Fields of /proc/PID/stat from the state, which is the third; the name before it may hold spaces.
std::vector<std::string> stat_fields(int id) {
  const std::string line = read_line(task(id) + "stat");
  std::vector<std::string> fields;
  const std::size_t end = line.rfind(')');
  if (end == std::string::npos) return fields;
  std::istringstream in(line.substr(end + 1));
  for (std::string word; in >> word;) fields.push_back(word);
  return fields;
}

constexpr std::size_t user_ticks = 11, system_ticks = 12;  // 14 and 15 of proc(5)

}  // namespace

const Blas& blas() {
  static const Blas found = look();
  return found;
}

std::vector<ThreadTime> thread_times() {
  std::vector<ThreadTime> all;
  std::error_code none;
  for (const std::filesystem::path& thread : files::entries_of("/proc/self/task", none)) {
    ThreadTime t{std::atoi(thread.filename().c_str()), 0};
    std::istringstream in(read_line(task(t.id) + "schedstat"));
    double nanoseconds = 0;
    if (in >> nanoseconds && nanoseconds > 0) t.ran_s = nanoseconds * 1e-9;
    else if (const auto fields = stat_fields(t.id); fields.size() > system_ticks)
      t.ran_s = (std::atof(fields[user_ticks].c_str()) + std::atof(fields[system_ticks].c_str())) /
                static_cast<double>(sysconf(_SC_CLK_TCK));
    all.push_back(t);
  }
  std::ranges::sort(all, {}, &ThreadTime::id);
  return all;
}

std::vector<int> threads_at_work(const std::vector<ThreadTime>& before, const std::vector<ThreadTime>& after,
                                 int caller, double wall_s, std::size_t most) {
  constexpr double share = 0.1;
  std::vector<ThreadTime> busy;
  for (const ThreadTime& t : after) {
    const auto earlier = std::ranges::find(before, t.id, &ThreadTime::id);
    const double ran = t.ran_s - (earlier == before.end() ? 0 : earlier->ran_s);
    if (t.id != caller && ran >= share * wall_s) busy.push_back({t.id, ran});
  }
  std::ranges::stable_sort(busy, std::greater(), &ThreadTime::ran_s);
  if (busy.size() > most) busy.resize(most);
  std::ranges::sort(busy, {}, &ThreadTime::id);
  std::vector<int> ids;
  for (const ThreadTime& t : busy) ids.push_back(t.id);
  return ids;
}

namespace {

constexpr int size_of_search = 512;  // of the product by which the library's threads are found
constexpr Seconds length_of_search{0.03};

}  // namespace

// Threads that ended since, as those of some libraries do where the process forks, are looked for again.
void BlasThreads::take(std::uint32_t count) {
  const auto there = thread_times();
  const bool all_there = std::ranges::all_of(
      pinned_, [&](int id) { return std::ranges::find(there, id, &ThreadTime::id) != there.end(); });
  if (threads_ == count && all_there) return;
  threads_ = count;
  if (blas().set_threads) blas().set_threads(static_cast<int>(threads_));
  std::vector<float> a(size_of_search * size_of_search, 1), b = a, c = a;
  const Shape square = gemm::square(size_of_search);
  const gemm::Call call = gemm::call_of(square, gemm::all_columns(square));
  int caller = 0;
  const auto search = [&] {
    const Seconds begin = steady_clock().now();
    while (steady_clock().now() - begin < length_of_search) blas().multiply(a.data(), b.data(), c.data(), call);
  };
  each([&] {
    caller = static_cast<int>(gettid());
    search();  // the library makes its threads here, and those of a larger number fall asleep
  });
  const auto before = thread_times();
  const Seconds begin = steady_clock().now();
  each(search);
  const Seconds wall = steady_clock().now() - begin;
  pinned_ = threads_at_work(before, thread_times(), caller, wall.count(), threads_ - 1);
  for (std::size_t i = 0; i < pinned_.size(); ++i) host::pin_other_thread(pinned_[i], cpus_[i + 1]);
}

ProbeSample BlasThreads::run(const std::function<void()>& work) {
  ProbeSample sample = caller_.run([&](unsigned) { work(); });
  // The caller's own cpu is one of them.
  std::map<int, std::uint32_t> on_cpu{{static_cast<int>(cpus_.front()), sample.max_blocks_on_unit}};
  for (const int id : pinned_) ++on_cpu[host::last_cpu(id)];
  sample.units = static_cast<std::uint32_t>(on_cpu.size());
  for (const auto& [cpu, threads] : on_cpu) sample.max_blocks_on_unit = std::max(sample.max_blocks_on_unit, threads);
  return sample;
}

std::string BlasThreads::binding() const {
  return fmt::format("the library's threads, one a core: cpus {}", fmt::join(cpus_, ", "));
}

}  // namespace npgpu
