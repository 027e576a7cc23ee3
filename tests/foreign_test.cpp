// Text from outside, on its way to each target: the characters that each would act on.
#include "netpipe/report/foreign.hpp"

#include <doctest/doctest.h>

#include <sstream>

#include "netpipe/report/document.hpp"
#include "netpipe/report/json.hpp"

namespace foreign_test {

using namespace npgpu;

TEST_CASE("a terminal gets one line: no control character, no turned text, nothing that cannot be seen") {
  CHECK(one_line("a\nb\rc\td\x1b[31m\x7f") == "a\\x0ab\\x0dc\\x09d\\x1b[31m\\x7f");
  CHECK(one_line("\xc2\x85\xc2\x9b") == "\\xc2\\x85\\xc2\\x9b");
  CHECK(one_line("\xe2\x80\xae"
                 "evil\xe2\x81\xa6\xef\xbb\xbf") == "\\xe2\\x80\\xaeevil\\xe2\\x81\\xa6\\xef\\xbb\\xbf");
  CHECK(one_line("caf\xc3\xa9 \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x98\x80 \xef\xbf\xbd") ==
        "caf\xc3\xa9 \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x98\x80 \xef\xbf\xbd");
}

TEST_CASE("bytes that are not UTF-8: cut short, overlong, a surrogate, past the last character") {
  CHECK(one_line("\xe6\x97") == "\\xe6\\x97");
  CHECK(one_line("\xc0\xaf") == "\\xc0\\xaf");
  CHECK(one_line("\xe0\x80\x8a") == "\\xe0\\x80\\x8a");
  CHECK(one_line("\xed\xa0\x80") == "\\xed\\xa0\\x80");
  CHECK(one_line("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");
  CHECK(one_line("\xff"
                 "a") == "\\xffa");
}

TEST_CASE("CSV: no formula, no second line; numbers stay numbers") {
  CHECK(csv_text("=cmd") == "'=cmd");
  CHECK(csv_text("@SUM(A1)") == "'@SUM(A1)");
  CHECK(csv_text("+1+cmd|' /C calc'!A0") == "'+1+cmd|' /C calc'!A0");
  CHECK(csv_text("-2+3") == "'-2+3");
  CHECK(csv_text("  =1") == "'  =1");
  CHECK(csv_text("\xef\xbc\x9d"
                 "1") ==
        "'\xef\xbc\x9d"
        "1");
  CHECK(csv_text("\t=1") == "\\x09=1");
  CHECK(csv_text("\r=1") == "\\x0d=1");
  for (const char* number : {"-1.5", "+3", "-1e999", "-inf", "-", "0", ""}) CHECK(csv_text(number) == number);
  CHECK(csv_text("=\"a\",b") == "\"'=\"\"a\"\",b\"");
  CHECK(csv_text("a;=b") == "\"a;=b\"");
  CHECK(csv_text("a\nb") == "a\\x0ab");
}

TEST_CASE("HTML and XML: no markup, in elements and in attributes") {
  CHECK(html_text("<script>&\"'\x1b\xef\xbf\xbf") == "&lt;script&gt;&amp;&quot;&#39;\\x1b\\xef\\xbf\\xbf");
}

TEST_CASE("Markdown: no markup, no cell and no line of its own, in tables as elsewhere") {
  CHECK(markdown_text("a|b*c_d`e[f](g)<h>\n# i") == "a\\|b\\*c\\_d\\`e\\[f\\](g)&lt;h&gt;\\\\x0a\\# i");
  Table table({left("a|b"), left("c")});
  table.row({"x|y\nz", "<b>"});
  CHECK(table.markdown() == "| a\\|b | c |\n| --- | --- |\n| x\\|y\\\\x0az | &lt;b&gt; |\n");
  Document document;
  document.labelled("A", "<b>|\n# h");
  CHECK(to_markdown(document) == "- **A**: &lt;b&gt;\\|\\\\x0a\\# h\n");
}

TEST_CASE("OpenMetrics: a label ends where its quotes do") {
  CHECK(openmetrics_text("a\"} 1\n\\") == "a\\\"} 1\\\\x0a\\\\");
}

TEST_CASE("JSON: valid UTF-8, whatever a terminal would act on is written as an escape, and reads back the same") {
  const std::string hostile = "\x1b[31m\x7f\xc2\x9b\xe2\x80\xae\xf3\xa0\x81\x81 caf\xc3\xa9 \n";
  std::ostringstream out;
  write_json(out, Json{{"name", hostile}, {"broken", "\xed\xa0\x80\xff"}}, -1);
  CHECK(out.str().find("\\u009b") != std::string::npos);
  CHECK(out.str().find("\\u202e") != std::string::npos);
  CHECK(out.str().find("caf\xc3\xa9") != std::string::npos);
  CHECK(out.str() == printable(out.str()));
  CHECK(Json::parse(out.str())["name"] == hostile);
}

TEST_CASE("paragraphs, labels, headers and cells of a report hold foreign line ends as text") {
  CHECK(wrapped("a\nOK", 80) == "a\\x0aOK");
  CHECK(labelled("b", "x\ny", 80) == "  b         x\\x0ay\n");
  Table table({left("h\ni")});
  table.row({"x\ny"});
  CHECK(table.lines(80) == std::vector<std::string>{"  h\\x0ai\n", "  x\\x0ay\n"});
}

}  // namespace foreign_test
