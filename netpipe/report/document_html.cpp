// A document as a page to send: one file that needs nothing but a browser. No script, no request: its policy forbids
// both.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "netpipe/report/document.hpp"
#include "netpipe/report/foreign.hpp"
#include "netpipe/report/html/html.hpp"

namespace npgpu {

namespace {

using html::scrolling;

std::string element(const char* name, const std::string& text, const char* its_class = "") {
  return fmt::format("<{}{}>{}</{}>\n", name, *its_class ? fmt::format(" class=\"{}\"", its_class) : "",
                     html_text(text), name);
}

std::string page_head(const std::string& title) {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n" +
         element("title", title) + "<style>\n" + std::string(html::style_sheet()) +
         "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the verdict</a>\n";
}

class HtmlWriter {
 public:
  std::string finished() {
    leave_list();
    leave_part();
    return head_ + (contents_.empty() ? "" : "<nav aria-label=\"Contents\"><ul>\n" + contents_ + "</ul></nav>\n") +
           "<main id=\"main\">\n" + body_ + "</main>\n" + foot_ + "</body>\n</html>\n";
  }

  void operator()(const Document::Head& head) {
    head_ = page_head(head.text) + "<header>\n" + element("h1", head.text, head.alarm ? "alarm" : "") +
            element("p", head.run, "soft");
    for (const Entry& entry : head.entries) (*this)(entry);
    leave_list();
    head_ += std::exchange(body_, {}) + "</header>\n";
  }
  void operator()(const Document::Foot& foot) {
    foot_ = fmt::format("<footer><p>{}</p>", html_text(foot.text));
    if (!foot.on_paper.empty()) foot_ += fmt::format("<p class=\"on-paper\">{}</p>", html_text(foot.on_paper));
    foot_ += "</footer>\n";
  }
  void operator()(const Document::Title& title) {
    title_ = title.text;
    put(element("h3", (title.simulated ? "SIMULATED " : "") + title.text, title.simulated ? "alarm" : ""));
  }
  void operator()(const Document::Heading& heading) {
    if (heading.id.empty()) return put(element("h3", heading.text));
    leave_list();
    leave_part();
    if (!heading.contents.empty())
      contents_ += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", heading.id, html_text(heading.contents));
    body_ += fmt::format("<section id=\"{0}\" aria-labelledby=\"{0}-h\">\n<h2 id=\"{0}-h\">{1}</h2>\n", heading.id,
                         html_text(heading.text));
    in_part_ = true;
  }
  void operator()(const Document::Verdict& verdict) {
    put(element("p", verdict.text, (std::string("verdict ") + html::class_of(verdict.health)).c_str()));
  }
  void operator()(const Entry& entry) {
    body_ += in_list_ ? "" : "<dl>\n";
    in_list_ = true;
    body_ += fmt::format("<dt>{}</dt><dd{}>{}</dd>\n", html_text(entry.label), entry.alarm ? " class=\"alarm\"" : "",
                         html_text(fmt::format("{}", fmt::join(entry.items, ", "))));
  }
  void operator()(const Note& note) { put(element("p", note.text, note.alarm ? "fail" : "soft")); }
  void operator()(const Document::Paragraph& paragraph) {
    if (paragraph.link.empty()) return put(element("p", paragraph.text));
    put(fmt::format("<p><a href=\"#{}\">{}</a></p>\n", paragraph.link, html_text(paragraph.text)));
  }
  void operator()(const Document::Marked& marked) {
    put(fmt::format("<p><strong>{}</strong> {}</p>\n", html_text(marked.word), html_text(marked.text)));
  }
  void operator()(const Document::Lines& lines) { put(element("pre", lines.text)); }
  void operator()(const Document::Rows& rows) {
    const std::string& caption = rows.caption.empty() ? title_ : rows.caption;
    put(scrolling(rows.table.html(caption), rows.label.empty() ? caption : rows.label));
    for (const std::vector<Note>& notes : rows.below)
      for (const Note& note : notes) (*this)(note);
  }
  void operator()(const Document::Gap&) {}  // the style sheet has it
  void operator()(const Section& section) {
    if (section.table) put(scrolling(section.table->html(section.name), section.name));
    for (const Entry& entry : section.entries) (*this)(entry);
    for (const std::string& note : section.notes) put(element("p", note, "soft"));
  }
  void operator()(const Document::Bullets& bullets) {
    put("<ul>\n");
    for (const auto& [what, alarm] : bullets.items) body_ += element("li", what, alarm ? "fail" : "");
    body_ += "</ul>\n";
  }
  void operator()(const Document::Findings& findings) {
    put("<ul class=\"findings\">\n");
    for (const Document::Finding& finding : findings.items) body_ += item_of(finding);
    body_ += "</ul>\n";
  }
  void operator()(const Document::Drawing& drawing) {
    put(drawing.is_figure ? "<div class=\"figures\">\n" + drawing.html + "</div>\n" : drawing.html);
  }

 private:
  static std::string item_of(const Document::Finding& finding) {
    std::string out = fmt::format("<li class=\"{}\">", html::class_of(finding.health));
    for (const auto& [word, text] : finding.said)
      out += word.empty() ? html_text(text)
                          : fmt::format("<p><strong>{}</strong>{}</p>", html_text(word),
                                        text.empty() ? "" : "<span>" + html_text(text) + "</span>");
    if (finding.why.empty()) return out + "</li>\n";
    out += "<ul>";
    for (std::size_t i = 0; i < finding.why.size(); ++i) {
      if (finding.at_once && i == finding.at_once)
        out += fmt::format("<li><details><summary>{}</summary><ul>", html_text(finding.more));
      out += "<li>" + html_text(finding.why[i]) + "</li>";
    }
    return out + (finding.at_once ? "</ul></details></li></ul></li>\n" : "</ul></li>\n");
  }
  void put(const std::string& block) {
    leave_list();
    body_ += block;
  }
  void leave_list() {
    if (std::exchange(in_list_, false)) body_ += "</dl>\n";
  }
  void leave_part() {
    if (std::exchange(in_part_, false)) body_ += "</section>\n";
  }

  std::string head_, contents_, body_, foot_, title_;
  bool in_list_ = false, in_part_ = false;
};

}  // namespace

std::string to_html(const Document& document) {
  HtmlWriter writer;
  for (const Document::Block& block : document.blocks) std::visit(writer, block);
  return writer.finished();
}

}  // namespace npgpu
