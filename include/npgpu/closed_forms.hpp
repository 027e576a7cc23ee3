// Closed forms for jobs in n streams, as the literature has them, each with its source; where a source contradicts
// itself, the form that reproduces its own numbers, and the correction beside it.
//
// `whole` are the times of the unstreamed job: H, E, D. `chunk` are those of one of n chunks on its engine, a, k, d:
// to count gaps, pass chunk_times(). Optima are real numbers: a caller rounds both ways and compares.
//
// Example:
//   const npgpu::Stages whole{npgpu::Seconds{1e-3}, npgpu::Seconds{2e-3}, npgpu::Seconds{1e-3}};
//   std::cout << npgpu::models::van_werkhoven(whole, 4).count() << " s in 4 streams\n";  // 0.0025
//   std::cout << npgpu::models::cc2_optimum(whole, npgpu::Seconds{2e-6}) << " streams\n";
#pragma once

#include <cstdint>

#include "npgpu/simulate.hpp"

namespace npgpu::models {

// ---- CUDA C Best Practices Guide 3.2, as Gomez-Luna et al. 2012 quote it: t_T = H + D -------------------------------
Seconds best_practices_kernel(const Stages& whole, double n);     // t_E + t_T/n
Seconds best_practices_transfers(const Stages& whole, double n);  // t_T + t_E/n

// ---- Gomez-Luna et al. 2012: one copy engine, stream creation counted -----------------------------------------------
// c.c. 1.x, (1) and (3): t_T + n t_sc while t_T >= t_E + t_T/n, else t_E + t_T/n + n t_sc.
Seconds cc1(const Stages& whole, Seconds t_sc, double n);
// (2) t_T/(t_T - t_E) where transfers dominate, (4) sqrt(t_T/t_sc) where the kernel does. (2) grows without limit as
// t_E nears t_T, because it asks only for where (1) begins to hold, whatever the streams cost.
double cc1_optimum_as_printed(const Stages& whole, Seconds t_sc);
// What minimizes max(t_T, t_E + t_T/n) + n t_sc: the lesser of (2) and (4).
double cc1_optimum(const Stages& whole, Seconds t_sc);
// c.c. 2.x, (5) and (7): H + t_E/n + D + n t_sc while H >= t_E, else H/n + t_E + D + n t_sc.
Seconds cc2(const Stages& whole, Seconds t_sc, double n);
// (6) sqrt(t_E/t_sc) and (8) sqrt(H/t_sc).
double cc2_optimum(const Stages& whole, Seconds t_sc);

// ---- Two copy engines, breadth-first, exact ------------------------------------------------------------------------
Seconds two_engines_breadth_first(const Stages& chunk, const Stages& latency, const Stages& issue, std::uint32_t n);

// ---- van Werkhoven, Maassen, Seinstra, Bal: Performance models for CPU-GPU data transfers (CCGrid 2014) -------------
Seconds van_werkhoven(const Stages& whole, double n);  // two engines: max(H + E/n + D/n, H/n + E + D/n, H/n + E/n + D)

// ---- The longest stage M and the others S: M + S/n + (n - 1) g -----------------------------------------------------
// g is what one more chunk costs the longest stage's engine; t_sc belongs to it where creation is timed.
Seconds dominant_stage(const Stages& whole, Seconds g, double n);

}  // namespace npgpu::models
