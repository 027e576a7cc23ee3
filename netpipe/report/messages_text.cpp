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

NPGPU_FORM(StagedSize, &T::bytes, called<"chunk_bytes", &T::chunk>, &T::predicted_us,
           called<"taken_chunk_bytes", &T::taken_chunk>, &T::advised_us, called<"best_chunk_bytes", &T::best_chunk>,
           &T::best_us, &T::regret);
NPGPU_FORM(StagedMessages, &T::source, &T::target, &T::pattern, &T::sizes);
Json messages_json(const StagedMessages& messages, JsonOf as) { return form_of(messages, as); }

}  // namespace npgpu
