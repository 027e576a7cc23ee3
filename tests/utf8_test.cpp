#include <doctest/doctest.h>

#include "netpipe/trace/hdf5.hpp"

namespace utf8_test {

using npgpu::trace::utf8;

namespace {
const std::string bad = "\xef\xbf\xbd";
}

TEST_CASE("well-formed text stays as it is") {
  for (const char* text : {"", "plain", "é", "µ", "€", "\xed\x9f\xbf", "\xee\x80\x80", "𝄞", "\xf4\x8f\xbf\xbf"})
    CHECK(utf8(text) == text);
}

TEST_CASE("what is out of place becomes U+FFFD") {
  CHECK(utf8("a\xff"
             "b") == "a" + bad + "b");
  CHECK(utf8("\x80") == bad);
  CHECK(utf8("\xc3") == bad);  // ends too early
  CHECK(utf8("\xc3(") == bad + "(");
  CHECK(utf8("\xc0\xaf") == bad + bad);  // overlong '/'
  CHECK(utf8("\xe0\x80\xaf") == bad + bad + bad);
  CHECK(utf8("\xed\xa0\x80") == bad + bad + bad);            // a surrogate
  CHECK(utf8("\xf4\x90\x80\x80") == bad + bad + bad + bad);  // past U+10FFFF
  CHECK(utf8("\xe2\x82") == bad);                            // one for a sequence that the end cuts short
  CHECK(utf8(std::string("a\0b", 3)) == "a" + bad + "b");
}

}  // namespace utf8_test
