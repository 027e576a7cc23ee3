#include "netpipe/cli/next_steps.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <type_traits>

#include "netpipe/cli/commands.hpp"
#include "netpipe/model/by_device.hpp"

namespace npgpu::cli {

std::string next_steps(const Trace& trace, const std::vector<std::string>& predictable, const std::string& path,
                       bool is_whole, const TextStyle& style) {
  const std::string file = quoted(path);
  const std::string page = quoted(std::filesystem::path(path).replace_extension(".html").string());
  std::vector<std::string> commands;
  if (!is_whole) commands.push_back(fmt::format("{} report {} --all", called(), file));
  if (!trace.of<Soaks>().empty()) commands.push_back(fmt::format("{} check --trace {}", called(), file));
  if (!trace.of<Probes>().empty()) commands.push_back(called() + " derive " + file);
  commands.push_back(fmt::format("{} report {} --html {}", called(), file, page));
  const bool is_named = model::by_device<Jobs>(trace).size() > 1;
  for (const std::string& device : predictable)
    commands.push_back(fmt::format("{} predict {}{} --bytes-in 64MiB --kernel-ms 1 --bytes-out 64MiB", called(), file,
                                   is_named ? " --device " + quoted(device) : ""));
  bool is_comparable = false;  // soaks are not
  for_each_kind([&]<class K>() {
    if constexpr (!std::is_same_v<K, Soaks>) is_comparable = is_comparable || !trace.of<K>().empty();
  });
  if (is_comparable) commands.push_back(fmt::format("{} compare {} NEWER.h5", called(), file));

  // As many on a line as fit, but no command is broken: it is there to be copied.
  constexpr std::string_view head = "NEXT     ", gap = ";  ";
  std::string text = style.color ? fmt::format("\x1b[1m{}\x1b[0m", head) : std::string(head);
  std::size_t column = head.size();
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const bool fits = column + gap.size() + commands[i].size() <= static_cast<std::size_t>(style.width);
    if (i > 0) text += fits ? std::string(gap) : "\n" + std::string(head.size(), ' ');
    column = (i > 0 && fits ? column + gap.size() : head.size()) + commands[i].size();
    text += commands[i];
  }
  text += '\n';
  return text;
}

}  // namespace npgpu::cli
