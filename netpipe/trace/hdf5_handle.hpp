// Owners of HDF5 identifiers, and what HDF5 has to say when something fails.
//
// HDF5 as distributions build it is not thread-safe: one thread at a time in all of this folder.
#pragma once

#include <hdf5.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace npgpu::trace {

// What is wrong with the inside of a file, without the file's name: writer and reader put it in front.
struct FormatError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Owns any HDF5 identifier: file, group, dataset, attribute, type, space or property list.
class Handle {
 public:
  Handle() = default;
  explicit Handle(hid_t id) : id_(id) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~Handle() {
    if (id_ >= 0) H5Idec_ref(id_);
  }
  operator hid_t() const { return id_; }

 private:
  hid_t id_ = -1;
};

// Stops HDF5 from printing its error stack. Idempotent; every entry to the library calls it.
void silence_hdf5();

// The innermost reason on HDF5's error stack, and clears it. Empty if it has none.
std::string hdf5_reason();

// "cannot <what>: <HDF5's reason>"
[[noreturn]] void fail(const std::string& what);

// An identifier just made. Throws FormatError "cannot <what>: ..." if it is none.
inline Handle made(hid_t id, const std::string& what) {
  if (id < 0) fail(what);
  return Handle(id);
}

// For calls that return a negative number when they fail, and for those (htri_t, hsize_t) that return something.
template <class Result>
Result done(Result result, const std::string& what) {
  if (result < 0) fail(what);
  return result;
}

}  // namespace npgpu::trace
