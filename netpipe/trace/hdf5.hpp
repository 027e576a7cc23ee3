// HDF5: owners of its identifiers, what it has to say when something fails, files in memory, groups and attributes.
// Everything throws FormatError.
//
// HDF5 as distributions build it is not thread-safe: one thread at a time in all of this folder.
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "npgpu/vocabulary/device.hpp"

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
template <class Result> Result done(Result result, const std::string& what) {
  if (result < 0) fail(what);
  return result;
}

using Bytes = std::vector<std::byte>;

// ---- a trace in memory: HDF5's core driver without a backing store ----

// An empty file, in HDF5's earliest format. Its buffer grows by so many bytes at a time.
Handle new_image(std::size_t growth = 64 * 1024);

// Opens a copy of these bytes, to be read. Throws FormatError if HDF5 cannot.
Handle open_image(std::span<const std::byte>);

// Size of the file now, without what the caches hold back.
std::uint64_t image_size(hid_t file);

// Flushes, and copies the whole file into `bytes`.
void take_image(hid_t file, Bytes& bytes);

// ---- names of data/TRACE_FORMAT.md, and groups ----

inline constexpr const char* schema_name = "npgpu-trace";
inline constexpr int version_major = 3;
inline constexpr int version_minor = 5;
inline constexpr const char* merged_name = "npgpu-runs";
inline constexpr int merged_version_major = 1;
inline constexpr int merged_version_minor = 0;
inline constexpr const char* runs_name = "runs";

std::string group_name(std::size_t index);    // "0007"
std::string resume_name(std::size_t number);  // "resume_2"

Handle create_group(hid_t parent, const std::string& name);
bool has_link(hid_t parent, const std::string& name);
// False if there is nothing of that name. Throws FormatError if it is a link, which may lead out of the file.
bool has_own(hid_t parent, const std::string& name, const std::string& called);
// Throws FormatError if there is no group of that name in `where`.
Handle open_group(hid_t parent, const std::string& where, const std::string& name);

// All names in a group, sorted.
std::vector<std::string> names_in(hid_t group);

// The text with U+FFFD for every NUL and for what is not well-formed UTF-8 (Unicode 15, table 3-7): texts of a trace
// are UTF-8, whatever a command line, a host name or a driver handed over.
std::string utf8(std::string);

// ---- scalar attributes; errors name the attribute and, when reading, the object it should be on ----

// Writing creates the attribute, which must not exist.
void put(hid_t object, const std::string& name, const std::string& text);
void put(hid_t object, const std::string& name, double value);
void put(hid_t object, const std::string& name, std::int64_t value);
void put(hid_t object, const std::string& name, std::uint64_t value);
void put(hid_t object, const std::string& name, bool flag);
void put(hid_t object, const std::string& name, const char* text) = delete;  // would become a bool
void put(hid_t object, const Facts&);

// Replaces the value of an attribute that exists.
void change(hid_t object, const std::string& name, const std::string& text);
void change(hid_t object, const std::string& name, bool flag);

// Reading: `where` names the object for the message.
bool has(hid_t object, const std::string& name);
// Any scalar string is taken, of fixed or variable length.
std::string get_text(hid_t object, const std::string& where, const std::string& name);
double get_real(hid_t object, const std::string& where, const std::string& name);
std::int64_t get_integer(hid_t object, const std::string& where, const std::string& name);
std::uint64_t get_count(hid_t object, const std::string& where, const std::string& name);
bool get_flag(hid_t object, const std::string& where, const std::string& name);
// All scalar texts, integers and reals of an object, in the order of the file, which is that in which they were made.
// Attributes of other types are left out.
Facts get_facts(hid_t object, const std::string& where);

// H5T_INTEGER or H5T_FLOAT for a number as machines have them, H5T_STRING for a text, otherwise H5T_NO_CLASS: HDF5
// crashes when it converts numbers whose description is damaged.
H5T_class_t sound_class(hid_t type);

// Copies all attributes, whatever their types, to an object of any file.
void copy_attributes(hid_t from, hid_t to);

}  // namespace npgpu::trace
