// What this build has. Families of devices and backends join the list of their base before main(), in no particular
// order. A file that defines some ends with NPGPU_REGISTERED(Base, Class...).
//
// Example:
//   for (const auto& family : npgpu::registered<npgpu::DeviceFamily>())
//     std::cout << "devices " << family->kind() << '\n';
//   for (const auto& module : npgpu::registered<npgpu::Module>()) std::cout << "module " << module->name() << '\n';
//   for (const auto& probe : npgpu::registered<npgpu::Probe>())
//     std::cout << "probe " << probe->name() << " on " << probe->device_kind() << '\n';
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace npgpu {

// All objects that joined as a Base, in the order of rank(). REQUIRES: main() has begun.
template <class Base> std::vector<std::unique_ptr<Base>>& registered() {
  static std::vector<std::unique_ptr<Base>> all;
  return all;
}

// REQUIRES: main() has not begun, because others hold references into the list after that.
template <class Base> void join(std::unique_ptr<Base> one) {
  auto& all = registered<Base>();
  const auto place = std::ranges::lower_bound(all, one->rank(), {}, [](const auto& other) { return other->rank(); });
  all.insert(place, std::move(one));
}

// Joins an object that needs no class of its own: const Joined<ProbeDescription> it({...}).
template <class Base, class One = Base> struct Joined {
  explicit Joined(One one) { join<Base>(std::make_unique<One>(std::move(one))); }
};

}  // namespace npgpu

#define NPGPU_JOINED_AS(number) joined_##number
#define NPGPU_JOINED(number) NPGPU_JOINED_AS(number)
#define NPGPU_REGISTERED(Base, ...)                                                \
  namespace {                                                                      \
  [[maybe_unused]] const bool NPGPU_JOINED(__COUNTER__) = []<class... Classes>() { \
    (::npgpu::join<::npgpu::Base>(std::make_unique<Classes>()), ...);              \
    return true;                                                                   \
  }.template operator()<__VA_ARGS__>();                                            \
  }
