#include "netpipe/trace/hdf5.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <variant>

#include "npgpu/vocabulary/trace.hpp"

namespace npgpu {

void skip_hdf5_cleanup_at_exit() { H5dont_atexit(); }

}  // namespace npgpu

namespace npgpu::trace {

std::string utf8(std::string text) {
  using nlohmann::json;
  std::ranges::replace(text, '\0', '\xff');  // which is no part of UTF-8
  return json::parse(json(std::move(text)).dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
}

void silence_hdf5() { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

std::string hdf5_reason() {
  std::string reason;
  // Upward begins with the innermost call, which knows best.
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned number, const H5E_error2_t* error, void* text) -> herr_t {
        if (number == 0 && error->desc) *static_cast<std::string*>(text) = error->desc;
        return 0;
      },
      &reason);
  H5Eclear2(H5E_DEFAULT);
  return reason;
}

void fail(const std::string& what) {
  const std::string reason = hdf5_reason();
  throw FormatError("cannot " + what + (reason.empty() ? "" : ": " + reason));
}

namespace {

Handle in_memory(std::size_t growth) {
  constexpr bool backing_store = false;
  silence_hdf5();
  Handle access = made(H5Pcreate(H5P_FILE_ACCESS), "make a property list");
  done(H5Pset_fapl_core(access, growth, backing_store), "use HDF5's core driver");
  return access;
}

template <class Info> herr_t add_name(hid_t, const char* name, const Info*, void* all) {
  static_cast<std::vector<std::string>*>(all)->push_back(name);
  return 0;
}

// HDF5 takes two files in memory of the same name for one file: a reader would get the writer's.
std::string unique_name() {
  static unsigned long count = 0;
  return "npgpu-image-" + std::to_string(++count);
}

}  // namespace

Handle new_image(std::size_t growth) {
  const Handle access = in_memory(growth);
  return made(H5Fcreate(unique_name().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access), "create a file in memory");
}

Handle open_image(std::span<const std::byte> bytes) {
  constexpr std::size_t no_growth = 64 * 1024;  // it is read only
  const Handle access = in_memory(no_growth);
  // HDF5 copies the bytes, and does not write to them in spite of the pointer's type.
  done(H5Pset_file_image(access, const_cast<std::byte*>(bytes.data()), bytes.size()), "load a file into memory");
  return made(H5Fopen(unique_name().c_str(), H5F_ACC_RDONLY, access), "open it");
}

std::uint64_t image_size(hid_t file) {
  return static_cast<std::uint64_t>(done(H5Fget_file_image(file, nullptr, 0), "read the size of the file in memory"));
}

void take_image(hid_t file, Bytes& bytes) {
  done(H5Fflush(file, H5F_SCOPE_GLOBAL), "flush the file in memory");
  bytes.resize(image_size(file));
  done(H5Fget_file_image(file, bytes.data(), bytes.size()), "copy the file in memory");
}

std::string group_name(std::size_t index) { return fmt::format("{:04}", index); }
std::string resume_name(std::size_t number) { return fmt::format("resume_{}", number); }

Handle create_group(hid_t parent, const std::string& name) {
  return made(H5Gcreate2(parent, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "create group '" + name + "'");
}

bool has_link(hid_t parent, const std::string& name) {
  return done(H5Lexists(parent, name.c_str(), H5P_DEFAULT), "look for '" + name + "'") > 0;
}

bool has_own(hid_t parent, const std::string& name, const std::string& called) {
  if (!has_link(parent, name)) return false;
  H5L_info_t link;
  done(H5Lget_info(parent, name.c_str(), &link, H5P_DEFAULT), "look at " + called);
  if (link.type != H5L_TYPE_HARD) throw FormatError(called + " is a link; a trace holds what it needs itself");
  return true;
}

Handle open_group(hid_t parent, const std::string& where, const std::string& name) {
  const std::string called = where + (where == "/" ? "" : "/") + name;
  if (!has_own(parent, name, called)) throw FormatError("group " + called + " is missing");
  Handle object = made(H5Oopen(parent, name.c_str(), H5P_DEFAULT), "open " + called);
  if (H5Iget_type(object) != H5I_GROUP) throw FormatError(called + " is not a group");
  return object;
}

std::vector<std::string> names_in(hid_t group) {
  std::vector<std::string> names;
  done(H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, nullptr, add_name<H5L_info_t>, &names), "list a group");
  return names;
}

namespace {

Handle text_type() {
  Handle type = made(H5Tcopy(H5T_C_S1), "make a type");
  done(H5Tset_size(type, H5T_VARIABLE), "make a type");
  done(H5Tset_cset(type, H5T_CSET_UTF8), "make a type");
  return type;
}

void create(hid_t object, const std::string& name, hid_t file_type, hid_t memory_type, const void* value) {
  const Handle scalar = made(H5Screate(H5S_SCALAR), "make a dataspace");
  const Handle attribute = made(H5Acreate2(object, name.c_str(), file_type, scalar, H5P_DEFAULT, H5P_DEFAULT),
                                "create attribute '" + name + "'");
  done(H5Awrite(attribute, memory_type, value), "write attribute '" + name + "'");
}

std::string called(const std::string& where, const std::string& name) { return "attribute '" + name + "' of " + where; }

Handle open(hid_t object, const std::string& where, const std::string& name) {
  if (!has(object, name)) throw FormatError(called(where, name) + " is missing");
  return made(H5Aopen(object, name.c_str(), H5P_DEFAULT), "open " + called(where, name));
}

H5T_class_t scalar_class(hid_t attribute) {
  const Handle space = made(H5Aget_space(attribute), "read the shape of an attribute");
  if (H5Sget_simple_extent_npoints(space) != 1) return H5T_NO_CLASS;
  return sound_class(made(H5Aget_type(attribute), "read the type of an attribute"));
}

std::string read_text(hid_t attribute) {
  const Handle type = made(H5Aget_type(attribute), "read the type of an attribute");
  const Handle wanted = text_type();
  done(H5Tset_cset(wanted, H5Tget_cset(type)), "make a type");  // HDF5 does not convert between character sets
  if (done(H5Tis_variable_str(type), "read the type of an attribute") > 0) {
    char* text = nullptr;
    done(H5Aread(attribute, wanted, &text), "read a text");
    std::string copy = text ? text : "";
    H5free_memory(text);
    return utf8(copy);
  }
  std::vector<char> text(H5Tget_size(type) + 1, '\0');
  done(H5Aread(attribute, type, text.data()), "read a text");
  std::string copy = text.data();
  if (H5Tget_strpad(type) == H5T_STR_SPACEPAD) copy.erase(copy.find_last_not_of(' ') + 1);
  return utf8(copy);
}

template <class Value> Value read_number(hid_t attribute, hid_t memory_type) {
  Value value{};
  done(H5Aread(attribute, memory_type, &value), "read a number");
  return value;
}

Handle expect(hid_t object, const std::string& where, const std::string& name, H5T_class_t wanted, const char* word) {
  Handle attribute = open(object, where, name);
  if (scalar_class(attribute) != wanted) throw FormatError(called(where, name) + " is not one " + word);
  return attribute;
}

std::vector<std::string> names_on(hid_t object, const std::string& where) {
  std::vector<std::string> names;
  done(H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, add_name<H5A_info_t>, &names),
       "list the attributes of " + where);
  return names;
}

}  // namespace

void put(hid_t object, const std::string& name, const std::string& text) {
  const std::string clean = utf8(text);
  const char* value = clean.c_str();
  const Handle type = text_type();
  create(object, name, type, type, &value);
}
void put(hid_t object, const std::string& name, double value) {
  create(object, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &value);
}
void put(hid_t object, const std::string& name, std::int64_t value) {
  create(object, name, H5T_STD_I64LE, H5T_NATIVE_INT64, &value);
}
void put(hid_t object, const std::string& name, std::uint64_t value) {
  create(object, name, H5T_STD_U64LE, H5T_NATIVE_UINT64, &value);
}
void put(hid_t object, const std::string& name, bool flag) {
  const std::uint8_t value = flag;
  create(object, name, H5T_STD_U8LE, H5T_NATIVE_UINT8, &value);
}
void put(hid_t object, const Facts& facts) {
  for (const auto& [name, fact] : facts) std::visit([&](const auto& value) { put(object, name, value); }, fact);
}

void change(hid_t object, const std::string& name, const std::string& text) {
  if (has(object, name)) done(H5Adelete(object, name.c_str()), "replace attribute '" + name + "'");
  put(object, name, text);
}
void change(hid_t object, const std::string& name, bool flag) {
  const Handle attribute = made(H5Aopen(object, name.c_str(), H5P_DEFAULT), "open attribute '" + name + "'");
  const std::uint8_t value = flag;
  done(H5Awrite(attribute, H5T_NATIVE_UINT8, &value), "write attribute '" + name + "'");
}

bool has(hid_t object, const std::string& name) {
  return done(H5Aexists(object, name.c_str()), "look for attribute '" + name + "'") > 0;
}

std::string get_text(hid_t object, const std::string& where, const std::string& name) {
  return read_text(expect(object, where, name, H5T_STRING, "text"));
}
double get_real(hid_t object, const std::string& where, const std::string& name) {
  return read_number<double>(expect(object, where, name, H5T_FLOAT, "floating-point number"), H5T_NATIVE_DOUBLE);
}
std::int64_t get_integer(hid_t object, const std::string& where, const std::string& name) {
  return read_number<std::int64_t>(expect(object, where, name, H5T_INTEGER, "integer"), H5T_NATIVE_INT64);
}
std::uint64_t get_count(hid_t object, const std::string& where, const std::string& name) {
  return read_number<std::uint64_t>(expect(object, where, name, H5T_INTEGER, "integer"), H5T_NATIVE_UINT64);
}
bool get_flag(hid_t object, const std::string& where, const std::string& name) {
  const std::int64_t value = get_integer(object, where, name);
  if (value != 0 && value != 1)
    throw FormatError(called(where, name) + " is " + std::to_string(value) + ", neither 0 nor 1");
  return value == 1;
}

H5T_class_t sound_class(hid_t type) {
  const H5T_class_t claimed = H5Tget_class(type);
  const auto is_one_of = [&](std::initializer_list<hid_t> known) {
    return std::ranges::any_of(known, [&](hid_t one) { return H5Tequal(type, one) > 0; });
  };
  if (claimed == H5T_STRING) return claimed;
  if (claimed == H5T_FLOAT && is_one_of({H5T_IEEE_F64LE, H5T_IEEE_F32LE, H5T_IEEE_F64BE, H5T_IEEE_F32BE}))
    return claimed;
  if (claimed == H5T_INTEGER &&
      is_one_of({H5T_STD_I8LE, H5T_STD_U8LE, H5T_STD_I16LE, H5T_STD_U16LE, H5T_STD_I32LE, H5T_STD_U32LE, H5T_STD_I64LE,
                 H5T_STD_U64LE, H5T_STD_I8BE, H5T_STD_U8BE, H5T_STD_I16BE, H5T_STD_U16BE, H5T_STD_I32BE, H5T_STD_U32BE,
                 H5T_STD_I64BE, H5T_STD_U64BE}))
    return claimed;
  return H5T_NO_CLASS;
}

Facts get_facts(hid_t object, const std::string& where) {
  Facts facts;
  for (const std::string& name : names_on(object, where)) {
    const Handle attribute = open(object, where, name);
    const H5T_class_t kind = scalar_class(attribute);
    if (kind == H5T_STRING) facts.emplace_back(utf8(name), read_text(attribute));
    else if (kind == H5T_INTEGER)
      facts.emplace_back(utf8(name), read_number<std::int64_t>(attribute, H5T_NATIVE_INT64));
    else if (kind == H5T_FLOAT) facts.emplace_back(utf8(name), read_number<double>(attribute, H5T_NATIVE_DOUBLE));
  }
  return facts;
}

void copy_attributes(hid_t from, hid_t to) {
  for (const std::string& name : names_on(from, "an object")) {
    const Handle old = open(from, "an object", name);
    const Handle type = made(H5Aget_type(old), "read the type of an attribute");
    const Handle space = made(H5Aget_space(old), "read the shape of an attribute");
    const auto values = static_cast<std::size_t>(done(H5Sget_simple_extent_npoints(space), "read a shape"));
    std::vector<std::byte> bytes(values * H5Tget_size(type));
    const Handle copy =
        made(H5Acreate2(to, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT), "create attribute '" + name + "'");
    if (values == 0) continue;
    done(H5Aread(old, type, bytes.data()), "read attribute '" + name + "'");
    done(H5Awrite(copy, type, bytes.data()), "write attribute '" + name + "'");
    done(H5Dvlen_reclaim(type, space, H5P_DEFAULT, bytes.data()), "free attribute '" + name + "'");
  }
}

}  // namespace npgpu::trace
