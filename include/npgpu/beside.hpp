// A second process of this program on the same GPU, and what it does there while something is measured: what a job pays
// that shares its GPU.
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

// Whether it has work, which it must have done while a trial ran.
constexpr bool is_working(Beside beside) { return beside != Beside::nobody && beside != Beside::idle; }

// What was measured beside a second process says nothing of a device that a program has for itself. Of cases of any
// kind.
template <class Case> constexpr bool is_beside(const Case& c) {
  if constexpr (requires { c.beside; }) return c.beside != Beside::nobody;
  else return false;
}

// What it does: "computes"; of nobody nothing.
std::string_view deed_of(Beside);

// The second process. It ends when this is destroyed, or when this process ends. Everything throws Error.
class Companion {
 public:
  virtual ~Companion() = default;
  // Returns once it has finished a first operation.
  virtual void work(Beside) = 0;
  // Returns once all that it began is done.
  virtual void rest() = 0;
  // Returns once it has so many bytes of the device's memory, in one piece; 0: once it has given them back.
  virtual void hold(std::uint64_t bytes) = 0;
  // Operations that it has finished since it was started: copies, or kernels.
  virtual std::uint64_t done() const = 0;
};

}  // namespace npgpu
