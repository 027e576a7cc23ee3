// The two tables of a sweep, of a probe and of jobs in streams: which columns they have, and how rows go in and out.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "netpipe/trace/hdf5_handle.hpp"
#include "npgpu/job.hpp"
#include "npgpu/probe.hpp"
#include "npgpu/transfer.hpp"

namespace npgpu::trace {

// An open table of points or samples: `Row` is TransferPoint, ProbePoint or JobPoint, or a sample of one of these.
template <class Row>
class Table {
 public:
  static Table create(hid_t sweep);
  // Throws FormatError naming table and column if it is not a table of Rows. `image_bytes` bounds what it can hold.
  static Table open(hid_t sweep, const std::string& where, std::uint64_t image_bytes);

  std::uint64_t rows() const { return rows_; }
  // Extends the table; what is there already is not touched.
  void append(std::span<const Row>);
  std::vector<Row> read() const;

  static std::string name();         // points, samples
  static std::uint64_t row_bytes();  // in the file

 private:
  explicit Table(Handle dataset, std::uint64_t rows) : dataset_(std::move(dataset)), rows_(rows) {}
  Handle dataset_;
  std::uint64_t rows_ = 0;
};

extern template class Table<TransferPoint>;
extern template class Table<TransferSample>;
extern template class Table<ProbePoint>;
extern template class Table<ProbeSample>;
extern template class Table<JobPoint>;
extern template class Table<JobSample>;

}  // namespace npgpu::trace
