// What is asked of Boost.Math, whose templates take long to compile: in one file only.
#pragma once

#include <cstddef>
#include <functional>

namespace npgpu {

// n coins: how likely at most so many show heads; and the number below which they are with probability p.
double heads_at_most(double heads, std::size_t n);
double heads_quantile(double p, std::size_t n);

// The least number of events such that more come with probability p at most, where `mean` are usual (Poisson).
double events_quantile(double mean, double p);

// The place between low and high where f is least, by Brent's method.
double least_place(const std::function<double(double)>& f, double low, double high, int bits);

}  // namespace npgpu
