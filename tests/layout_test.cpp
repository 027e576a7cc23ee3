#include "netpipe/report/layout.hpp"

#include <doctest/doctest.h>

#include "netpipe/report/document.hpp"

namespace layout_test {

using namespace npgpu;

TEST_CASE("a width is what a terminal shows, not the bytes of UTF-8") {
  CHECK(display_width("abc") == 3);
  CHECK(display_width("M\xc3\xbcller") == 6);             // u umlaut: two bytes, one column
  CHECK(display_width("\xc2\xb1") == 1);                  // plus-minus
  CHECK(display_width("e\xcc\x81") == 1);                 // e with a combining accent
  CHECK(display_width("\xe8\xae\xa1\xe7\xae\x97") == 4);  // two Chinese characters, two columns each
  CHECK(display_width("\xf0\x9f\x9a\x80") == 2);          // a rocket
  CHECK(display_width("\xff\xc3") == 2);                  // no UTF-8: a column a byte, and no crash
  CHECK(display_width("") == 0);
}

TEST_CASE("texts wrap between words, behind a hanging indent") {
  CHECK(wrapped("one two three", 7) == "one two\nthree");
  CHECK(wrapped("a 123456789 b", 5) == "a\n123456789\nb");
  CHECK(wrapped("\xc2\xb1\xc2\xb1 \xc2\xb1\xc2\xb1", 5) == "\xc2\xb1\xc2\xb1 \xc2\xb1\xc2\xb1");
  CHECK(wrapped("one two three", 8, 2) == "one two\n  three");
  CHECK(wrapped("one\ntwo", 80, 2) == "one\\x0atwo");
  CHECK(wrapped("one two three", 7, 2) == "one two\n  three");
  CHECK(wrapped("one two three", 13, 2) == "one two three");
  CHECK(wrapped("one two three", 12, 2) == "one two\n  three");
  CHECK(wrapped("longerthanaline x", 5, 0) == "longerthanaline\nx");
  CHECK(wrapped("aaa bbb", 7, 0, 2) == "aaa\nbbb");  // the first line begins at column 2
  CHECK(wrapped("\x1b[31mred", 80, 4) == "\\x1b[31mred");
  CHECK(wrapped("\xc3\xbc\xc3\xbc\xc3\xbc x", 5, 0) == "\xc3\xbc\xc3\xbc\xc3\xbc x");
  CHECK(wrapped("", 10, 2).empty());
}

TEST_CASE("a percent sign is not parted from its number") {
  CHECK(wrapped("off by 5 % now", 8, 0) == "off by\n5 % now");
}

TEST_CASE("a labelled line begins its text in column 12, and goes on there") {
  CHECK(labelled("limit", "63 GB/s of it", 19) == "  limit     63 GB/s\n            of it\n");
  CHECK(labelled("averylongname", "x", 40) == "  averylongname x\n");
}

TEST_CASE("columns line up, by the point where there is one") {
  Table table({right("size"), decimal("GB/s"), left("note")});
  table.row({"1 B", "0.125", "a"});
  table.row({"16 MiB", "12", "b"});
  table.row({"8 B", "-", ""});
  const auto lines = table.lines(80);
  REQUIRE(lines.size() == 4);
  CHECK(lines[0] == "    size    GB/s  note\n");
  CHECK(lines[1] == "     1 B   0.125  a\n");
  CHECK(lines[2] == "  16 MiB  12      b\n");
  CHECK(lines[3] == "     8 B   -\n");
}

TEST_CASE("a table too wide gives up its least important columns, and says which") {
  Table table({right("size"), right("minor", 1), right("least", 2)});
  table.row({"1", "2", "3"});
  CHECK(table.lines(20)[1] == "     1      2      3\n");
  CHECK(table.left_out().empty());
  CHECK(table.lines(19)[1] == "     1      2\n");
  CHECK(table.left_out() == std::vector<std::string>{"least"});
  CHECK(table.lines(3)[1] == "     1\n");  // what must stay stays
  CHECK(table.left_out() == std::vector<std::string>{"least", "minor"});
}

TEST_CASE("a column that is not there takes no room, and its cells are passed over") {
  Table table({left("a"), right("b", 0, false), right("c")});
  table.row({"x", "hidden", "1"});
  CHECK(table.lines(80) == std::vector<std::string>{"  a  c\n", "  x  1\n"});
  CHECK(table.left_out().empty());
}

TEST_CASE("marks that no row has take no column, in no form") {
  Table table({left("name"), right("rate"), left("")});
  table.row({"a", "-", ""});
  CHECK(table.lines(80) == std::vector<std::string>{"  name  rate\n", "  a        -\n"});
  CHECK(table.markdown().starts_with("| name | rate |\n| --- | ---: |\n"));
  CHECK(table.html("").find("marks") == std::string::npos);
  table.row({"b", "1", "*"});
  CHECK(table.html("").find("marks") != std::string::npos);
}

TEST_CASE("a table whose columns must all stay has its longest texts cut, and says so") {
  Table table({left("title"), right("rate")});
  table.row({"a title that is far too long", "1.5"});
  table.row({"short", "2"});
  const auto lines = table.lines(30);
  for (const std::string& line : lines) CHECK(line.size() <= 31);
  CHECK(lines[1] == "  a title that is far...   1.5\n");
  CHECK(table.cut());
  table.row({"a title that no terminal of sixty columns has the room for, as it is longer", "3"});
  Document document;
  document.table(table);
  document.left_out();
  CHECK(to_text(document, {.color = false, .width = 60}).ends_with("  cut at 60 columns: texts that end in ...\n"));
  table.lines(100);
  CHECK_FALSE(table.cut());
}

TEST_CASE("control characters and escapes never reach the terminal, whatever way a text takes") {
  const std::string evil =
      "\x1b[31mred\x07\xc2\x9b"
      "1m\xff";
  const std::string shown = "\\x1b[31mred\\x07\\xc2\\x9b1m\\xff";
  CHECK(printable(evil) == shown);
  CHECK(printable("caf\xc3\xa9\n") == "caf\xc3\xa9\n");
  CHECK(wrapped(evil, 80, 0) == shown);
  CHECK(labelled(evil, evil, 200) == "  " + shown + ' ' + shown + '\n');
  CHECK(Ink(false).bold(evil) == shown);
  CHECK(Ink(true).bold(evil) == "\x1b[1m" + shown + "\x1b[0m");
  Table table({left("a")});
  table.row({evil});
  CHECK(table.lines(80)[1] == "  " + shown + '\n');
}

TEST_CASE("cells of UTF-8 do not shift the columns behind them") {
  Table table({left("a"), left("b")});
  table.row({"\xc3\xbc", "x"});
  table.row({"uu", "x"});
  CHECK(table.lines(80)[1] == "  \xc3\xbc   x\n");
}

TEST_CASE("without colours not one escape is written") {
  CHECK(Ink(false).alarm("x") == "x");
  CHECK(Ink(true).alarm("x") == "\x1b[1;31mx\x1b[0m");
  CHECK(Ink(true).bold("").empty());
}

}  // namespace layout_test
