// Products of matrices by a BLAS of the host, over its cores. The library has threads of its own: they are found by
// what they run in a product that is not timed, and each is pinned to a core.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <set>

#include "probes/gemm/blas.hpp"
#include "probes/gemm/elements.hpp"
#include "probes/gemm/gemm.hpp"
#include "probes/host/probe.hpp"

namespace npgpu {

namespace {

constexpr int size_of_search = 512;  // of the product by which the library's threads are found
constexpr Seconds length_of_search{0.03};

class HostGemmRunner final : public ProbeRunner {
 public:
  HostGemmRunner(const Probe& probe, std::span<const ProbeStep> steps) : ProbeRunner(probe, steps) {
    reserve(gemm::bytes_of(steps));
  }
  double work() const override { return gemm::work_of(shape()); }
  std::string binding() const override {
    return fmt::format("the library's threads, one a core: cpus {}", fmt::join(cpus_, ", "));
  }

 private:
  template <class Visit> void typed(Visit visit) const {
    if (question().type == DataType::fp64) visit(double{});
    else visit(float{});
  }
  template <class Real> static Real* as(const host::Pages& pages) { return reinterpret_cast<Real*>(pages.data()); }

  void reserve(const gemm::MatrixBytes& bytes) {
    const auto grow = [](host::Pages& pages, std::uint64_t wanted) {
      if (pages.bytes() >= wanted) return;
      pages = {};  // given back before more is taken
      pages = host::Pages(wanted);
    };
    grow(a_, bytes.a);
    grow(b_, bytes.b);
    grow(c_, bytes.c);
  }

  void set_up() override {
    reserve(gemm::bytes_of(question(), shape()));
    // All work is the caller's: the library's threads spin for a while after a product, and this thread, which is not
    // pinned, would take turns with one of them.
    caller_.each([&](unsigned) {
      typed([&]<class Real>(Real) {
        gemm::fill_left(as<Real>(a_), shape().m, shape().k);
        gemm::fill_right(as<Real>(b_), shape().k, shape().n);
      });
    });
    take_threads();
    caller_.each([&](unsigned) { multiply(1); });
  }

  // Threads that ended since, as those of some libraries do where the process forks, are looked for again.
  void take_threads() {
    const auto there = thread_times();
    const bool all_there = std::ranges::all_of(
        pinned_, [&](int id) { return std::ranges::find(there, id, &ThreadTime::id) != there.end(); });
    if (threads_ == shape().blocks && all_there) return;
    threads_ = shape().blocks;
    if (blas().set_threads) blas().set_threads(static_cast<int>(threads_));
    std::vector<float> a(size_of_search * size_of_search, 1), b = a, c = a;
    int caller = 0;
    const auto search = [&] {
      const Seconds begin = steady_clock().now();
      while (steady_clock().now() - begin < length_of_search)
        blas().multiply(a.data(), b.data(), c.data(), size_of_search, size_of_search, size_of_search);
    };
    caller_.each([&](unsigned) {
      caller = static_cast<int>(gettid());
      search();  // the library makes its threads here, and those of a larger number fall asleep
    });
    const auto before = thread_times();
    const Seconds begin = steady_clock().now();
    caller_.each([&](unsigned) { search(); });
    const Seconds wall = steady_clock().now() - begin;
    pinned_ = threads_at_work(before, thread_times(), caller, wall.count(), threads_ - 1);
    for (std::size_t i = 0; i < pinned_.size(); ++i) host::pin_other_thread(pinned_[i], cpus_[i + 1]);
  }

  void multiply(std::uint64_t repeats) const {
    const int m = static_cast<int>(shape().m), n = static_cast<int>(shape().n), k = static_cast<int>(shape().k);
    typed([&]<class Real>(Real) {
      for (std::uint64_t i = 0; i < repeats; ++i) blas().multiply(as<Real>(a_), as<Real>(b_), as<Real>(c_), m, n, k);
    });
  }

  ProbeSample launch(std::uint64_t repeats) override {
    caller_.each([&](unsigned) {
      std::memset(c_.data(), 0xFF, gemm::bytes_of(question(), shape()).c);  // numbers that are none
    });
    ProbeSample sample = caller_.run([&](unsigned) { multiply(repeats); });
    // The caller's own cpu is one of them.
    std::map<int, std::uint32_t> on_cpu{{static_cast<int>(cpus_.front()), sample.max_blocks_on_unit}};
    for (const int id : pinned_) ++on_cpu[host::last_cpu(id)];
    sample.units = static_cast<std::uint32_t>(on_cpu.size());
    for (const auto& [cpu, threads] : on_cpu) sample.max_blocks_on_unit = std::max(sample.max_blocks_on_unit, threads);
    return sample;
  }

  std::optional<std::string> wrong_result() override {
    std::optional<std::string> wrong;
    caller_.each([&](unsigned) {
      typed([&]<class Real>(Real) { wrong = gemm::wrong_element(as<Real>(c_), shape().m, shape().n, shape().k); });
    });
    return wrong;
  }

  std::vector<unsigned> cpus_ = host::core_cpus();
  PinnedThreads caller_{{cpus_.front()}};
  std::uint32_t threads_ = 0;  // that the library was told to have
  std::vector<int> pinned_;    // of them, without the caller
  host::Pages a_, b_, c_;
};

class HostGemmProbe final : public HostProbe {
 public:
  std::string_view name() const override { return "gemm"; }
  std::string_view summary() const override { return "products of matrices by a BLAS, on one core and on all"; }
  std::vector<ProbeCase> cases(const std::string& device) const override {
    return blas().why_not.empty() ? gemm::cases(device, spaces) : std::vector<ProbeCase>{};
  }
  std::optional<std::string> refuses_case(const ProbeCase& c) const override {
    if (!blas().why_not.empty()) return blas().why_not;
    if (std::ranges::count(gemm::cases(c.device, spaces), c)) return std::nullopt;
    return "probe gemm multiplies matrices of fp32 and fp64 in the host's memory";
  }
  std::optional<std::string> refuses_shape(const ProbeCase& c, const Shape& s) const override {
    if (auto why = refuses_blocks(s)) return why;
    if (s.panels != 1) return "what the host computes is not copied: panels=1";
    if (!blas().set_threads && s.blocks != host::core_cpus().size())
      return fmt::format("{}: it cannot be told how many threads to have", blas().text);
    return gemm::refuses(c, s);
  }
  std::vector<Shape> shapes(const ProbeCase& c) const override {
    const auto units = static_cast<std::uint32_t>(host::core_cpus().size());
    auto all = gemm::host_shapes(cores_one_by_one(units));
    std::erase_if(all, [&](const Shape& s) { return refuses_shape(c, s).has_value(); });
    return all;
  }
  ProbeContext context(const ProbeCase& c) const override {
    ProbeContext context = HostProbe::context(c);
    context.library = blas().text;
    return context;
  }
  MemoryNeed needs(std::span<const ProbeStep> steps) const override { return {gemm::bytes_of(steps).sum(), 0}; }
  std::unique_ptr<Runner<Probes>> open(std::span<const ProbeStep> steps) const override {
    return std::make_unique<HostGemmRunner>(*this, steps);
  }

 private:
  static constexpr Space spaces[] = {Space::host};
  Limit limit(const ProbeCase& c, const Layout& l) const override { return multiply_add_limit(c.type, l); }
};

}  // namespace
}  // namespace npgpu

NPGPU_REGISTERED(Probe, npgpu::HostGemmProbe)
