// Damage that HDF5 does not see: the file stays sound, what it says does not.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>

#include "fuzz.hpp"
#include "netpipe/trace/hdf5.hpp"

namespace npgpu::fuzz {

namespace {

using trace::Handle;

struct Object {
  std::string path;
  bool is_table;
};

// A damaged file may have a group within itself.
void add_objects(std::vector<Object>& all, hid_t group, const std::string& path, int depth) {
  all.push_back({path.empty() ? "/" : path, false});
  if (depth == 0) return;
  for (const std::string& name : trace::names_in(group)) {
    const Handle object(H5Oopen(group, name.c_str(), H5P_DEFAULT));
    if (object < 0) continue;
    if (H5Iget_type(object) == H5I_GROUP) add_objects(all, object, path + '/' + name, depth - 1);
    else all.push_back({path + '/' + name, H5Iget_type(object) == H5I_DATASET});
  }
}

std::vector<Object> objects_of(hid_t file) {
  constexpr int deepest = 5;
  std::vector<Object> all;
  const Handle root(H5Gopen2(file, "/", H5P_DEFAULT));
  add_objects(all, root, "", deepest);
  return all;
}

herr_t add_attribute(hid_t, const char* name, const H5A_info_t*, void* all) {
  static_cast<std::vector<std::string>*>(all)->push_back(name);
  return 0;
}

// NUL ends a text of HDF5.
std::string without_nul(std::string text) {
  std::ranges::replace(text, '\0', '?');
  return text;
}

void put_raw_text(hid_t object, const std::string& name, const std::string& text) {
  const Handle type(H5Tcopy(H5T_C_S1)), space(H5Screate(H5S_SCALAR));
  H5Tset_size(type, H5T_VARIABLE);
  H5Tset_cset(type, H5T_CSET_UTF8);
  const Handle attribute(H5Acreate2(object, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT));
  const std::string safe = without_nul(text);
  const char* const pointer = safe.c_str();
  if (attribute >= 0) H5Awrite(attribute, type, &pointer);
}

void change_attribute(hid_t object, Random& random) {
  std::vector<std::string> names;
  H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, nullptr, add_attribute, &names);
  if (names.empty()) return;
  const std::string name = one_of(random, names);
  Handle attribute(H5Aopen(object, name.c_str(), H5P_DEFAULT));
  if (attribute < 0) return;
  const H5T_class_t kind = H5Tget_class(Handle(H5Aget_type(attribute)));
  switch (below(random, 8)) {
    case 0: H5Adelete(object, name.c_str()); return;
    case 1: H5Arename(object, name.c_str(), without_nul(odd_text(random)).c_str()); return;
    case 2: {
      attribute = Handle();
      H5Adelete(object, name.c_str());
      if (kind == H5T_STRING) trace::put(object, name, odd_number(random));
      else put_raw_text(object, name, odd_text(random));
      return;
    }
    default: break;
  }
  if (kind == H5T_FLOAT) {
    const double value = odd_number(random);
    H5Awrite(attribute, H5T_NATIVE_DOUBLE, &value);
  } else if (kind == H5T_INTEGER) {
    const std::int64_t value = odd_integer(random);
    H5Awrite(attribute, H5T_NATIVE_INT64, &value);
  } else {
    attribute = Handle();
    H5Adelete(object, name.c_str());
    put_raw_text(object, name, odd_text(random));
  }
}

// A cell of a column of this type, at this place.
void spoil(std::byte* cell, hid_t type, Random& random) {
  const std::size_t size = H5Tget_size(type);
  switch (H5Tget_class(type)) {
    case H5T_FLOAT: {
      double now = 0;
      std::memcpy(&now, cell, std::min(size, sizeof now));
      const double value =
          one_in(random, 3) ? now * one_of(random, std::array{-1.0, 1e6, 1e-6, 1.1}) : odd_number(random);
      const float single = static_cast<float>(value);
      if (size == sizeof value) std::memcpy(cell, &value, size);
      else if (size == sizeof single) std::memcpy(cell, &single, size);
      break;
    }
    case H5T_INTEGER: {
      const std::int64_t value = odd_integer(random);
      std::memcpy(cell, &value, std::min(size, sizeof value));
      break;
    }
    case H5T_STRING: {
      const std::string text = odd_text(random);
      std::memset(cell, 0, size);
      std::memcpy(cell, text.data(), std::min(size, text.size()));
      break;
    }
    default: break;
  }
}

struct Rows {
  Handle type;
  std::size_t row = 0;
  hsize_t count = 0;
  std::vector<std::byte> bytes;
};

std::optional<Rows> rows_of(hid_t table) {
  Rows rows{Handle(H5Dget_type(table)), 0, 0, {}};
  const Handle space(H5Dget_space(table));
  if (H5Sget_simple_extent_ndims(space) != 1 || H5Tget_class(rows.type) != H5T_COMPOUND) return std::nullopt;
  H5Sget_simple_extent_dims(space, &rows.count, nullptr);
  rows.row = H5Tget_size(rows.type);
  if (rows.count > 1'000'000) return std::nullopt;  // a wound before this one made them
  rows.bytes.resize(rows.row * rows.count);
  if (rows.count && H5Dread(table, rows.type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows.bytes.data()) < 0)
    return std::nullopt;
  return rows;
}

void spoil_cells(hid_t table, Random& random) {
  auto rows = rows_of(table);
  if (!rows || !rows->count) return;
  const auto column = static_cast<unsigned>(below(random, static_cast<std::size_t>(H5Tget_nmembers(rows->type))));
  const Handle type(H5Tget_member_type(rows->type, column));
  const std::size_t offset = H5Tget_member_offset(rows->type, column);
  std::byte* const begin = rows->bytes.data();
  const std::size_t one = below(random, rows->count), other = below(random, rows->count);
  switch (below(random, 4)) {
    case 0: {  // a whole column
      spoil(begin + offset, type, random);
      for (std::size_t i = 1; i < rows->count; ++i)
        std::memcpy(begin + i * rows->row + offset, begin + offset, H5Tget_size(type));
      break;
    }
    case 1: std::memmove(begin + one * rows->row, begin + other * rows->row, rows->row); break;
    case 2:  // several cells
      for (std::size_t i = 0; i < rows->count; i += 1 + below(random, 5))
        spoil(begin + i * rows->row + offset, type, random);
      break;
    default: spoil(begin + one * rows->row + offset, type, random);
  }
  H5Dwrite(table, rows->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows->bytes.data());
}

void change_length(hid_t table, Random& random) {
  auto rows = rows_of(table);
  if (!rows) return;
  const hsize_t count =
      one_of(random, std::array<hsize_t, 6>{0, 1, rows->count / 2, rows->count + 1, 2 * rows->count, hsize_t{1} << 33});
  H5Dset_extent(table, &count);
}

// The table without a column, or with a column of another type.
void rebuild(hid_t file, const std::string& path, Random& random) {
  Handle table(H5Dopen2(file, path.c_str(), H5P_DEFAULT));
  auto rows = rows_of(table);
  if (!rows || rows->count > 1'000'000) return;
  const auto members = static_cast<unsigned>(H5Tget_nmembers(rows->type));
  const auto chosen = static_cast<unsigned>(below(random, members));
  const bool drop = one_in(random, 2);
  const Handle type(H5Tcreate(H5T_COMPOUND, rows->row));
  for (unsigned i = 0; i < members; ++i) {
    char* const name = H5Tget_member_name(rows->type, i);
    const Handle member(H5Tget_member_type(rows->type, i));
    const std::size_t size = H5Tget_size(member);
    hid_t other = size == 8 ? (H5Tget_class(member) == H5T_FLOAT ? H5T_STD_I64LE : H5T_IEEE_F64LE) : H5T_STD_U8LE;
    if (i != chosen || !drop)
      H5Tinsert(type, name, H5Tget_member_offset(rows->type, i), i == chosen ? other : static_cast<hid_t>(member));
    H5free_memory(name);
  }
  if (H5Tget_nmembers(type) == 0) return;
  table = Handle();
  H5Ldelete(file, path.c_str(), H5P_DEFAULT);
  const Handle space(H5Screate_simple(1, &rows->count, nullptr));
  const Handle made(H5Dcreate2(file, path.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  // The bytes are those of the old rows: columns of another type say something else.
  if (made >= 0) H5Dwrite(made, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows->bytes.data());
}

std::string next_to(const std::string& path, Random& random) {
  const std::size_t slash = path.rfind('/');
  const std::string parent = path.substr(0, slash + 1);
  const std::array<std::string, 6> names{"0001", "0002", "9999", "visits", "samples", "gpu1"};
  return parent + one_of(random, names);
}

void change_links(hid_t file, const std::string& path, const std::string& other, Random& random) {
  if (path == "/") return;
  switch (below(random, 6)) {
    case 0: H5Ldelete(file, path.c_str(), H5P_DEFAULT); break;
    case 1: H5Lmove(file, path.c_str(), file, next_to(path, random).c_str(), H5P_DEFAULT, H5P_DEFAULT); break;
    case 2: H5Ocopy(file, path.c_str(), file, next_to(path, random).c_str(), H5P_DEFAULT, H5P_DEFAULT); break;
    case 3: H5Lcreate_soft(other.c_str(), file, next_to(path, random).c_str(), H5P_DEFAULT, H5P_DEFAULT); break;
    case 4: H5Lcreate_hard(file, other.c_str(), file, next_to(path, random).c_str(), H5P_DEFAULT, H5P_DEFAULT); break;
    case 5:
      H5Lcreate_external("/etc/passwd", "/", file, next_to(path, random).c_str(), H5P_DEFAULT, H5P_DEFAULT);
      break;
  }
}

void wound(hid_t file, Random& random) {
  const std::vector<Object> all = objects_of(file);
  if (all.empty()) return;
  const Object& one = one_of(random, all);
  if (one_in(random, 12)) return change_links(file, one.path, one_of(random, all).path, random);
  // As often the tables as all others together, of which there are many more.
  std::vector<std::string> tables;
  for (const Object& object : all)
    if (object.is_table) tables.push_back(object.path);
  if (tables.empty() || one_in(random, 2)) {
    const Handle object(H5Oopen(file, one.path.c_str(), H5P_DEFAULT));
    if (object >= 0) change_attribute(object, random);
    return;
  }
  const std::string path = one_of(random, tables);
  if (one_in(random, 12)) return rebuild(file, path, random);
  const Handle table(H5Dopen2(file, path.c_str(), H5P_DEFAULT));
  if (table < 0) return;
  if (one_in(random, 12)) change_length(table, random);
  else spoil_cells(table, random);
}

std::string name_of(hid_t type, unsigned member) {
  char* const name = H5Tget_member_name(type, member);
  const std::string copy = name;
  H5free_memory(name);
  return copy;
}

double poison(double now, Random& random) {
  using Limits = std::numeric_limits<double>;
  const std::array all{Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity(), 0.0,        -1.0, -now, 1e300,
                       now * 1e15,          now * 1e6,          now * 1e-6,          now * 1e-12};
  return one_of(random, all);
}

std::int64_t poison(std::int64_t, Random& random) {
  static constexpr std::array<std::int64_t, 6> all{0, -1, INT32_MAX, INT64_MAX, INT64_MIN, std::int64_t{1} << 40};
  return one_of(random, all);
}

void poison_fact(hid_t object, Random& random, std::string& what) {
  std::vector<std::string> names;
  H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, nullptr, add_attribute, &names);
  std::erase_if(names, [&](const std::string& name) {
    return H5Tget_class(Handle(H5Aget_type(Handle(H5Aopen(object, name.c_str(), H5P_DEFAULT))))) == H5T_STRING;
  });
  if (names.empty()) return;
  const std::string& name = one_of(random, names);
  const Handle attribute(H5Aopen(object, name.c_str(), H5P_DEFAULT));
  const auto put = [&]<class T>(T value, hid_t type) {
    H5Aread(attribute, type, &value);
    value = poison(value, random);
    H5Awrite(attribute, type, &value);
    what += fmt::format(" {}={}", name, value);
  };
  if (H5Tget_class(Handle(H5Aget_type(attribute))) == H5T_FLOAT) put(0.0, H5T_NATIVE_DOUBLE);
  else put(std::int64_t{0}, H5T_NATIVE_INT64);
}

void poison_column(hid_t table, Random& random, std::string& what) {
  auto rows = rows_of(table);
  if (!rows || !rows->count) return;
  std::vector<unsigned> numbers;
  for (unsigned i = 0; i < static_cast<unsigned>(H5Tget_nmembers(rows->type)); ++i)
    if (H5Tget_class(Handle(H5Tget_member_type(rows->type, i))) != H5T_STRING && name_of(rows->type, i) != "intact")
      numbers.push_back(i);  // a result that was not compared is no impossible one
  const unsigned column = one_of(random, numbers);
  const Handle type(H5Tget_member_type(rows->type, column));
  const std::size_t size = H5Tget_size(type), step = one_in(random, 2) ? 1 : 1 + below(random, rows->count);
  std::byte* const cells = rows->bytes.data() + H5Tget_member_offset(rows->type, column);
  const std::size_t first = step == 1 ? 0 : below(random, step);
  const auto put = [&]<class T>(T value) {
    std::memcpy(&value, cells + (first % rows->count) * rows->row, std::min(size, sizeof value));
    value = poison(value, random);
    for (std::size_t i = first; i < rows->count; i += step)
      std::memcpy(cells + i * rows->row, &value, std::min(size, sizeof value));
    what += fmt::format(" {}={} every {} of {}", name_of(rows->type, column), value, step, rows->count);
    if constexpr (std::is_integral_v<T>) what += fmt::format(" ({})", static_cast<std::uint64_t>(value));
  };
  if (H5Tget_class(type) == H5T_FLOAT) put(0.0);
  else put(std::int64_t{0});
  H5Dwrite(table, rows->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows->bytes.data());
}

template <class Change> std::string changed_trace(const std::string& bytes, const Change& change) {
  trace::silence_hdf5();
  const Handle access(H5Pcreate(H5P_FILE_ACCESS));
  constexpr std::size_t growth = 64 * 1024;
  constexpr bool backing_store = false;
  H5Pset_fapl_core(access, growth, backing_store);
  std::string copy = bytes;
  H5Pset_file_image(access, copy.data(), copy.size());
  const Handle file(H5Fopen("npgpu-fuzz", H5F_ACC_RDWR, access));
  if (file < 0) return bytes;
  change(file);
  trace::Bytes image;
  trace::take_image(file, image);
  return {reinterpret_cast<const char*>(image.data()), image.size()};
}

}  // namespace

std::string damaged_trace(const std::string& bytes, Random& random) {
  return changed_trace(bytes, [&](hid_t file) {
    for (auto wounds = 1 + below(random, 4); wounds > 0; --wounds) wound(file, random);
  });
}

std::string poisoned_trace(const std::string& bytes, Random& random, std::string& what) {
  return changed_trace(bytes, [&](hid_t file) {
    std::vector<Object> tables, facts;
    for (const Object& object : objects_of(file))
      if (object.is_table) tables.push_back(object);
      else if (object.path.starts_with("/provenance/")) facts.push_back(object);
    const bool is_fact = one_in(random, 5) && !facts.empty();
    const Object& one = one_of(random, is_fact ? facts : tables);
    const Handle object(H5Oopen(file, one.path.c_str(), H5P_DEFAULT));
    what += one.path;
    if (is_fact) poison_fact(object, random, what);
    else poison_column(object, random, what);
  });
}

}  // namespace npgpu::fuzz
