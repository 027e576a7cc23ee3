// Scalar attributes. Everything throws FormatError naming the attribute and, when reading, the object it should be on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "netpipe/trace/hdf5_handle.hpp"
#include "npgpu/device.hpp"

namespace npgpu::trace {

// ---- writing: creates the attribute, which must not exist ----
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

// ---- reading: `where` names the object for the message ----
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
