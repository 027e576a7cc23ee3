#include "netpipe/trace/tables.hpp"

#include <cstddef>

#include "netpipe/trace/attributes.hpp"

namespace npgpu::trace {

namespace {

enum class Type { u32, i32, u64, f64 };

struct Column {
  const char* name;
  Type type;
  std::size_t offset;  // in the struct
  const char* unit;
  const char* codes = nullptr;
};

constexpr const char* stop_codes = "0 trials, 1 narrowed, 2 not-converged";
constexpr const char* intact_codes = "1 compared and right, 0 wrong, -1 not compared";

template <class Row>
struct Layout;

// Chunks of 3 to 5 KB: a sweep of 55 points of 10 samples wastes little, and a checkpoint flushes only the last ones.
template <>
struct Layout<TransferPoint> {
  static constexpr const char* name = "points";
  static constexpr hsize_t chunk_rows = 64;
  static const std::vector<Column>& columns() {
    static const std::vector<Column> all{
        {"bytes", Type::u64, offsetof(TransferPoint, bytes), "B"},
        {"first_sample", Type::u64, offsetof(TransferPoint, first_sample), "1"},
        {"samples", Type::u32, offsetof(TransferPoint, samples), "1"},
        {"stop", Type::i32, offsetof(TransferPoint, stop), "1", stop_codes},
        {"wall_us", Type::f64, offsetof(TransferPoint, wall_us), "us"},
        {"sm_clock_mhz", Type::f64, offsetof(TransferPoint, telemetry.sm_clock_mhz), "MHz"},
        {"memory_clock_mhz", Type::f64, offsetof(TransferPoint, telemetry.memory_clock_mhz), "MHz"},
        {"power_w", Type::f64, offsetof(TransferPoint, telemetry.power_w), "W"},
        {"temperature_c", Type::f64, offsetof(TransferPoint, telemetry.temperature_c), "degC"},
        {"throttle_reasons", Type::u64, offsetof(TransferPoint, telemetry.throttle_reasons), "1"},
    };
    return all;
  }
};
static_assert(sizeof(Stop) == sizeof(std::int32_t));

template <>
struct Layout<TransferSample> {
  static constexpr const char* name = "samples";
  static constexpr hsize_t chunk_rows = 64;
  static const std::vector<Column>& columns() {
    static const std::vector<Column> all{
        {"point", Type::u32, offsetof(TransferSample, point), "1"},
        {"trial", Type::u32, offsetof(TransferSample, trial), "1"},
        {"lane", Type::u32, offsetof(TransferSample, lane), "1"},
        {"intact", Type::i32, offsetof(TransferSample, intact), "1", intact_codes},
        {"repeats", Type::u64, offsetof(TransferSample, repeats), "1"},
        {"host_us", Type::f64, offsetof(TransferSample, host_us), "us"},
        {"device_us", Type::f64, offsetof(TransferSample, device_us), "us"},
    };
    return all;
  }
};

template <>
struct Layout<ProbePoint> {
  static constexpr const char* name = "points";
  static constexpr hsize_t chunk_rows = 64;
  static const std::vector<Column>& columns() {
    static const std::vector<Column> all{
        {"blocks", Type::u32, offsetof(ProbePoint, shape.blocks), "1"},
        {"threads", Type::u32, offsetof(ProbePoint, shape.threads), "1"},
        {"ilp", Type::u32, offsetof(ProbePoint, shape.ilp), "1"},
        {"access_bytes", Type::u32, offsetof(ProbePoint, shape.access_bytes), "B"},
        {"bytes", Type::u64, offsetof(ProbePoint, shape.bytes), "B"},
        {"one_block_per_sm", Type::u32, offsetof(ProbePoint, shape.one_block_per_sm), "1", "1 no two blocks on one unit, 0 as they come"},
        {"work", Type::f64, offsetof(ProbePoint, work), "1"},
        {"first_sample", Type::u64, offsetof(ProbePoint, first_sample), "1"},
        {"samples", Type::u32, offsetof(ProbePoint, samples), "1"},
        {"stop", Type::i32, offsetof(ProbePoint, stop), "1", stop_codes},
        {"wall_us", Type::f64, offsetof(ProbePoint, wall_us), "us"},
        {"sm_clock_mhz", Type::f64, offsetof(ProbePoint, telemetry.sm_clock_mhz), "MHz"},
        {"memory_clock_mhz", Type::f64, offsetof(ProbePoint, telemetry.memory_clock_mhz), "MHz"},
        {"power_w", Type::f64, offsetof(ProbePoint, telemetry.power_w), "W"},
        {"temperature_c", Type::f64, offsetof(ProbePoint, telemetry.temperature_c), "degC"},
        {"throttle_reasons", Type::u64, offsetof(ProbePoint, telemetry.throttle_reasons), "1"},
    };
    return all;
  }
};

template <>
struct Layout<ProbeSample> {
  static constexpr const char* name = "samples";
  static constexpr hsize_t chunk_rows = 64;
  static const std::vector<Column>& columns() {
    static const std::vector<Column> all{
        {"point", Type::u32, offsetof(ProbeSample, point), "1"},
        {"trial", Type::u32, offsetof(ProbeSample, trial), "1"},
        {"intact", Type::i32, offsetof(ProbeSample, intact), "1", intact_codes},
        {"repeats", Type::u64, offsetof(ProbeSample, repeats), "1"},
        {"host_us", Type::f64, offsetof(ProbeSample, host_us), "us"},
        {"device_us", Type::f64, offsetof(ProbeSample, device_us), "us"},
        {"cycles", Type::f64, offsetof(ProbeSample, cycles), "1"},
        {"units", Type::u32, offsetof(ProbeSample, units), "1"},
        {"max_blocks_on_unit", Type::u32, offsetof(ProbeSample, max_blocks_on_unit), "1"},
    };
    return all;
  }
};

template <>
struct Layout<JobPoint> {
  static constexpr const char* name = "points";
  static constexpr hsize_t chunk_rows = 64;
  static const std::vector<Column>& columns() {
    static const std::vector<Column> all{
        {"bytes_in", Type::u64, offsetof(JobPoint, job.bytes_in), "B"},
        {"bytes_out", Type::u64, offsetof(JobPoint, job.bytes_out), "B"},
        {"kernel_bytes", Type::u64, offsetof(JobPoint, job.kernel_bytes), "B"},
        {"iterations", Type::u64, offsetof(JobPoint, job.iterations), "1"},
        {"chunks", Type::u32, offsetof(JobPoint, job.chunks), "1"},
        {"streams", Type::u32, offsetof(JobPoint, job.streams), "1"},
        {"threads", Type::u32, offsetof(JobPoint, job.threads), "1"},
        {"first_sample", Type::u64, offsetof(JobPoint, first_sample), "1"},
        {"samples", Type::u32, offsetof(JobPoint, samples), "1"},
        {"stop", Type::i32, offsetof(JobPoint, stop), "1", stop_codes},
        {"wall_us", Type::f64, offsetof(JobPoint, wall_us), "us"},
        {"sm_clock_mhz", Type::f64, offsetof(JobPoint, telemetry.sm_clock_mhz), "MHz"},
        {"memory_clock_mhz", Type::f64, offsetof(JobPoint, telemetry.memory_clock_mhz), "MHz"},
        {"power_w", Type::f64, offsetof(JobPoint, telemetry.power_w), "W"},
        {"temperature_c", Type::f64, offsetof(JobPoint, telemetry.temperature_c), "degC"},
        {"throttle_reasons", Type::u64, offsetof(JobPoint, telemetry.throttle_reasons), "1"},
    };
    return all;
  }
};

template <>
struct Layout<JobSample> {
  static constexpr const char* name = "samples";
  static constexpr hsize_t chunk_rows = 64;
  static const std::vector<Column>& columns() {
    static const std::vector<Column> all{
        {"point", Type::u32, offsetof(JobSample, point), "1"},
        {"trial", Type::u32, offsetof(JobSample, trial), "1"},
        {"intact", Type::i32, offsetof(JobSample, intact), "1", intact_codes},
        {"number", Type::u64, offsetof(JobSample, number), "1"},
        {"host_us", Type::f64, offsetof(JobSample, host_us), "us"},
        {"issue_us", Type::f64, offsetof(JobSample, issue_us), "us"},
        {"create_us", Type::f64, offsetof(JobSample, create_us), "us"},
        {"destroy_us", Type::f64, offsetof(JobSample, destroy_us), "us"},
        {"device_us", Type::f64, offsetof(JobSample, device_us), "us"},
    };
    return all;
  }
};

hid_t file_type(Type type) {
  switch (type) {
    case Type::u32:
      return H5T_STD_U32LE;
    case Type::i32:
      return H5T_STD_I32LE;
    case Type::u64:
      return H5T_STD_U64LE;
    case Type::f64:
      break;
  }
  return H5T_IEEE_F64LE;
}

hid_t memory_type(Type type) {
  switch (type) {
    case Type::u32:
      return H5T_NATIVE_UINT32;
    case Type::i32:
      return H5T_NATIVE_INT32;
    case Type::u64:
      return H5T_NATIVE_UINT64;
    case Type::f64:
      break;
  }
  return H5T_NATIVE_DOUBLE;
}

template <class Row>
Handle rows_in_memory() {
  Handle type = made(H5Tcreate(H5T_COMPOUND, sizeof(Row)), "make a type");
  for (const Column& c : Layout<Row>::columns())
    done(H5Tinsert(type, c.name, c.offset, memory_type(c.type)), "make a type");
  return type;
}

template <class Row>
Handle rows_in_file() {
  Handle type = made(H5Tcreate(H5T_COMPOUND, Table<Row>::row_bytes()), "make a type");
  std::size_t offset = 0;
  for (const Column& c : Layout<Row>::columns()) {
    done(H5Tinsert(type, c.name, offset, file_type(c.type)), "make a type");
    offset += H5Tget_size(file_type(c.type));
  }
  return type;
}

void check_column(hid_t type, const Column& column, const std::string& table) {
  const std::string called = "column '" + std::string(column.name) + "' of " + table;
  const int member = H5Tget_member_index(type, column.name);
  if (member < 0) {
    hdf5_reason();  // clears it
    throw FormatError(called + " is missing");
  }
  const H5T_class_t wanted = column.type == Type::f64 ? H5T_FLOAT : H5T_INTEGER;
  if (H5Tget_member_class(type, static_cast<unsigned>(member)) != wanted)
    throw FormatError(called + " is not of " + (wanted == H5T_FLOAT ? "floating-point numbers" : "integers"));
}

}  // namespace

template <class Row>
std::string Table<Row>::name() {
  return Layout<Row>::name;
}

template <class Row>
std::uint64_t Table<Row>::row_bytes() {
  std::uint64_t sum = 0;
  for (const Column& c : Layout<Row>::columns()) sum += H5Tget_size(file_type(c.type));
  return sum;
}

template <class Row>
Table<Row> Table<Row>::create(hid_t sweep) {
  const hsize_t none = 0, unlimited = H5S_UNLIMITED, chunk = Layout<Row>::chunk_rows;
  const Handle space = made(H5Screate_simple(1, &none, &unlimited), "make a dataspace");
  const Handle how = made(H5Pcreate(H5P_DATASET_CREATE), "make a property list");
  done(H5Pset_chunk(how, 1, &chunk), "set the chunk size");
  const Handle type = rows_in_file<Row>();
  Handle dataset =
      made(H5Dcreate2(sweep, Layout<Row>::name, type, space, H5P_DEFAULT, how, H5P_DEFAULT), "create table " + name());
  for (const Column& c : Layout<Row>::columns()) {
    put(dataset, "units." + std::string(c.name), std::string(c.unit));
    if (c.codes) put(dataset, "codes." + std::string(c.name), std::string(c.codes));
  }
  return Table(std::move(dataset), 0);
}

template <class Row>
Table<Row> Table<Row>::open(hid_t sweep, const std::string& where, std::uint64_t image_bytes) {
  const std::string called = where + "/" + name();
  if (done(H5Lexists(sweep, Layout<Row>::name, H5P_DEFAULT), "look for " + called) <= 0)
    throw FormatError(called + " is missing");
  Handle dataset = made(H5Dopen2(sweep, Layout<Row>::name, H5P_DEFAULT), "open " + called);
  const Handle space = made(H5Dget_space(dataset), "read the shape of " + called);
  const Handle type = made(H5Dget_type(dataset), "read the type of " + called);
  if (H5Sget_simple_extent_ndims(space) != 1 || H5Tget_class(type) != H5T_COMPOUND)
    throw FormatError(called + " is not a table");
  for (const Column& c : Layout<Row>::columns()) check_column(type, c, called);

  hsize_t rows = 0;
  done(H5Sget_simple_extent_dims(space, &rows, nullptr), "read the shape of " + called);
  // A damaged length must not become an allocation. gzip makes at most 1032 bytes of one.
  const Handle how = made(H5Dget_create_plist(dataset), "read the properties of " + called);
  const std::uint64_t stretch = H5Pget_nfilters(how) == 0 ? 1 : 1032;
  if (rows > image_bytes * stretch / H5Tget_size(type))
    throw FormatError(called + " claims " + std::to_string(rows) + " rows, more than the file can hold");
  return Table(std::move(dataset), rows);
}

template <class Row>
void Table<Row>::append(std::span<const Row> added) {
  if (added.empty()) return;
  const hsize_t before = rows_, count = added.size(), after = before + count;
  done(H5Dset_extent(dataset_, &after), "extend table " + name());
  const Handle file = made(H5Dget_space(dataset_), "read the shape of " + name());
  done(H5Sselect_hyperslab(file, H5S_SELECT_SET, &before, nullptr, &count, nullptr), "select rows of " + name());
  const Handle memory = made(H5Screate_simple(1, &count, nullptr), "make a dataspace");
  done(H5Dwrite(dataset_, rows_in_memory<Row>(), memory, file, H5P_DEFAULT, added.data()), "write rows of " + name());
  rows_ = after;
}

template <class Row>
std::vector<Row> Table<Row>::read() const {
  std::vector<Row> rows(rows_);
  if (rows_ > 0)
    done(H5Dread(dataset_, rows_in_memory<Row>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, rows.data()), "read table " + name());
  return rows;
}

template class Table<TransferPoint>;
template class Table<TransferSample>;
template class Table<ProbePoint>;
template class Table<ProbeSample>;
template class Table<JobPoint>;
template class Table<JobSample>;

}  // namespace npgpu::trace
