// Products of matrices by a BLAS of the host, over its cores.
#include <fmt/format.h>

#include <cstring>

#include "probes/gemm/blas.hpp"
#include "probes/gemm/blas_threads.hpp"
#include "probes/gemm/elements.hpp"
#include "probes/gemm/gemm.hpp"
#include "probes/host/probe.hpp"

namespace npgpu {

namespace {

class HostGemmRunner final : public ProbeRunner {
 public:
  HostGemmRunner(const Probe& probe, std::span<const ProbeStep> steps) : ProbeRunner(probe, steps) {
    reserve(gemm::bytes_of(steps));
  }
  double work() const override { return gemm::work_of(shape()); }
  std::string binding() const override { return threads_.binding(); }

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
    // All work is that thread's: see BlasThreads.
    threads_.each([&] {
      typed([&]<class Real>(Real) {
        gemm::fill_left(as<Real>(a_), elements(), shape().m, transposes_a(shape().ops));
        gemm::fill_right(as<Real>(b_), elements(), shape().n, transposes_b(shape().ops));
      });
    });
    threads_.take(shape().blocks);
    spoil();
    threads_.each([&] { multiply(1); });
  }
  gemm::Elements elements() const { return gemm::elements_of(question(), shape()); }
  // C becomes numbers that are none or, where it is read, what it holds at first.
  void spoil() {
    threads_.each([&] {
      if (shape().beta == 0) std::memset(c_.data(), 0xFF, gemm::bytes_of(question(), shape()).c);
      else typed([&]<class Real>(Real) { gemm::fill_first(as<Real>(c_), shape().m, shape().n); });
    });
  }

  void multiply(std::uint64_t repeats) {
    update_ = {shape().alpha, shape().beta, repeats};
    const gemm::Call call = gemm::call_of(shape(), gemm::all_columns(shape()));
    typed([&]<class Real>(Real) {
      for (std::uint64_t i = 0; i < repeats; ++i)
        blas().multiply(as<Real>(a_), as<Real>(b_), as<Real>(c_), call, update_.sign(i));
    });
  }

  ProbeSample launch(std::uint64_t repeats) override {
    spoil();
    return threads_.run([&] { multiply(repeats); });
  }

  std::optional<std::string> wrong_result() override {
    std::optional<std::string> wrong;
    threads_.each([&] {
      typed([&]<class Real>(Real) {
        wrong = gemm::wrong_element(as<Real>(c_), shape().m, shape().n, elements(), update_);
      });
    });
    return wrong;
  }

  BlasThreads threads_;
  host::Pages a_, b_, c_;
  gemm::Update update_;
};

class HostGemmProbe final : public ProbeOf<HostProbe, HostGemmRunner> {
 public:
  std::string_view name() const override { return "gemm"; }
  std::string_view summary() const override { return "products of matrices by a BLAS, on one core and on all"; }
  bool takes_operands(const ProbeCase&, Operands operands) const override { return operands != Operands::pattern; }
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
    if (s.host_columns) return "all columns are the host's here: host_columns is of a GPU";
    if (!blas().set_threads && s.blocks != host::core_cpus().size())
      return fmt::format("{}: its number of threads cannot be set", blas().text);
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

 private:
  static constexpr Space spaces[] = {Space::host};
  Limit limit(const ProbeCase& c, const Layout& l) const override { return multiply_add_limit(c.type, l); }
};

}  // namespace
}  // namespace npgpu

NPGPU_REGISTERED(Probe, npgpu::HostGemmProbe)
