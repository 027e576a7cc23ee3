#include "netpipe/cli/quantity.hpp"

#include <doctest/doctest.h>

#include "npgpu/error.hpp"

namespace quantity_test {
enum class Sort { small, large };
}
template <> inline constexpr std::array<std::string_view, 2> npgpu::names_of<quantity_test::Sort>{"small", "large"};

namespace quantity_test {

using namespace npgpu;
using namespace npgpu::cli;

TEST_CASE("sizes as people write them") {
  CHECK(parse_size("end", "4096") == 4096);
  CHECK(parse_size("end", "4KiB") == 4096);
  CHECK(parse_size("end", "1.5MiB") == 1572864);
  CHECK(parse_size("end", "192M") == 192 * MiB);
  CHECK(parse_size("end", "1GB") == 1000000000);
  CHECK(parse_size("end", "18446744073709551615") == UINT64_MAX);
  CHECK(parse_sizes("sizes", "4KiB,8,8") == std::vector<std::uint64_t>{8, 4096});
}

TEST_CASE("what is no size is refused by one sentence that names the option") {
  const auto message = [](const char* text, std::uint64_t least = 0) {
    try {
      parse_size("end", text, least);
    } catch (const Error& e) {
      CHECK(e.kind() == ErrorKind::usage);
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  CHECK(message("-5") == "--end: '-5' is no size; write bytes, or 4KiB, 1.5MiB, 2GiB");
  CHECK(message("") == "--end: '' is no size; write bytes, or 4KiB, 1.5MiB, 2GiB");
  CHECK(message("abc").find("no size") != std::string::npos);
  CHECK(message("4 KiB").find("no size") != std::string::npos);
  CHECK(message("1e6").find("no size") != std::string::npos);
  CHECK(message("0x10").find("no size") != std::string::npos);
  CHECK(message("nan").find("no size") != std::string::npos);
  CHECK(message("18446744073709551616").find("past the largest size") != std::string::npos);
  CHECK(message("99999999999GiB").find("past the largest size") != std::string::npos);
  CHECK(message("99999999999.5GiB").find("past the largest size") != std::string::npos);
  CHECK(message("1.0001KiB").find("not a whole number of bytes") != std::string::npos);
  CHECK(message("0", 1) == "--end: '0' is too small: at least 1");
}

TEST_CASE("counts, durations, fractions, lists") {
  CHECK(parse_count("trials", "7", 1) == 7);
  CHECK_THROWS_AS(parse_count("trials", "7.5", 1), Error);
  CHECK_THROWS_AS(parse_count("trials", "0", 1), Error);
  CHECK_THROWS_AS(parse_count("trials", "11", 1, 10), Error);
  CHECK(parse_duration("budget", "0.25").count() == 0.25);
  CHECK(parse_duration("budget", "250ms").count() == doctest::Approx(0.25));
  CHECK(parse_duration("budget", "10us").count() == doctest::Approx(1e-5));
  CHECK_THROWS_AS(parse_duration("budget", "0"), Error);
  CHECK(parse_duration("wait-quiet", "0", Seconds{0}).count() == 0);
  CHECK(parse_duration("soak", "10min").count() == 600);
  CHECK(parse_duration("soak", "1.5h").count() == 5400);
  CHECK_THROWS_AS(parse_duration("budget", "1d"), Error);
  CHECK_THROWS_AS(parse_duration("soak", "25h"), Error);
  CHECK_THROWS_AS(parse_duration("budget", "100000"), Error);
  CHECK(parse_fraction("tolerance", "5%") == 0.05);
  CHECK(parse_fraction("tolerance", "0.05") == 0.05);
  CHECK_THROWS_AS(parse_fraction("tolerance", "-1%"), Error);
  CHECK_THROWS_AS(parse_fraction("tolerance", "5000%"), Error);
  CHECK(parse_fraction("threshold", "300%") == 3);
  CHECK(parse_number("gap-us", "0.5", 0, 10) == 0.5);
  CHECK(parse_number("gap-us", "0", 0, 10) == 0);
  CHECK_THROWS_AS(parse_number("gap-us", "11", 0, 10), Error);
  CHECK_THROWS_AS(parse_number("slow-down", "0.9", 1, 10), Error);
  CHECK_THROWS_AS(parse_number("gap-us", "5us", 0, 10), Error);
  CHECK_THROWS_AS(parse_number("gap-us", "nan", 0, 10), Error);
  CHECK(split_words("device", "a,b") == std::vector<std::string>{"a", "b"});
  CHECK_THROWS_AS(split_words("device", "a,,b"), Error);
  CHECK(split_names("device", "b,a,b") == std::vector<std::string>{"b", "a"});
  CHECK(parse_size("end", "1.5TiB") == 1536 * GiB);
  CHECK_THROWS_WITH_AS(parse_duration("soak", "0.5", Seconds{1}), "--soak: '0.5' is too small: at least 1 s", Error);
  CHECK_THROWS_WITH_AS(parse_duration("soak", "0", Seconds{1}), "--soak: '0' is too small: it must be positive", Error);
  CHECK_THROWS_AS(split_words("device", ""), Error);
}

TEST_CASE("ranges of counts: both ends, or as far as steps go") {
  using List = std::vector<std::uint64_t>;
  CHECK(parse_counts("n", "2..4,1e1,3", 1, 100) == List{2, 3, 4, 10});
  CHECK(parse_counts("n", "64..96:8", 1, 100) == List{64, 72, 80, 88, 96});
  CHECK(parse_counts("n", "64..95:8", 1, 100) == List{64, 72, 80, 88});
  CHECK(parse_counts("n", "5..5:3", 1, 100) == List{5});
  CHECK(parse_counts("n", "1..40960:10", 1, 100000).size() == 4096);
  for (const char* bad : {"1..2:0", "4..2", "1..2:", "1:2", "1..2:x", "1..4097", "1..40961:10", "..3"})
    CHECK_THROWS_AS(parse_counts("n", bad, 0, 100000), Error);
}

TEST_CASE("a share above 1 needs a percent sign, because 10 may be meant as 10 %") {
  CHECK_THROWS_WITH_AS(parse_fraction("tolerance", "10"),
                       "--tolerance: '10' is not clear: write 10% for 10 percent, or a fraction such as 0.05", Error);
  CHECK(parse_fraction("tolerance", "10%") == doctest::Approx(0.1));
  CHECK(parse_fraction("tolerance", "1") == 1);
}

TEST_CASE("names of an enumeration, one and several") {
  CHECK(parse_names<Sort>("sort", "small,large") == std::vector<Sort>{Sort::small, Sort::large});
  CHECK_THROWS_WITH_AS(parse_name<Sort>("sort", "tiny"), "--sort: 'tiny' is none of small, large", Error);
}

}  // namespace quantity_test
