// Products of matrices by cuBLAS, with the matrices in the GPU's memory or in the host's, and by cuBLASLt of the types
// of tensor cores.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/host/facts.hpp"
#include "npgpu/vocabulary/units.hpp"
#include "probes/cuda.hpp"
#include "probes/gemm/blas.hpp"
#include "probes/gemm/cublas.hpp"
#include "probes/gemm/elements.hpp"
#include "probes/gemm/gemm.hpp"

namespace npgpu::cuda {

namespace {

// Grows as points need it: a runner may be asked for more than it was opened for.
class Matrix {
 public:
  explicit Matrix(Memory kind) : kind_(kind) {}
  void reserve(std::uint64_t bytes) {
    if (buffer_.bytes() >= bytes) return;
    buffer_ = Buffer();  // first, so that both need not fit at once
    buffer_ = Buffer(kind_, bytes);
  }
  std::byte* data() const { return buffer_.data(); }

 private:
  Memory kind_;
  Buffer buffer_;
};

struct Matrices {
  explicit Matrices(Memory kind) : a(kind), b(kind), c(kind) {}
  void reserve(const gemm::MatrixBytes& bytes) {
    a.reserve(bytes.a);
    b.reserve(bytes.b);
    c.reserve(bytes.c);
  }
  Matrix a, b, c;
};

std::vector<ProbeStep> steps_from_host(std::span<const ProbeStep> steps) {
  std::vector<ProbeStep> some;
  for (const ProbeStep& step : steps)
    if (step.question.space == Space::host) some.push_back(step);
  return some;
}

class GemmRunner final : public gemm::PanelRunner<CudaProbeRunner> {
 public:
  GemmRunner(const Probe& probe, std::span<const ProbeStep> steps)
      : PanelRunner(probe, steps), tables_(Memory::device, table_bytes + sizeof(std::uint64_t)) {
    device_.reserve(gemm::bytes_of(steps));
    host_.reserve(gemm::bytes_of(steps_from_host(steps)));
  }

 private:
  static constexpr std::uint64_t table_bytes = gemm::table_elements * sizeof(std::int32_t);
  static constexpr int looks = 3;

  bool by_tensor_cores() const { return gemm::is_tensor_type(question().type); }
  bool from_host() const { return question().space == Space::host; }
  gemm::MatrixBytes sizes() const { return gemm::bytes_of(question(), shape()); }
  template <class Real> static Real* as(std::byte* data) { return reinterpret_cast<Real*>(data); }
  // Calls visit with a value of the type of C.
  template <class Visit> void typed(Visit visit) const {
    if (question().type == DataType::fp64) visit(double{});
    else if (question().type == DataType::int8) visit(std::int32_t{});
    else visit(float{});
  }

  void set_up_panels() override {
    bench().gpu().make_current();
    device_.reserve(sizes());
    if (from_host()) host_.reserve(sizes());
    fill_operands(question(), shape(), device_.a.data(), device_.b.data(), stream());
    const std::vector<std::int32_t> tables = gemm::tables_of(elements());
    copy(tables_.data(), reinterpret_cast<const std::byte*>(tables.data()), table_bytes, cudaMemcpyHostToDevice);
    if (from_host()) {
      copy(host_.a.data(), device_.a.data(), sizes().a, cudaMemcpyDeviceToHost);
      copy(host_.b.data(), device_.b.data(), sizes().b, cudaMemcpyDeviceToHost);
    }
    if (shape().host_columns) take_host_threads();
    while (ready_.size() < shape().panels) ready_.emplace_back(), done_.emplace_back();
    take_library();
    update_ = {shape().alpha, shape().beta, 1};
    poison();
    once(1);  // cuBLAS loads kernels and chooses among them at the first call, which no trial should wait for
    cuda::check(cudaStreamSynchronize(stream()), "the first product");
  }
  void take_host_threads() {
    if (!host_threads_) host_threads_.emplace();
    // One core is left to this thread, which drives the GPU and would take turns with a thread of the library.
    host_threads_->take(std::max(2u, static_cast<std::uint32_t>(host::core_cpus().size())) - 1);
  }
  void take_library() {
    if (by_tensor_cores()) {
      if (!lt_) lt_.emplace(stream());
      lt_->prepare(question().type, gemm::call_of(shape(), gemm::all_columns(shape())));
    } else if (!cublas_) {
      cublas_.emplace(stream());
    }
  }
  gemm::Elements elements() const { return gemm::elements_of(question(), shape()); }
  void copy(std::byte* to, const std::byte* from, std::uint64_t bytes, cudaMemcpyKind kind) {
    cuda::check(cudaMemcpyAsync(to, from, bytes, kind, stream()), "copying a matrix");
    cuda::check(cudaStreamSynchronize(stream()), "copying a matrix");
  }

  ProbeSample launch(std::uint64_t repeats) override {
    bench().gpu().make_current();
    poison();
    update_.repeats = repeats;
    const auto all = [&] {
      for (std::uint64_t i = 0; i < repeats; ++i) once(update_.sign(i));
    };
    return bench().time_launches(0, all);
  }
  // C, and what is to be copied to the device, becomes what no run leaves: numbers that are none. Where C is read, it
  // becomes what it holds at first, and on the device no number, too, if it is copied there.
  void poison() {
    const auto spoil = [&](const Matrix& matrix, std::uint64_t bytes) {
      cuda::check(cudaMemsetAsync(matrix.data(), 0xFF, bytes, stream()), "poisoning a matrix");
    };
    if (shape().beta) fill_first(question(), shape(), device_.c.data(), stream());
    else spoil(device_.c, sizes().c);
    if (!from_host()) return;
    spoil(device_.a, sizes().a);
    spoil(device_.b, sizes().b);
    copy(host_.c.data(), device_.c.data(), sizes().c, cudaMemcpyDeviceToHost);
    if (shape().beta) spoil(device_.c, sizes().c);
  }

  void once(int sign) {
    if (!from_host()) multiply(gemm::all_columns(shape()), sign);
    else if (shape().panels == 1) in_turn(sign);
    else overlapped(sign);
    if (shape().host_columns) multiply_on_host(gemm::host_columns(shape()), sign);  // while the device is at work
  }
  void multiply_on_host(const gemm::Columns& columns, int sign) {
    const auto by_blas = [&]<class Real>(Real) {
      blas().multiply(as<Real>(host_.a.data()), as<Real>(host_.b.data()), as<Real>(host_.c.data()),
                      gemm::call_of(shape(), columns), sign);
    };
    host_threads_->each([&] {
      if (question().type == DataType::fp64) by_blas(double{});
      else by_blas(float{});
    });
  }
  void multiply(const gemm::Columns& columns, int sign = 1) {
    if (by_tensor_cores()) return lt_->multiply(device_.a.data(), device_.b.data(), device_.c.data(), sign);
    const auto by_cublas = [&]<class Real>(Real) {
      cublas_->multiply(as<Real>(device_.a.data()), as<Real>(device_.b.data()), as<Real>(device_.c.data()),
                        gemm::call_of(shape(), columns), sign);
    };
    if (question().type == DataType::fp64) by_cublas(double{});
    else by_cublas(float{});
  }
  void enqueue_copy(std::byte* to, const std::byte* from, std::uint64_t bytes, cudaMemcpyKind kind,
                    cudaStream_t stream) {
    cuda::check(cudaMemcpyAsync(to, from, bytes, kind, stream), "copying a matrix");
  }
  void copy_a(cudaStream_t stream) {
    enqueue_copy(device_.a.data(), host_.a.data(), sizes().a, cudaMemcpyHostToDevice, stream);
  }
  // B and, where it is read, C.
  void copy_in(const gemm::Columns& columns, cudaStream_t stream) {
    const std::uint64_t element = gemm::bytes_of_operand(question().type), column = sizes().b / shape().n;
    if (transposes_b(shape().ops)) {  // columns of B lie side by side in each row
      const std::uint64_t first = element * columns.first, pitch = element * shape().n;
      cuda::check(cudaMemcpy2DAsync(device_.b.data() + first, pitch, host_.b.data() + first, pitch,
                                    element * columns.count, shape().k, cudaMemcpyHostToDevice, stream),
                  "copying a matrix");
    } else {
      const std::uint64_t first = column * columns.first;
      enqueue_copy(device_.b.data() + first, host_.b.data() + first, column * columns.count, cudaMemcpyHostToDevice,
                   stream);
    }
    if (!shape().beta) return;
    const std::uint64_t of_c = sizes().c / shape().n, first = of_c * columns.first;
    enqueue_copy(device_.c.data() + first, host_.c.data() + first, of_c * columns.count, cudaMemcpyHostToDevice,
                 stream);
  }
  void copy_c(const gemm::Columns& columns, cudaStream_t stream) {
    const std::uint64_t column = sizes().c / shape().n, first = column * columns.first;
    enqueue_copy(host_.c.data() + first, device_.c.data() + first, column * columns.count, cudaMemcpyDeviceToHost,
                 stream);
  }
  void in_turn(int sign) {
    const gemm::Columns all = gemm::device_columns(shape());
    copy_a(stream());
    copy_in(all, stream());
    multiply(all, sign);
    copy_c(all, stream());
  }
  static void wait(cudaStream_t stream, const Event& event) {
    cuda::check(cudaStreamWaitEvent(stream, event.get(), 0), "waiting for a panel");
  }
  // Each engine has a stream. The next repeat begins where this one has ended.
  void overlapped(int sign) {
    begin_.record(stream());
    wait(down_.get(), begin_);
    copy_a(down_.get());
    for (std::uint32_t p = 0; p < shape().panels; ++p) {
      const gemm::Columns columns = gemm::panel_of(shape(), p);
      copy_in(columns, down_.get());
      ready_[p].record(down_.get());
      wait(stream(), ready_[p]);
      multiply(columns, sign);
      done_[p].record(stream());
      wait(up_.get(), done_[p]);
      copy_c(columns, up_.get());
    }
    end_.record(up_.get());
    wait(stream(), end_);
  }

  // The shortest of a few looks at this, after one that does not count.
  template <class Enqueue> Seconds look(Enqueue enqueue) {
    bench().time_launches(0, enqueue);
    double us = bench().time_launches(0, enqueue).device_us;
    for (int i = 1; i < looks; ++i) us = std::min(us, bench().time_launches(0, enqueue).device_us);
    return from_microseconds(us);
  }
  std::uint32_t best_host_columns() override {
    const gemm::Columns all = gemm::all_columns(shape());
    const Seconds device = look([&] { once(1); }), fixed = look([&] { copy_a(stream()); });
    take_host_threads();
    return gemm::advised_host_columns(shape(), device, fixed, look([&] { multiply_on_host(all, 1); }));
  }
  gemm::PanelCosts costs() override {
    gemm::PanelCosts costs;
    const gemm::Columns all = gemm::all_columns(shape());
    Shape cut = shape();
    const auto candidates = gemm::panel_candidates(shape());
    const double more = candidates.back() - 1;
    const auto in_panels = [&](auto one) {
      for (std::uint32_t p = 0; p < cut.panels; ++p) one(gemm::panel_of(cut, p));
    };
    // A start is what more panels add, each; the rest is the matrix' own.
    const auto divide = [&](auto one, Seconds& start, Seconds& rest) {
      cut.panels = candidates.back();
      const Seconds whole = look([&] { one(all); }), in_parts = look([&] { in_panels(one); });
      start = more > 0 ? std::max(Seconds{0}, (in_parts - whole) / more) : Seconds{0};
      rest = std::max(Seconds{0}, whole - start);
    };
    costs.copy_a = look([&] { copy_a(stream()); });
    divide([&](const gemm::Columns& columns) { copy_in(columns, stream()); }, costs.start_b, costs.all_b);
    divide([&](const gemm::Columns& columns) { copy_c(columns, stream()); }, costs.start_c, costs.all_c);
    for (auto p = candidates.rbegin(); p != candidates.rend(); ++p) {
      cut.panels = *p;
      costs.compute_of_fraction.push_back({1.0 / *p, look([&] { multiply(gemm::panel_of(cut, 0)); })});
    }
    costs.copy_engines = std::clamp(attribute(cudaDevAttrAsyncEngineCount, bench().gpu().ordinal()), 1, 2);
    return costs;
  }

  // C is compared where it must be: what came back to the host is taken to the device for that.
  std::optional<std::string> wrong_result() override {
    bench().gpu().make_current();
    if (from_host()) {
      cuda::check(cudaMemsetAsync(device_.c.data(), 0xFF, sizes().c, stream()), "poisoning a matrix");
      copy(device_.c.data(), host_.c.data(), sizes().c, cudaMemcpyHostToDevice);
    }
    const auto product = gemm::product_of(as<const std::int32_t>(tables_.data()), elements());
    auto* const first = as<unsigned long long>(tables_.data() + table_bytes);
    cuda::check(cudaMemsetAsync(first, 0xFF, sizeof *first, stream()), "comparing the product");
    std::optional<std::string> wrong;
    typed([&]<class Real>(Real) {
      const Real* const c = as<const Real>(device_.c.data());
      find_wrong(question(), shape(), c, product, update_, first, stream());
      unsigned long long place = 0;
      copy(reinterpret_cast<std::byte*>(&place), reinterpret_cast<const std::byte*>(first), sizeof place,
           cudaMemcpyDeviceToHost);
      if (place == ~0ull) return;
      Real found = 0;
      copy(reinterpret_cast<std::byte*>(&found), reinterpret_cast<const std::byte*>(c + place), sizeof found,
           cudaMemcpyDeviceToHost);
      const std::vector<std::int32_t> tables = gemm::tables_of(elements());
      const std::uint32_t m = shape().m;
      const auto row = static_cast<std::uint32_t>(place % m), column = static_cast<std::uint32_t>(place / m);
      const std::int64_t sum = gemm::product_of(tables.data(), elements())(row, column);
      wrong = gemm::wrong_text(row, column, static_cast<double>(found),
                               static_cast<double>(update_.of(sum, gemm::first_of_c(row, column))));
    });
    return wrong;
  }

  std::optional<CublasHandle> cublas_;
  std::optional<CublasLtHandle> lt_;
  std::optional<BlasThreads> host_threads_;
  gemm::Update update_;
  Stream down_, up_;  // to the device, and from it
  Event begin_, end_;
  std::vector<Event> ready_, done_;  // of each panel: B is there; C is computed
  Matrices device_{Memory::device}, host_{Memory::pinned};
  Buffer tables_;  // and the place of the first wrong element
};

std::optional<std::string> lacks_library(const ProbeCase& c) {
  const bool by_tensor_cores = gemm::is_tensor_type(c.type);
  if (const std::string& why = by_tensor_cores ? cublas_lt().why_not : cublas().why_not; !why.empty()) return why;
  const int least = c.type == DataType::fp8 ? 89 : 80;
  if (!by_tensor_cores || capability_of(c) >= least) return std::nullopt;
  return c.device + " has no such products, which need compute capability " + (least == 89 ? "8.9" : "8.0");
}
std::optional<std::string> refuses_blocks_of_gemm(const ProbeCase&, const Shape& shape) {
  if (shape.blocks != 1 || shape.one_block_per_sm) return "cuBLAS chooses the blocks";
  if (shape.host_columns && !blas().why_not.empty()) return blas().why_not;
  return std::nullopt;
}
Limit limit_of_gemm(const ProbeCase& c, const Layout& l) {
  if (gemm::is_tensor_type(c.type)) return limit_of_tensor_cores(c, l);
  Limit limit = limit_of_arithmetic(c, l);
  if (const int capability = capability_of(c); c.type == DataType::fp64 && (capability == 80 || capability == 90)) {
    limit.per_s *= 2;
    limit.source += ", * 2: tensor cores (NVIDIA A100 and H100 white papers)";
  }
  return limit;
}
MemoryNeed needs_of_gemm(std::span<const ProbeStep> steps) {
  return {gemm::bytes_of(steps_from_host(steps)).sum(),
          gemm::bytes_of(steps).sum() + CublasHandle::workspace_bytes + CublasLtHandle::workspace_bytes};
}

const Cuda gemm_probe(
    {{.name = "gemm",
      .open = runs<GemmRunner>,
      .lacks = lacks_library,
      .refuses = refuses_blocks_of_gemm,
      .any_grid = true,
      .limit = limit_of_gemm,
      .takes = [](const ProbeCase&, Operands operands) { return operands != Operands::pattern; },
      .needs = needs_of_gemm,
      .library = [](const ProbeCase& c) { return gemm::is_tensor_type(c.type) ? cublas_lt().text : cublas().text; },
      // cuBLAS has a CUDA runtime of its own, which does not learn that the context is gone.
      .allows_context_reset = false}});

}  // namespace
}  // namespace npgpu::cuda
