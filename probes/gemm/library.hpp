// A library that is found at run time: the one that an environment variable names, else the first of some names.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace npgpu::gemm {

// Of the names of one function the first that the library has.
template <class Function> bool find(void* library, Function& function, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (function) return true;
  }
  return false;
}
template <class Function> bool find(void* library, Function& function, const char* name) {
  return find(library, function, {name});
}

// What the variable says; null where it is not set, or empty.
inline const char* chosen_library(const char* variable) {
  const char* const chosen = std::getenv(variable);
  return chosen && *chosen ? chosen : nullptr;
}

// What take(library, name, found) makes of the first library that can be opened and of which it is true. The library is
// held as long as the process.
template <class Found, class Take>
std::optional<Found> look_for(const char* variable, std::vector<std::string> names, Take take) {
  if (const char* const chosen = chosen_library(variable)) names = {chosen};
  for (const std::string& name : names) {
    void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    Found found;
    if (library && take(library, name, found)) return found;
  }
  return std::nullopt;
}

}  // namespace npgpu::gemm
