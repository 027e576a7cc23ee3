#include "netpipe/cli/together.hpp"

#include <unistd.h>

#include <sstream>

#include "netpipe/cli/terminal.hpp"
#include "npgpu/error.hpp"

namespace npgpu::cli {

std::uint32_t causes_of_all(Consensus* with, std::uint32_t mine) {
  if (!with) return mine;
  std::uint32_t all = 0;
  for (const std::string& one : with->of_all(std::to_string(mine))) all |= static_cast<std::uint32_t>(std::stoul(one));
  return all;
}

std::vector<std::size_t> places_of_leader(Consensus& with, const std::vector<std::size_t>& mine) {
  std::ostringstream text;
  for (const std::size_t place : mine) text << place << ' ';
  std::istringstream words(with.of_leader(text.str()));
  std::vector<std::size_t> all;
  for (std::size_t place = 0; words >> place;) all.push_back(place);
  return all;
}

void save_and_leave(bool stopped, const std::string& output, const std::function<void()>& save) {
  std::string saved = "trace saved: " + output;
  try {
    save();
  } catch (const Error& e) {
    saved = e.what();
  }
  complain((stopped ? "stopped by a signal within a trial: another rank is gone; "
                    : "a trial does not end: another rank did not answer for --rank-timeout; ") +
           saved);
  _exit(stopped ? exit_code::stopped : exit_code::failed);
}

}  // namespace npgpu::cli
