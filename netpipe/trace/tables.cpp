#include "netpipe/trace/tables.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace npgpu::trace {

namespace {

// Chunks of 3 to 5 KB: a series of 55 points of 10 samples wastes little, and a checkpoint flushes only the last ones.
constexpr hsize_t plain_chunk = 64;
constexpr hsize_t compressed_chunk = 4096;

// In the order of Column::Type.
hid_t file_type(Column::Type type) {
  return std::array{H5T_STD_I32LE, H5T_STD_U32LE, H5T_STD_I64LE, H5T_STD_U64LE, H5T_IEEE_F64LE, H5T_STD_U8LE, H5T_C_S1}
      [static_cast<std::size_t>(type)];
}
hid_t memory_type(Column::Type type) {
  return std::array{H5T_NATIVE_INT32,  H5T_NATIVE_UINT32, H5T_NATIVE_INT64, H5T_NATIVE_UINT64,
                    H5T_NATIVE_DOUBLE, H5T_NATIVE_UINT8,  H5T_C_S1}[static_cast<std::size_t>(type)];
}

// Without the columns that are left out, whose place in a row stays free.
Handle compound(const Columns& columns, hid_t (*type_of_column)(Column::Type), const std::vector<bool>& left_out = {}) {
  Handle type = made(H5Tcreate(H5T_COMPOUND, row_bytes(columns)), "make a type");
  std::size_t offset = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Column& c = columns[i];
    if (i < left_out.size() && left_out[i]) {
      offset += c.bytes;
      continue;
    }
    const Handle one = made(H5Tcopy(type_of_column(c.type)), "make a type");
    if (c.type == Column::Type::text) done(H5Tset_size(one, c.bytes), "make a type");
    done(H5Tinsert(type, c.name.c_str(), offset, one), "make a type");
    offset += c.bytes;
  }
  return type;
}

Handle extendible(hid_t group, const std::string& name, hid_t type, hsize_t rows, Packing packing) {
  const hsize_t unlimited = H5S_UNLIMITED;
  const hsize_t chunk = packing == Packing::plain ? plain_chunk : std::clamp(rows, plain_chunk, compressed_chunk);
  const Handle space = made(H5Screate_simple(1, &rows, &unlimited), "make a dataspace");
  const Handle how = made(H5Pcreate(H5P_DATASET_CREATE), "make a property list");
  done(H5Pset_chunk(how, 1, &chunk), "set the chunk size");
  if (packing == Packing::compressed && H5Zfilter_avail(H5Z_FILTER_DEFLATE) > 0) {
    constexpr unsigned level = 6;
    done(H5Pset_shuffle(how), "shuffle");
    done(H5Pset_deflate(how, level), "compress");
  }
  return made(H5Dcreate2(group, name.c_str(), type, space, H5P_DEFAULT, how, H5P_DEFAULT), "create table " + name);
}

// HDF5 converts rows in a buffer of a megabyte, and clears it for every table: most have a few kilobytes.
Handle small_buffer(std::size_t bytes, const std::string& what) {
  constexpr std::size_t usual = std::size_t{1} << 20;
  Handle how = made(H5Pcreate(H5P_DATASET_XFER), what);
  if (bytes < usual) done(H5Pset_buffer(how, bytes, nullptr, nullptr), what);
  return how;
}

// Whether the column is there, and sound; one that is not optional must be.
bool has_column(hid_t type, const Column& column, const std::string& table) {
  const std::string called = "column '" + column.name + "' of " + table;
  const int member = H5Tget_member_index(type, column.name.c_str());
  if (member < 0) {
    hdf5_reason();  // clears it
    if (column.optional) return false;
    throw FormatError(called + " is missing");
  }
  const H5T_class_t wanted = column.type == Column::Type::f64    ? H5T_FLOAT
                             : column.type == Column::Type::text ? H5T_STRING
                                                                 : H5T_INTEGER;
  if (sound_class(made(H5Tget_member_type(type, static_cast<unsigned>(member)), "read the type of " + called)) !=
      wanted)
    throw FormatError(called + " is not of " +
                      (wanted == H5T_FLOAT    ? "floating-point numbers"
                       : wanted == H5T_STRING ? "texts"
                                              : "integers"));
  return true;
}

hsize_t rows_of(hid_t dataset, const std::string& called) {
  const Handle space = made(H5Dget_space(dataset), "read the shape of " + called);
  if (H5Sget_simple_extent_ndims(space) != 1) throw FormatError(called + " is not a table");
  hsize_t rows = 0;
  done(H5Sget_simple_extent_dims(space, &rows, nullptr), "read the shape of " + called);
  return rows;
}

}  // namespace

std::size_t row_bytes(const Columns& columns) {
  std::size_t sum = 0;
  for (const Column& c : columns) sum += c.bytes;
  return sum;
}

RawTable RawTable::create(hid_t group, const std::string& name, const Columns& columns) {
  Handle dataset = extendible(group, name, compound(columns, file_type), 0, Packing::plain);
  for (const Column& c : columns) {
    put(dataset, "units." + c.name, c.unit);
    if (!c.codes.empty()) put(dataset, "codes." + c.name, c.codes);
  }
  return {std::move(dataset), name, columns, 0};
}

RawTable RawTable::open(hid_t group, const std::string& where, const std::string& name, const Columns& columns,
                        std::uint64_t image_bytes) {
  const std::string called = where + "/" + name;
  if (!has_own(group, name, called)) throw FormatError(called + " is missing");
  const Handle object = made(H5Oopen(group, name.c_str(), H5P_DEFAULT), "open " + called);
  if (H5Iget_type(object) != H5I_DATASET) throw FormatError(called + " is not a table");
  Handle dataset = made(H5Dopen2(group, name.c_str(), H5P_DEFAULT), "open " + called);
  const Handle type = made(H5Dget_type(dataset), "read the type of " + called);
  const hsize_t rows = rows_of(dataset, called);
  if (H5Tget_class(type) != H5T_COMPOUND) throw FormatError(called + " is not a table");
  std::vector<bool> lacks;
  for (const Column& c : columns) lacks.push_back(!has_column(type, c, called));
  const Handle how = made(H5Dget_create_plist(dataset), "read the properties of " + called);
  if (H5Pget_external_count(how) != 0 || H5Pget_layout(how) == H5D_VIRTUAL)
    throw FormatError(called + " keeps its rows in another file");
  for (int i = 0; i < H5Pget_nfilters(how); ++i) {
    unsigned flags = 0;
    std::size_t values = 0;
    std::array<char, 64> filter{};
    const auto number = static_cast<unsigned>(i);
    const H5Z_filter_t id =
        H5Pget_filter2(how, number, &flags, &values, nullptr, filter.size() - 1, filter.data(), nullptr);
    if (H5Zfilter_avail(id) <= 0)
      throw FormatError(
          fmt::format("{} is packed by filter {} ({}), which this HDF5 does not have: h5repack -f GZIP=4 where it is "
                      "known makes a copy that all can read",
                      called, static_cast<int>(id), filter.data()));
  }
  // A damaged length must not become an allocation. gzip makes at most 1032 bytes of one.
  const std::uint64_t stretch = H5Pget_nfilters(how) == 0 ? 1 : 1032;
  if (rows > image_bytes * stretch / H5Tget_size(type))
    throw FormatError(called + " claims " + std::to_string(rows) + " rows, more than the file can hold");
  RawTable table(std::move(dataset), called, columns, rows);
  table.lacks_ = std::move(lacks);
  table.file_row_bytes_ = H5Tget_size(type);
  return table;
}

void RawTable::append(std::span<const std::byte> bytes, std::uint64_t added, std::span<const std::byte> usual) {
  if (added == 0) return;
  std::size_t at = 0;
  for (std::size_t c = 0; c < columns_->size(); at += (*columns_)[c++].bytes)
    for (std::uint64_t row = 0; lacks_[c] && row < added; ++row)
      if (std::memcmp(&bytes[row * usual.size() + at], &usual[at], (*columns_)[c].bytes) != 0)
        throw FormatError(
            fmt::format("{} is of an older npgpu and has no column '{}', which this run needs: write to another file",
                        called_, (*columns_)[c].name));
  const hsize_t before = rows_, count = added, after = before + count;
  done(H5Dset_extent(dataset_, &after), "extend table " + called_);
  const Handle file = made(H5Dget_space(dataset_), "read the shape of " + called_);
  done(H5Sselect_hyperslab(file, H5S_SELECT_SET, &before, nullptr, &count, nullptr), "select rows of " + called_);
  const Handle memory = made(H5Screate_simple(1, &count, nullptr), "make a dataspace");
  const Handle type = compound(*columns_, memory_type, lacks_);
  done(H5Dwrite(dataset_, type, memory, file, H5P_DEFAULT, bytes.data()), "write rows of " + called_);
  rows_ = after;
}

std::vector<std::byte> RawTable::read(std::span<const std::byte> usual) const {
  std::vector<std::byte> bytes;
  bytes.reserve(rows_ * usual.size());
  for (std::uint64_t row = 0; row < rows_; ++row) bytes.insert(bytes.end(), usual.begin(), usual.end());
  if (rows_ == 0) return bytes;
  const Handle type = compound(*columns_, memory_type, lacks_);
  const Handle how = small_buffer(rows_ * std::max(usual.size(), file_row_bytes_), "read table " + called_);
  done(H5Dread(dataset_, type, H5S_ALL, H5S_ALL, how, bytes.data()), "read table " + called_);
  return bytes;
}

void copy_table(hid_t from, hid_t to, const std::string& name, Packing packing) {
  const Handle old = made(H5Dopen2(from, name.c_str(), H5P_DEFAULT), "open table " + name);
  const Handle type = made(H5Dget_type(old), "read the type of " + name);
  const Handle space = made(H5Dget_space(old), "read the shape of " + name);
  const hsize_t rows = rows_of(old, name);
  const Handle copy = extendible(to, name, type, rows, packing);
  copy_attributes(old, copy);
  if (rows == 0) return;
  std::vector<std::byte> bytes(rows * H5Tget_size(type));
  done(H5Dread(old, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()), "read table " + name);
  done(H5Dwrite(copy, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()), "write table " + name);
  done(H5Dvlen_reclaim(type, space, H5P_DEFAULT, bytes.data()), "free table " + name);
}

}  // namespace npgpu::trace
