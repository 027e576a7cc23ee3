// A second process of this program on the same GPU, and its work there during a measurement: what a job pays for
// sharing its GPU.
//
// Example:
//   const auto second = npgpu::devices::companion("sim:h200");  // or cuda:0: a second process there
//   second->work(npgpu::Beside::kernels);
//   const std::uint64_t before = second->done();
//   // what is to be measured runs here
//   const std::uint64_t finished = second->done() - before;
//   second->rest();
//   std::cout << "the second process " << npgpu::deed_of(npgpu::Beside::kernels) << ": " << finished << " done\n";
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "npgpu/names.hpp"

namespace npgpu {

enum class Beside {
  nobody,    // there is no second process
  idle,      // it holds a context, and does nothing
  copies,    // it copies from the host and back, both ways at once, without end
  kernels,   // it computes on all multiprocessors, in kernels of about 1 ms, without end
  launches,  // it launches empty kernels without end
};
template <>
inline constexpr std::array<std::string_view, 5> names_of<Beside>{"nobody", "idle", "copies", "kernels", "launches"};

// Whether it has work. Then some of that work must have been done while a trial ran.
constexpr bool is_working(Beside beside) { return beside != Beside::nobody && beside != Beside::idle; }

// Whether a case of any kind is measured next to a second process. Such times do not hold for a program that has its
// device to itself.
template <class Case> constexpr bool is_beside(const Case& c) {
  if constexpr (requires { c.beside; }) return c.beside != Beside::nobody;
  else return false;
}

// The work as a verb: "computes". Empty for `nobody`.
std::string_view deed_of(Beside);

// The second process. It ends when this object is destroyed, or when this process ends. Every method may throw Error.
class Companion {
 public:
  virtual ~Companion() = default;
  // Starts its work, and returns once a first operation is finished. REQUIRES: it rests, as it does at first and after
  // rest().
  virtual void work(Beside) = 0;
  // Stops its work, and returns once all operations that it began are done.
  virtual void rest() = 0;
  // Allocates so many bytes of the device's memory in one piece, in place of what it held; 0: frees them.
  virtual void hold(std::uint64_t bytes) = 0;
  // Operations (copies or kernels) that it has finished since it was started.
  virtual std::uint64_t done() const = 0;
};

}  // namespace npgpu
