// Products of matrices by a BLAS of the host, over its cores.
#include <fmt/format.h>

#include <cstring>

#include "probes/gemm/blas.hpp"
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

std::vector<ProbeCase> cases_of_gemm(const std::string& device) {
  constexpr Space spaces[] = {Space::host};
  return gemm::cases(device, spaces);
}
std::optional<std::string> refuses_gemm(const ProbeCase& c) {
  if (!blas().why_not.empty()) return blas().why_not;
  if (std::ranges::count(cases_of_gemm(c.device), c)) return std::nullopt;
  return "probe gemm multiplies matrices of fp32 and fp64 in the host's memory";
}
std::optional<std::string> refuses_product(const ProbeCase&, const Shape& s) {
  if (s.panels != 1) return "what the host computes is not copied: panels=1";
  if (s.host_columns) return "all columns are the host's here: host_columns is of a GPU";
  if (!blas().set_threads && s.blocks != host::core_cpus().size())
    return fmt::format("{}: its number of threads cannot be set", blas().text);
  return std::nullopt;
}
std::vector<Shape> shapes_of_gemm(const ProbeCase&, const Layout&) {
  return gemm::host_shapes(cores_one_by_one(static_cast<std::uint32_t>(host::core_cpus().size())));
}

const Host gemm_on_host({{.name = "gemm",
                          .open = runs<HostGemmRunner>,
                          .cases = cases_of_gemm,
                          .shapes = shapes_of_gemm,
                          .refuses_case = refuses_gemm,
                          .refuses = refuses_product,
                          .limit = [](const ProbeCase& c, const Layout& l) { return multiply_add_limit(c.type, l); },
                          .takes = [](const ProbeCase&, Operands operands) { return operands != Operands::pattern; },
                          .needs = [](std::span<const ProbeStep> steps) -> MemoryNeed {
                            return {gemm::bytes_of(steps).sum(), 0};
                          },
                          .library = [](const ProbeCase&) { return blas().text; }}});

}  // namespace
}  // namespace npgpu
