// Walks through arrays: exact for every operation and instruction set here, and one spoiled element is seen.
#include "probes/bandwidth/loops.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace loops_test {

using namespace npgpu;

namespace {

struct Arrays {
  explicit Arrays(std::uint64_t n) : x(n), y(n), z(n) {}
  loops::Slice slice(Operation operation) {
    const unsigned arrays = loops::arrays(operation);
    return {.x = x.data(),
            .y = arrays > 1 ? y.data() : nullptr,
            .z = arrays > 2 ? z.data() : nullptr,
            .elements = x.size()};
  }
  std::vector<double> x, y, z;
};

constexpr Operation operations[] = {Operation::rmw, Operation::read, Operation::write, Operation::copy,
                                    Operation::triad};

}  // namespace

TEST_CASE(
    "every operation of every instruction set here is exact over several passes, and its check sees a spoiled "
    "element") {
  if (isas_here().empty()) MESSAGE("skipped: " << why_no_isa());
  for (const Isa isa : isas_here())
    for (const Operation operation : operations)
      for (const Form form : {Form::streaming, Form::dependent})
        for (const unsigned ilp : loops::ilps) {
          const loops::Loop loop = loops::find(isa, operation, form, ilp);
          if (!loop) {
            CHECK(form == Form::dependent);
            continue;
          }
          CAPTURE(name(isa));
          CAPTURE(name(operation));
          CAPTURE(name(form));
          CAPTURE(ilp);
          Arrays arrays(31 * loops::granularity);
          loops::Slice slice = arrays.slice(operation);
          loops::fill(operation, slice);
          loop(slice, 0, 2);
          loop(slice, 2, 3);
          CHECK(loops::check(operation, slice, 5, 3).value_or("") == "");
          if (operation == Operation::rmw || operation == Operation::write) CHECK(loops::check(operation, slice, 4, 3));
          if (operation == Operation::read) CHECK(loops::check(operation, slice, 5, 2));
          double* result = slice.z ? slice.z : slice.y ? slice.y : slice.x;
          result[slice.elements - 1] += 1;
          CHECK(loops::check(operation, slice, 5, 3));
        }
}

TEST_CASE("before any pass, only what changes nothing is right") {
  for (const Operation operation : operations) {
    Arrays arrays(loops::granularity);
    loops::Slice slice = arrays.slice(operation);
    loops::fill(operation, slice);
    CAPTURE(name(operation));
    CHECK(loops::check(operation, slice, 1, 1));
  }
}

TEST_CASE("one pass by hand: elements begin 1, 2, 3, ...") {
  if (isas_here().empty()) return;
  const auto after = [](Operation operation) {
    Arrays arrays(loops::granularity);
    loops::Slice slice = arrays.slice(operation);
    loops::fill(operation, slice);
    loops::find(Isa::scalar, operation, Form::streaming, 1)(slice, 0, 1);
    return std::pair(arrays, slice.sum);
  };
  CHECK(after(Operation::rmw).first.x[1] == 3);
  CHECK(after(Operation::read).second == 64 * 65 / 2);
  CHECK(after(Operation::write).first.x[63] == 1);
  CHECK(after(Operation::copy).first.y[63] == 64);
  CHECK(after(Operation::triad).first.z[0] == 1 + 3 * 2);
}

TEST_CASE("what a step is counted as") {
  CHECK(loops::touches(Operation::rmw) == 2);
  CHECK(loops::touches(Operation::read) == 1);
  CHECK(loops::touches(Operation::write) == 1);
  CHECK(loops::touches(Operation::copy) == 2);
  CHECK(loops::touches(Operation::triad) == 3);
  CHECK(loops::touches(Operation::fma) == 0);
}

}  // namespace loops_test
