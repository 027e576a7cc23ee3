// A trace holds what it needs itself: what leads elsewhere is refused by name, and nothing vanishes silently.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include "made_trace.hpp"
#include "netpipe/trace/hdf5.hpp"
#include "netpipe/trace/tables.hpp"

namespace trace_links_test {

using namespace npgpu;

namespace {

Said doctored(const std::function<void(hid_t)>& change) {
  const ScratchFolder folder;
  make_trace(folder / "t.h5");
  doctor(folder / "t.h5", change);
  return error_of([&] { read_trace(folder / "t.h5"); });
}

}  // namespace

TEST_CASE("a series that is a link is refused, and does not vanish") {
  const auto external = [](hid_t file, const char* name) {
    REQUIRE(H5Lcreate_external("elsewhere.h5", "/transfers/0000", file, name, H5P_DEFAULT, H5P_DEFAULT) >= 0);
  };
  CHECK(doctored([&](hid_t file) { external(file, "/transfers/0001"); }).has("/transfers/0001 is a link"));
  CHECK(doctored([&](hid_t file) { external(file, "/provenance/gpu0"); }).has("/provenance/gpu0 is a link"));
  CHECK(doctored([](hid_t file) {
          REQUIRE(H5Lcreate_soft("/transfers/0000", file, "/transfers/0001", H5P_DEFAULT, H5P_DEFAULT) >= 0);
        }).has("/transfers/0001 is a link"));
  CHECK(doctored([&](hid_t file) {
          H5Ldelete(file, "/probes", H5P_DEFAULT);
          external(file, "/probes");
        }).has("/probes is a link"));
  CHECK(doctored([&](hid_t file) {
          H5Ldelete(file, "/transfers/0000/samples", H5P_DEFAULT);
          external(file, "/transfers/0000/samples");
        }).has("/transfers/0000/samples is a link"));
}

TEST_CASE("a series, or a table, that is something else is refused") {
  const auto number = [](hid_t file, const char* name) {
    const trace::Handle space(H5Screate(H5S_SCALAR));
    const trace::Handle made(H5Dcreate2(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    REQUIRE(made >= 0);
  };
  CHECK(doctored([&](hid_t file) { number(file, "/transfers/0001"); }).has("/transfers/0001 is not a group"));
  CHECK(doctored([](hid_t file) {
          H5Ldelete(file, "/transfers/0000/visits", H5P_DEFAULT);
          trace::create_group(file, "/transfers/0000/visits");
        }).has("/transfers/0000/visits is not a table"));
}

TEST_CASE("a table whose rows lie in another file is refused, even if that is a named pipe") {
  const ScratchFolder folder;
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  make_trace(folder / "t.h5");
  doctor(folder / "t.h5", [&](hid_t file) {
    const trace::Handle old(H5Dopen2(file, "/transfers/0000/visits", H5P_DEFAULT));
    const trace::Handle type(H5Dget_type(old));
    H5Ldelete(file, "/transfers/0000/visits", H5P_DEFAULT);
    const hsize_t rows = 3;
    const trace::Handle space(H5Screate_simple(1, &rows, nullptr));
    const trace::Handle how(H5Pcreate(H5P_DATASET_CREATE));
    REQUIRE(H5Pset_external(how, (folder / "pipe").c_str(), 0, H5F_UNLIMITED) >= 0);
    const trace::Handle table(H5Dcreate2(file, "/transfers/0000/visits", type, space, H5P_DEFAULT, how, H5P_DEFAULT));
    REQUIRE(table >= 0);
  });
  CHECK(error_of([&] { read_trace(folder / "t.h5"); }).has("/transfers/0000/visits keeps its rows in another file"));
}

TEST_CASE("a named pipe in the place of a trace is refused at once") {
  const ScratchFolder folder;
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(error_of([&] { read_trace(folder / "pipe"); }).has("not a plain file"));
}

}  // namespace trace_links_test
