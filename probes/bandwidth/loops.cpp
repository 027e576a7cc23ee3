#include "probes/bandwidth/loops.hpp"

#include <fmt/format.h>

#include <bit>

namespace npgpu::loops {

namespace {

// Small whole numbers, of a period that divides no power of two: sums are exact in any order, and an element that
// ended up in another's place shows.
class Firsts {
 public:
  double next() { return value_ = value_ == 1021 ? 1 : value_ + 1; }

 private:
  double value_ = 0;
};

// Each step's address waits for the sum of the step before.
void rmw_dependent(Slice& slice, std::uint64_t, std::uint64_t passes) {
  std::uint64_t nothing = 0;
  asm volatile("" : "+r"(nothing));  // the compiler does not know that it is zero
  for (std::uint64_t pass = 0; pass < passes; ++pass) {
    double* p = slice.x;
    for (std::uint64_t i = 0; i < slice.elements; ++i) {
      const double v = *p + 1;
      *p = v;
      p += 1 + (std::bit_cast<std::uint64_t>(v) & nothing);
    }
    asm volatile("" ::: "memory");
  }
}

}  // namespace

Loop find(Isa isa, Operation operation, Form form, unsigned ilp) {
  if (form == Form::dependent)
    return operation == Operation::rmw && isa == Isa::scalar && ilp == 1 ? rmw_dependent : nullptr;
  return simd::of(isa).loop(operation, ilp);
}

unsigned lanes(Isa isa) { return chains::find(isa, DataType::fp64, 1).lanes; }

unsigned arrays(Operation operation) {
  if (operation == Operation::fma || operation == Operation::chase) return 0;
  return operation == Operation::triad ? 3 : operation == Operation::copy ? 2 : 1;
}

unsigned touches(Operation operation) { return operation == Operation::rmw ? 2 : arrays(operation); }

void fill(Operation operation, Slice& s) {
  Firsts firsts;
  for (std::uint64_t i = 0; i < s.elements; ++i) {
    s.x[i] = firsts.next();
    if (s.y) s.y[i] = operation == Operation::triad ? s.x[i] + 1 : 0;
    if (s.z) s.z[i] = 0;
  }
  s.sum = 0;
}

std::optional<std::string> check(Operation operation, const Slice& s, std::uint64_t passes, std::uint64_t run_passes) {
  double sum = 0;
  Firsts firsts;
  for (std::uint64_t i = 0; i < s.elements; ++i) {
    const double f = firsts.next();
    double is = s.x[i], must = f;
    if (operation == Operation::rmw) must = f + static_cast<double>(passes);
    if (operation == Operation::write && passes) must = static_cast<double>(passes);
    if (operation == Operation::copy) is = s.y[i];
    if (operation == Operation::triad) is = s.z[i], must = f + 3 * (f + 1);
    if (is != must) return fmt::format("element {} is {}, but must be {}", i, is, must);
    sum += f;
  }
  sum *= static_cast<double>(run_passes);
  if (operation == Operation::read && s.sum != sum) return fmt::format("the sum is {}, but must be {}", s.sum, sum);
  return std::nullopt;
}

}  // namespace npgpu::loops
