// Products of matrices by cuBLAS, with the matrices in the GPU's memory or in the host's.
#include <string>
#include <vector>

#include "netpipe/devices/cuda/check.hpp"
#include "npgpu/error.hpp"
#include "probes/cuda.hpp"
#include "probes/gemm/cublas.hpp"
#include "probes/gemm/elements.hpp"
#include "probes/gemm/gemm.hpp"

namespace npgpu::cuda {

namespace {

constexpr unsigned blocks = 1024, threads = 256;

template <class Real>
__global__ void fill_operands(Real* a, Real* b, std::uint32_t m, std::uint32_t n, std::uint32_t k) {
  const std::uint64_t first = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x,
                      step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = first; i < std::uint64_t{m} * k; i += step)
    a[i] =
        static_cast<Real>(gemm::left_element(static_cast<std::uint32_t>(i % m), static_cast<std::uint32_t>(i / m), k));
  for (std::uint64_t i = first; i < std::uint64_t{k} * n; i += step)
    b[i] = static_cast<Real>(gemm::right_element(static_cast<std::uint32_t>(i % k), static_cast<std::uint32_t>(i / k)));
}

// The place of the first element that is not what it must be.
template <class Real>
__global__ void find_wrong(const Real* c, std::uint32_t m, std::uint32_t n, gemm::Product product,
                           unsigned long long* first_wrong) {
  const std::uint64_t all = std::uint64_t{m} * n;
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < all;
       i += std::uint64_t{gridDim.x} * blockDim.x) {
    const auto right = static_cast<Real>(product(static_cast<std::uint32_t>(i % m), static_cast<std::uint32_t>(i / m)));
    if (!(c[i] == right)) atomicMin(first_wrong, static_cast<unsigned long long>(i));
  }
}

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

class GemmRunner final : public CudaProbeRunner {
 public:
  GemmRunner(const Probe& probe, std::span<const ProbeStep> steps)
      : CudaProbeRunner(probe, steps), cublas_(stream()), tables_(Memory::device, table_bytes + sizeof(std::uint64_t)) {
    device_.reserve(gemm::bytes_of(steps));
    host_.reserve(gemm::bytes_of(steps_from_host(steps)));
  }
  double work() const override { return gemm::work_of(shape()); }
  ProbeStep settled(const ProbeStep& step, std::span<const Shape> known) override {
    return gemm::settled(step, known, [&](const ProbeStep& serial) {
      prepare(serial);
      return gemm::advised_panels(shape(), costs());
    });
  }

 private:
  static constexpr std::uint64_t table_bytes = gemm::table_elements * sizeof(std::uint32_t);
  static constexpr int looks = 3;

  bool from_host() const { return question().space == Space::host; }
  gemm::MatrixBytes sizes() const { return gemm::bytes_of(question(), shape()); }
  template <class Real> static Real* as(std::byte* data) { return reinterpret_cast<Real*>(data); }
  // Calls visit with a value of the matrices' type.
  template <class Visit> void typed(Visit visit) const {
    if (question().type == DataType::fp64) visit(double{});
    else visit(float{});
  }

  void set_up() override {
    if (shape().panels == 0) throw Error(ErrorKind::usage, "panels=0: how many there are has to be settled first");
    bench().gpu().make_current();
    device_.reserve(sizes());
    if (from_host()) host_.reserve(sizes());
    const auto [m, n, k, panels] = matrices_of(shape());
    typed([&]<class Real>(Real) {
      fill_operands<<<blocks, threads, 0, stream()>>>(as<Real>(device_.a.data()), as<Real>(device_.b.data()), m, n, k);
    });
    cuda::check(cudaGetLastError(), "filling matrices");
    const std::vector<std::uint32_t> tables = gemm::tables_of(k);
    copy(tables_.data(), reinterpret_cast<const std::byte*>(tables.data()), table_bytes, cudaMemcpyHostToDevice);
    if (from_host()) {
      copy(host_.a.data(), device_.a.data(), sizes().a, cudaMemcpyDeviceToHost);
      copy(host_.b.data(), device_.b.data(), sizes().b, cudaMemcpyDeviceToHost);
    }
    while (ready_.size() < panels) ready_.emplace_back(), done_.emplace_back();
    once();  // cuBLAS loads kernels and chooses among them at the first call, which no trial should wait for
    cuda::check(cudaStreamSynchronize(stream()), "the first product");
  }
  void copy(std::byte* to, const std::byte* from, std::uint64_t bytes, cudaMemcpyKind kind) {
    cuda::check(cudaMemcpyAsync(to, from, bytes, kind, stream()), "copying a matrix");
    cuda::check(cudaStreamSynchronize(stream()), "copying a matrix");
  }

  ProbeSample launch(std::uint64_t repeats) override {
    bench().gpu().make_current();
    poison();
    const auto all = [&] {
      for (std::uint64_t i = 0; i < repeats; ++i) once();
    };
    return bench().time_launches(0, all);
  }
  // C, and what is to be copied to the device, becomes what no run leaves: numbers that are none.
  void poison() {
    const auto spoil = [&](const Matrix& matrix, std::uint64_t bytes) {
      cuda::check(cudaMemsetAsync(matrix.data(), 0xFF, bytes, stream()), "poisoning a matrix");
    };
    spoil(device_.c, sizes().c);
    if (!from_host()) return;
    spoil(device_.a, sizes().a);
    spoil(device_.b, sizes().b);
    copy(host_.c.data(), device_.c.data(), sizes().c, cudaMemcpyDeviceToHost);
  }

  void once() {
    if (!from_host()) multiply({0, shape().n});
    else if (shape().panels == 1) in_turn();
    else overlapped();
  }
  void multiply(const gemm::Columns& columns) {
    const auto [m, n, k, panels] = matrices_of(shape());
    typed([&]<class Real>(Real) {
      cublas_.multiply(as<Real>(device_.a.data()), as<Real>(device_.b.data()) + std::uint64_t{k} * columns.first,
                       as<Real>(device_.c.data()) + std::uint64_t{m} * columns.first, m, columns.count, k);
    });
  }
  void enqueue_copy(std::byte* to, const std::byte* from, std::uint64_t bytes, cudaMemcpyKind kind,
                    cudaStream_t stream) {
    cuda::check(cudaMemcpyAsync(to, from, bytes, kind, stream), "copying a matrix");
  }
  void copy_a(cudaStream_t stream) {
    enqueue_copy(device_.a.data(), host_.a.data(), sizes().a, cudaMemcpyHostToDevice, stream);
  }
  void copy_b(const gemm::Columns& columns, cudaStream_t stream) {
    const std::uint64_t column = sizes().b / shape().n, first = column * columns.first;
    enqueue_copy(device_.b.data() + first, host_.b.data() + first, column * columns.count, cudaMemcpyHostToDevice,
                 stream);
  }
  void copy_c(const gemm::Columns& columns, cudaStream_t stream) {
    const std::uint64_t column = sizes().c / shape().n, first = column * columns.first;
    enqueue_copy(host_.c.data() + first, device_.c.data() + first, column * columns.count, cudaMemcpyDeviceToHost,
                 stream);
  }
  void in_turn() {
    const gemm::Columns all{0, shape().n};
    copy_a(stream());
    copy_b(all, stream());
    multiply(all);
    copy_c(all, stream());
  }
  static void wait(cudaStream_t stream, const Event& event) {
    cuda::check(cudaStreamWaitEvent(stream, event.get(), 0), "waiting for a panel");
  }
  // Each engine has a stream. The next repeat begins where this one has ended.
  void overlapped() {
    begin_.record(stream());
    wait(down_.get(), begin_);
    copy_a(down_.get());
    for (std::uint32_t p = 0; p < shape().panels; ++p) {
      const gemm::Columns columns = gemm::panel_of(shape(), p);
      copy_b(columns, down_.get());
      ready_[p].record(down_.get());
      wait(stream(), ready_[p]);
      multiply(columns);
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
  gemm::PanelCosts costs() {
    gemm::PanelCosts costs;
    const gemm::Columns all{0, shape().n};
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
    divide([&](const gemm::Columns& columns) { copy_b(columns, stream()); }, costs.start_b, costs.all_b);
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
    const auto [m, n, k, panels] = matrices_of(shape());
    const auto product = gemm::product_of(as<const std::uint32_t>(tables_.data()), k);
    auto* const first = as<unsigned long long>(tables_.data() + table_bytes);
    cuda::check(cudaMemsetAsync(first, 0xFF, sizeof *first, stream()), "comparing the product");
    std::optional<std::string> wrong;
    typed([&]<class Real>(Real) {
      const Real* const c = as<const Real>(device_.c.data());
      find_wrong<<<blocks, threads, 0, stream()>>>(c, m, n, product, first);
      cuda::check(cudaGetLastError(), "comparing the product");
      unsigned long long place = 0;
      copy(reinterpret_cast<std::byte*>(&place), reinterpret_cast<const std::byte*>(first), sizeof place,
           cudaMemcpyDeviceToHost);
      if (place == ~0ull) return;
      Real found = 0;
      copy(reinterpret_cast<std::byte*>(&found), reinterpret_cast<const std::byte*>(c + place), sizeof found,
           cudaMemcpyDeviceToHost);
      const std::vector<std::uint32_t> tables = gemm::tables_of(k);
      const auto row = static_cast<std::uint32_t>(place % m), column = static_cast<std::uint32_t>(place / m);
      wrong = gemm::wrong_text(row, column, found, gemm::product_of(tables.data(), k)(row, column));
    });
    return wrong;
  }

  CublasHandle cublas_;
  Stream down_, up_;  // to the device, and from it
  Event begin_, end_;
  std::vector<Event> ready_, done_;  // of each panel: B is there; C is computed
  Matrices device_{Memory::device}, host_{Memory::pinned};
  Buffer tables_;  // and the place of the first wrong element
};

class GemmProbe final : public CudaProbe {
 public:
  std::string_view name() const override { return "gemm"; }
  std::string_view summary() const override {
    return "products of matrices by cuBLAS, with the matrices on the GPU and on the host";
  }
  std::optional<std::string> refuses_shape(const ProbeCase& c, const Shape& shape) const override {
    if (shape.blocks != 1 || shape.one_block_per_sm) return "cuBLAS chooses the blocks";
    return gemm::refuses(c, shape);
  }
  std::vector<Shape> shapes(const ProbeCase& c) const override { return gemm::device_shapes(context(c).layout, c); }
  MemoryNeed needs(std::span<const ProbeStep> steps) const override {
    return {gemm::bytes_of(steps_from_host(steps)).sum(), gemm::bytes_of(steps).sum() + CublasHandle::workspace_bytes};
  }
  std::unique_ptr<Runner<Probes>> open(std::span<const ProbeStep> steps) const override {
    return std::make_unique<GemmRunner>(*this, steps);
  }

 private:
  static constexpr Space spaces[] = {Space::global, Space::host};
  std::vector<ProbeCase> questions(const std::string& device) const override { return gemm::cases(device, spaces); }
  std::optional<std::string> refuses_question(const ProbeCase& c) const override {
    if (!cublas().why_not.empty()) return cublas().why_not;
    for (const ProbeCase& one : questions(c.device))
      if (one == c) return std::nullopt;
    return "probe gemm multiplies matrices of fp32 and fp64, in global memory or the host's";
  }
  Limit limit(const ProbeCase& c, int ordinal) const override {
    Limit limit = arithmetic_limit(c.type, ordinal);
    const int capability = capability_of(ordinal);
    if (c.type == DataType::fp64 && (capability == 80 || capability == 90)) {
      limit.per_s *= 2;
      limit.source += ", * 2: tensor cores (NVIDIA A100 and H100 white papers)";
    }
    return limit;
  }
  std::string library() const override { return cublas().text; }
  // cuBLAS has a CUDA runtime of its own, which is not told that the context is gone.
  bool allows_context_reset() const override { return false; }
};

}  // namespace
}  // namespace npgpu::cuda

NPGPU_REGISTERED(Probe, npgpu::cuda::GemmProbe)
