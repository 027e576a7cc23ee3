#include "netpipe/cli/fleet_index.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <stdexcept>
#include <system_error>

#include "netpipe/cli/output_file.hpp"
#include "netpipe/cli/provenance.hpp"
#include "npgpu/error.hpp"

namespace npgpu::cli {

namespace {

constexpr int index_format = 1;  // raised where what is kept of a trace changes

std::string index_version() {
  return fmt::format("npgpu-fleet-index {} {} {}", index_format, tool_version(), git_commit());
}

}  // namespace

std::uint64_t content_hash(std::string_view bytes) { return std::hash<std::string_view>()(bytes); }

std::string content_of(const std::filesystem::path& path) {
  std::error_code error;
  const auto size = std::filesystem::is_regular_file(path, error) ? std::filesystem::file_size(path, error) : 0;
  if (error) return {};
  std::string bytes(size, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

IndexEntries load_index(const std::filesystem::path& folder, QuestionBook& book) {
  const std::string bytes = content_of(folder / index_name);
  if (bytes.empty()) return {};
  try {
    const Cbor all = Cbor::from_cbor(bytes);
    if (all.at(0).get<std::string>() != index_version()) return {};
    const auto& content = all.at(2).get_binary();
    const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
    if (all.at(1).get<std::uint64_t>() != content_hash(text)) return {};
    const Cbor kept = Cbor::from_cbor(text);
    const std::vector<Question> questions = book.add(kept.at(0));
    IndexEntries entries;
    for (const Cbor& one : kept.at(1)) {
      IndexEntry entry{one.at(1).get<std::uint64_t>(), one.at(2).get<std::int64_t>(), unpacked(one.at(3), questions)};
      entries.emplace(one.at(0).get<std::string>(), std::move(entry));
    }
    return entries;
  } catch (const Cbor::exception&) {
  } catch (const std::out_of_range&) {
  }
  return {};
}

std::string save_index(const std::filesystem::path& folder, const KeptTraces& traces) {
  QuestionBook book;
  Cbor runs = Cbor::array();
  for (const auto& [name, one] : traces)
    runs.push_back(Cbor::array({name, one.bytes, one.modified_ns, packed(*one.run, book)}));
  std::vector<std::uint8_t> content = Cbor::to_cbor(Cbor::array({book.packed(), std::move(runs)}));
  const std::uint64_t hash = content_hash({reinterpret_cast<const char*>(content.data()), content.size()});
  std::string bytes;
  Cbor::to_cbor(Cbor::array({index_version(), hash, Cbor::binary(std::move(content))}), bytes);
  try {
    write_file("index", (folder / index_name).string(), true, [&](std::ostream& out) { out << bytes; });
    return {};
  } catch (const Error&) {
    const bool is_writable = ::access(folder.c_str(), W_OK) == 0;
    return is_writable ? "its index cannot be written" : "the folder cannot be written";
  }
}

}  // namespace npgpu::cli
