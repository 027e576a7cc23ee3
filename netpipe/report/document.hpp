// A report as a value: blocks, in order. Composers build it from results; to_text(), to_markdown() and to_html() write
// it, and escape there what others wrote.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "netpipe/report/layout.hpp"

namespace npgpu {

// A list behind a label: "latency  L1 16 ns, L2 142 ns".
struct Entry {
  std::string label{};
  std::vector<std::string> items{};
  bool alarm = false;
  std::size_t screen_lines = 0;  // of a section, at most so many on a screen; 0: all
};

struct Note {
  std::string text{};
  bool alarm = false;
  std::size_t indent = 2;
};

// What one question is answered with. A screen has the name before the first entry.
struct Section {
  std::string name{};  // "MEMORY"; of a table it is the first header
  std::optional<Table> table{};
  std::vector<Entry> entries{};
  std::vector<std::string> notes{};
  bool is_joined = false;  // to the table before it, without an empty line

  bool is_empty() const { return !table && entries.empty() && notes.empty(); }
};

class Document {
 public:
  // What stands first: whose report it is, of which run, and on which machine.
  struct Head {
    std::string text{}, run{};
    std::vector<Entry> entries{};
    bool alarm = false;
    bool one_line_each = false;  // items that do not fit the line of their entry are left out
  };
  struct Title {
    std::string text{};
    bool simulated = false;
  };
  struct Heading {
    std::string text{};
    std::string id{}, contents{};  // of a part of a page; its name among the contents, if it is to have one
  };
  struct Verdict {
    std::string text{};
    Health health = Health::pass;
  };
  // "FAIL  text": what is wrong by one word.
  enum class Tone { dim, bold, alarm };
  struct Marked {
    std::string word{};
    Tone tone = Tone::bold;
    std::string text{};
    std::size_t indent = 0, hanging = 4;  // of the line, and of those that follow
  };
  struct Rows {
    Table table;
    std::vector<std::vector<Note>> below{};  // each row
    std::string caption{}, label{};          // on a page
  };
  struct Lines {  // a drawing, as wide as it is
    std::string text{};
  };
  struct Gap {};
  struct Paragraph {
    std::string text{}, link{};
  };
  struct Bullets {
    std::vector<std::pair<std::string, bool>> items{};  // in alarm
  };
  // What is wrong, one word for it in front, and why.
  struct Finding {
    Health health = Health::fail;
    std::vector<std::pair<std::string, std::string>> said{};  // word and text, of which one may be empty
    std::vector<std::string> why{};
    std::size_t at_once = 0;  // so many are shown, `more` on demand; 0: all
    std::string more{};
  };
  struct Findings {
    std::vector<Finding> items{};
  };
  // What only a page has: HTML with all texts escaped.
  struct Drawing {
    std::string html{};
    bool is_figure = true;  // next to others
  };
  struct Foot {
    std::string text{}, on_paper{};
  };
  using Block = std::variant<Head, Title, Heading, Verdict, Entry, Note, Marked, Rows, Section, Lines, Gap, Paragraph,
                             Bullets, Findings, Drawing, Foot>;

  std::vector<Block> blocks;

  void add(Block block) { blocks.push_back(std::move(block)); }
  // A part of a page; nothing where it is empty.
  void part(Heading heading, const Document& body) {
    if (body.blocks.empty()) return;
    add(std::move(heading));
    add(body);
  }
  void draw(std::string html, bool is_figure = true) {
    if (!html.empty()) add(Drawing{std::move(html), is_figure});
  }
  void add(const Document& all) { blocks.insert(blocks.end(), all.blocks.begin(), all.blocks.end()); }
  void title(std::string text, bool simulated = false) { add(Title{std::move(text), simulated}); }
  void heading(std::string text) { add(Heading{std::move(text)}); }
  void labelled(std::string name, std::string what, bool alarm = false) {
    add(Entry{std::move(name), {std::move(what)}, alarm});
  }
  void note(std::string text, bool alarm = false, std::size_t indent = 2) { add(Note{std::move(text), alarm, indent}); }
  void table(Table table) { add(Rows{std::move(table)}); }
  void gap() { add(Gap{}); }
};

std::string to_text(const Document&, const TextStyle&);
std::string to_markdown(const Document&);
std::string to_html(const Document&);  // a page that needs nothing but a browser

}  // namespace npgpu
