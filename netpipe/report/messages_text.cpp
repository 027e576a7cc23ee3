// Staged messages: advised chunks, and what others took.
#include <fmt/format.h>

#include <cmath>

#include "netpipe/report/format.hpp"
#include "netpipe/report/json.hpp"
#include "netpipe/report/series_text.hpp"
#include "npgpu/messages.hpp"

namespace npgpu {

Document messages_document(std::span<const StagedMessages> all) {
  Document doc;
  for (const StagedMessages& one : all) {
    if (&one != &all.front()) doc.gap();
    doc.title(fmt::format("staged messages {}>{}, {}", one.source, one.target, name(one.pattern)));
    doc.gap();
    Table table({right("size"), right("advised chunk"), right("predicted"), right("after trials"), right("measured"),
                 right("best other", 1), right("took", 1), right("against it", 1)});
    for (const StagedSize& size : one.sizes) {
      const double regret = size.regret();
      table.row({size_text(size.bytes), size_text(size.chunk),
                 std::isfinite(size.predicted_us) ? time_text(size.predicted_us) : "-",
                 size.taken_chunk ? size_text(size.taken_chunk) : "-",
                 std::isfinite(size.advised_us) ? time_text(size.advised_us) : "-",
                 size.best_chunk ? size_text(size.best_chunk) : "-", size.best_chunk ? time_text(size.best_us) : "-",
                 std::isfinite(regret) ? fmt::format("{:+.1f} %", 100 * regret) : "-"});
    }
    doc.table(std::move(table));
  }
  return doc;
}

Json messages_json(std::span<const StagedMessages> all) {
  Json messages = Json::array();
  for (const StagedMessages& one : all) {
    Json sizes = Json::array();
    for (const StagedSize& size : one.sizes)
      sizes.push_back({entry("bytes", size.bytes), entry("chunk_bytes", size.chunk),
                       entry("predicted_us", size.predicted_us), entry("taken_chunk_bytes", size.taken_chunk),
                       entry("advised_us", size.advised_us), entry("best_chunk_bytes", size.best_chunk),
                       entry("best_us", size.best_us), entry("regret", size.regret())});
    messages.push_back({entry("source", one.source), entry("target", one.target),
                        entry("pattern", std::string(name(one.pattern))), entry("sizes", sizes)});
  }
  return messages;
}

}  // namespace npgpu
