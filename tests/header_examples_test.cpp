// The examples that begin public headers compile, run, and print something.
#include "header_examples.hpp"  // which header_examples.py makes

#include <doctest/doctest.h>

#include <filesystem>
#include <sstream>

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

}  // namespace

TEST_CASE("the example of each public header runs, and prints what it says") {
  const fs::path traces = fs::path(NPGPU_SOURCE_DIR) / "data/traces";
  const npgpu::ScratchFolder folder;
  for (const auto& [trace, as] : {std::pair{"h200_run_a.h5", "node.h5"},
                                  {"h200_run_b.h5", "later.h5"},
                                  {"h200_streams.h5", "streams.h5"},
                                  {"h200_energy.h5", "energy.h5"},
                                  {"h200_partition.h5", "partition.h5"},
                                  {"h200x2_matrix.h5", "matrix.h5"}})
    fs::create_symlink(traces / trace, folder / as);
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  CHECK(header_examples.size() >= 20);
  for (const auto& [header, example] : header_examples) {
    CAPTURE(header);
    const Printed printed;
    CHECK_NOTHROW(example());
    CHECK_FALSE(printed.text().empty());
  }
  fs::current_path(before);
}

}  // namespace header_examples_test
