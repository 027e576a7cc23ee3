#include "netpipe/engine/distributions.hpp"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/hypergeometric.hpp>
#include <boost/math/distributions/poisson.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/tools/minima.hpp>
#include <cmath>

#include "npgpu/model/statistics.hpp"

namespace npgpu {

namespace {

constexpr double as_good_as_infinite = 1e6;

boost::math::binomial_distribution<double> heads_of(std::size_t n) { return {static_cast<double>(n), 0.5}; }

}  // namespace

double heads_at_most(double heads, std::size_t n) { return boost::math::cdf(heads_of(n), heads); }

double heads_quantile(double p, std::size_t n) { return boost::math::quantile(heads_of(n), p); }

double events_quantile(double mean, double p) {
  return boost::math::quantile(boost::math::complement(boost::math::poisson_distribution<double>(mean), p));
}

double least_place(const std::function<double(double)>& f, double low, double high, int bits) {
  return boost::math::tools::brent_find_minima(f, low, high, bits).first;
}

double student_quantile(double p, double freedom) {
  const boost::math::students_t_distribution<double> t(std::min(freedom, as_good_as_infinite));
  return boost::math::quantile(t, p);
}

double student_p(double t, double freedom) {
  const boost::math::students_t_distribution<double> of(std::min(freedom, as_good_as_infinite));
  return 2 * boost::math::cdf(boost::math::complement(of, std::abs(t)));
}

double chance_of_at_least(std::size_t least, std::size_t n, double p) {
  if (least == 0) return 1;
  const boost::math::binomial_distribution<double> happened(static_cast<double>(n), p);
  return boost::math::cdf(boost::math::complement(happened, static_cast<double>(least - 1)));
}

double fisher(std::uint32_t in_a, std::uint32_t a, std::uint32_t in_b, std::uint32_t b) {
  const std::uint32_t in_both = in_a + in_b;
  const boost::math::hypergeometric_distribution<double> drawn(in_both, a, a + b);
  constexpr double rounding = 1 + 1e-9;
  const double seen = boost::math::pdf(drawn, in_a) * rounding;
  double p = 0;
  for (std::uint32_t k = in_both > b ? in_both - b : 0; k <= std::min(in_both, a); ++k)
    if (const double one = boost::math::pdf(drawn, k); one <= seen) p += one;
  return std::min(p, 1.0);
}

}  // namespace npgpu
