// Each public header begins with an example, which compiles, runs, and prints something.
#include "header_examples.hpp"  // which header_examples.py makes

#include <doctest/doctest.h>

#include <filesystem>
#include <sstream>

#include "tests/made_sweep.hpp"
#include "tests/scratch.hpp"

namespace header_examples_test {

namespace fs = std::filesystem;

namespace {

// What is written to standard output while it lives.
class Printed {
 public:
  Printed() : before_(std::cout.rdbuf(text_.rdbuf())) {}
  ~Printed() { std::cout.rdbuf(before_); }
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::streambuf* before_;
};

// A trace of messages that one rank staged to another: two workers, each 10 us a chunk and 10 us for 16 KiB.
void write_rank_trace(const fs::path& path) {
  npgpu::TransferSeries messages = npgpu::sweep_of(npgpu::Pattern::stream);
  messages.question = npgpu::case_on("mpi", "host");
  messages.question.source = "host@0", messages.question.target = "host@1";
  messages.question.direction = npgpu::Direction::h2h, messages.question.access = npgpu::Access::staged;
  npgpu::add_point(messages, 64 * npgpu::KiB, {42, 42, 42});
  const npgpu::Facts costs{{"rank", std::int64_t{0}},
                           {"rank1_extent65536_stage0_us", "worker 0: 0 10 16384 20"},
                           {"rank1_extent65536_stage1_us", "worker 1: 0 10 16384 20"}};
  npgpu::TraceWriter writer(path, npgpu::IfExists::refuse, {}, {{"ranks_after", costs}});
  writer.add<npgpu::Transfers>(writer.begin(messages), messages.visits[0], messages.samples);
  writer.finish();
}

}  // namespace

TEST_CASE("each public header has an example") {
  for (const std::string& header : headers_without_example) FAIL_CHECK(header << " has none above #pragma once");
}

TEST_CASE("the example of each public header runs, and prints what it says") {
  const fs::path traces = fs::path(NPGPU_SOURCE_DIR) / "data/traces";
  const npgpu::ScratchFolder folder;
  for (const auto& [trace, as] : {std::pair{"h200_run_a.h5", "node.h5"},
                                  {"h200_run_b.h5", "later.h5"},
                                  {"h200_streams.h5", "streams.h5"},
                                  {"h200_energy.h5", "energy.h5"},
                                  {"h200_gemm.h5", "gemm.h5"},
                                  {"h200_partition.h5", "partition.h5"},
                                  {"h200x2_matrix.h5", "matrix.h5"},
                                  {"h200_record.h5", "app.h5"}})
    fs::create_symlink(traces / trace, folder / as);
  write_rank_trace(folder / "rank.h5");
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  CHECK(header_examples.size() >= 50);  // the search itself works
  for (const auto& [header, example] : header_examples) {
    CAPTURE(header);
    const Printed printed;
    CHECK_NOTHROW(example());
    CHECK_FALSE(printed.text().empty());
  }
  fs::current_path(before);
}

}  // namespace header_examples_test
