// LAPACK's solver of tridiagonal systems, sgtsv and dgtsv, found at run time: a second opinion on small systems.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "npgpu/vocabulary/partition.hpp"

namespace npgpu::partition {

// Solutions are kept, because every visit of a size compares with the same.
class Lapack {
 public:
  // Larger systems are not compared: it would take longer than they do.
  static constexpr std::uint64_t max_size = 1'000'000;

  Lapack();
  // "compared with dgtsv of liblapack.so.3 up to 1000000 unknowns", or why not.
  const std::string& text() const { return text_; }
  // Compares a solution of the rows of rows.hpp with LAPACK's; nothing if it is as near as rounding allows, or cannot
  // be compared. Real: float or double.
  template <class Real> std::optional<std::string> differs(const Real* x, std::uint64_t size);

 private:
  template <class Real> const std::vector<Real>& solution(std::uint64_t size);
  template <class Real> std::map<std::uint64_t, std::vector<Real>>& known();

  void *sgtsv_ = nullptr, *dgtsv_ = nullptr;
  std::string text_;
  std::map<std::uint64_t, std::vector<float>> known_fp32_;
  std::map<std::uint64_t, std::vector<double>> known_fp64_;
};

}  // namespace npgpu::partition
