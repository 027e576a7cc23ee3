#pragma once

#include <cstddef>
#include <map>
#include <vector>

namespace npgpu::model {

// Least squares of relative residuals, the sum over rows of ((offset + features * parameters) / measured - 1)^2, by
// normal equations: a group of rows is left out by taking its own sums off, so that leaving out every group in turn
// takes as long as adding all rows. Sums are of long doubles, because products of features lose half of the digits.
class RelativeFit {
 public:
  // Rows of one group come one after the other.
  void add(const void* group, const std::vector<double>& features, double offset, double measured);
  // Empty where no row is left.
  std::vector<double> solve(const void* without = nullptr) const;

 private:
  struct Sums {
    std::size_t rows = 0;
    std::vector<long double> products, right;  // of features with each other, by rows, and with the right hand side
  };
  static void add_to(Sums&, const std::vector<long double>& row, long double right);
  std::map<const void*, Sums> groups_;
  Sums all_;
};

}  // namespace npgpu::model
