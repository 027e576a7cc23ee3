#include "netpipe/devices/simulated/node.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <deque>
#include <limits>
#include <numeric>

#include "netpipe/devices/simulated/json_object.hpp"
#include "netpipe/devices/simulated/library.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::simulated {

namespace {

constexpr JsonObject::Range link_gb_s{0, 1e6, true};
constexpr std::uint64_t max_gpus = 1024;
constexpr std::string_view each_gpu = "gpu*";

bool is_gpu(std::string_view vertex) { return vertex.starts_with("gpu"); }

NodeLink read_link_of_node(const JsonObject& from) {
  NodeLink link{.between = from.text("between"), .other = from.text("and")};
  link.forth_bytes_per_s = from.number("gb_s", link_gb_s) * 1e9;
  link.back_bytes_per_s = from.number_or("back_gb_s", link.forth_bytes_per_s / 1e9, link_gb_s) * 1e9;
  link.latency = from_microseconds(from.number_or("latency_us", 0, {0, 1e9}));
  link.nvlinks = static_cast<int>(from.integer_or("nvlinks", 0, 0, 1000));
  if (from.has("nvlink_version")) link.nvlink_version = from.text("nvlink_version");
  return link;
}

// "gpu*" stands for each GPU in turn.
std::vector<NodeLink> spread(const NodeLink& link, std::size_t gpus) {
  if (link.between != each_gpu) return {link};
  std::vector<NodeLink> all(gpus, link);
  for (std::size_t i = 0; i < gpus; ++i) all[i].between = fmt::format("gpu{}", i);
  return all;
}

void replace(std::vector<NodeLink>& links, const NodeLink& by, const std::filesystem::path& file) {
  const auto old =
      std::ranges::find_if(links, [&](const NodeLink& l) { return l.between == by.between && l.other == by.other; });
  if (old == links.end())
    refuse(file, fmt::format("instead: there is no link between {} and {} in links", by.between, by.other));
  *old = by;
}

}  // namespace

Node::Node(const std::filesystem::path& file) : file_(file) {
  JsonObject::file(file, [&](const JsonObject& from) {
    name_ = from.text("name");
    source_ = from.text("source");
    const std::filesystem::path spec_file = file.parent_path() / from.text("gpu");
    json each = read_json(spec_file);
    from.maybe_object("every", [&](const JsonObject& its) { each.merge_patch(its.without("")); });
    // What is wrong with the GPU's own file is told of that file.
    if (!from.has("every")) common_ = read_spec(spec_file);
    else JsonObject::of(file, "every", each, [&](const JsonObject& its) { common_ = read_spec(its, spec_file); });
    gpus_ = from.integer("gpus", 1, max_gpus);
    from.maybe_objects("memory", [&](const JsonObject& one) { memory_.push_back(one.text("at")); });
    from.maybe_objects("links", [&](const JsonObject& one) {
      for (NodeLink& link : spread(read_link_of_node(one), gpus_)) links_.push_back(std::move(link));
    });
    from.maybe_objects("instead", [&](const JsonObject& one) { replace(links_, read_link_of_node(one), file); });
    const auto pairs = [&](const char* key, Vertices& all) {
      from.maybe_objects(key, [&](const JsonObject& one) { all.emplace(one.text("between"), one.text("and")); });
    };
    pairs("blind", blind_);
    pairs("zeros", zeros_);
    from.maybe_objects("own", [&](const JsonObject& one) {
      const std::string gpu = one.text("gpu");
      json spec = each;
      spec.merge_patch(one.without("gpu"));
      JsonObject::of(file, "own." + gpu, spec, [&](const JsonObject& its) { own_[gpu] = read_spec(its, spec_file); });
    });
    from.maybe_objects("numa_node", [&](const JsonObject& one) {
      if (memory_.empty()) refuse(file, "numa_node: there is no memory");
      named_node_[one.text("of")] = static_cast<int>(one.integer("is", 0, memory_.size() - 1));
    });
    from.maybe_object("caps", [&](const JsonObject& caps) {
      staged_cap_ = caps.number_or("staged_gb_s", 0, {0, 1e6}) * 1e9;
      write_cap_ = caps.number_or("write_gb_s", 0, {0, 1e6}) * 1e9;
      read_cap_ = caps.number_or("read_gb_s", 0, {0, 1e6}) * 1e9;
      kernel_cap_ = caps.number_or("kernel_gb_s", 0, {0, 1e6}) * 1e9;
    });
    (void)from.has("like");
  });
  for (const NodeLink& link : links_)
    for (const std::string& vertex : {link.between, link.other})
      if (is_gpu(vertex) && vertex_of("sim:x:" + vertex.substr(3)).empty())
        refuse(file, fmt::format("links: there is no {} among {} GPUs", vertex, gpus_));
  const auto must_be_there = [&](const char* key, const std::string& gpu) {
    if (!is_gpu(gpu) || vertex_of("sim:x:" + gpu.substr(3)) != gpu)
      refuse(file, fmt::format("{}: there is no {} among {} GPUs", key, gpu, gpus_));
  };
  for (const auto& [gpu, node] : named_node_) must_be_there("numa_node", gpu);
  for (const auto& [gpu, own] : own_) must_be_there("own", gpu);
}

std::string Node::vertex_of(const std::string& device) const {
  const auto member = member_of(device);
  return member && member->gpu < gpus_ ? fmt::format("gpu{}", member->gpu) : std::string();
}

std::vector<Node::Step> Node::steps_from(const std::string& vertex) const {
  std::vector<Step> steps;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    if (links_[i].between == vertex) steps.push_back({2 * i, links_[i].other});
    if (links_[i].other == vertex) steps.push_back({2 * i + 1, links_[i].between});
  }
  return steps;
}

std::optional<std::vector<std::size_t>> Node::way(const std::string& from, const std::string& to) const {
  std::map<std::string, std::pair<std::string, std::size_t>> came;  // from where, over which link
  std::deque<std::string> todo{from};
  came[from] = {};
  while (!todo.empty() && !came.contains(to)) {
    const std::string here = todo.front();
    todo.pop_front();
    if (is_gpu(here) && here != from) continue;
    for (const Step& step : steps_from(here))
      if (came.try_emplace(step.to, here, step.link).second) todo.push_back(step.to);
  }
  if (!came.contains(to)) return std::nullopt;
  std::vector<std::size_t> links;
  for (std::string at = to; at != from; at = came[at].first) links.push_back(came[at].second);
  std::ranges::reverse(links);
  return links;
}

std::string Node::memory_near(const std::string& gpu) const {
  std::string nearest;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const std::string& at : memory_)
    if (const auto links = way(gpu, at); links && links->size() < least) {
      nearest = at;
      least = links->size();
    }
  return nearest;
}

int Node::system_node(const std::string& gpu) const {
  if (memory_.size() < 2) return -1;
  if (const auto named = named_node_.find(gpu); named != named_node_.end()) return named->second;
  const auto near = std::ranges::find(memory_, memory_near(gpu));
  return near == memory_.end() ? -1 : static_cast<int>(near - memory_.begin());
}

std::string Node::memory_of(const TransferCase& c, const std::string& gpu) const {
  const int node = c.host_node >= 0 ? c.host_node : c.bind ? system_node(gpu) : -1;
  return node < 0 ? memory_near(gpu) : memory_.at(static_cast<std::size_t>(node));
}

std::vector<int> Node::host_nodes() const {
  std::vector<int> all(memory_.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::vector<double> Node::rates() const {
  std::vector<double> all;
  for (const NodeLink& link : links_) {
    all.push_back(link.forth_bytes_per_s);
    all.push_back(link.back_bytes_per_s);
  }
  return all;
}

std::optional<std::string> Node::why_no_route(const TransferCase& c) const {
  if (c.host_node >= static_cast<int>(memory_.size()))
    return fmt::format("--host-node {}: {} has host memory on NUMA nodes {}", c.host_node, file_.string(),
                       fmt::join(host_nodes(), ", "));
  if (c.direction == Direction::d2d) return std::nullopt;
  const std::string source = vertex_of(c.source), target = vertex_of(c.target);
  if (c.direction != Direction::peer) {
    const std::string gpu = c.direction == Direction::h2d ? target : source;
    if (memory_near(gpu).empty() || !way(gpu, memory_of(c, gpu)))
      return fmt::format("{} has no way from {} to host memory", file_.string(), gpu);
    return std::nullopt;
  }
  if (c.access == Access::staged)
    return memory_near(source).empty() ? std::optional(file_.string() + " has no host memory") : std::nullopt;
  if (are(blind_, source, target) || !way(source, target))
    return fmt::format("{} cannot see the memory of {}", mover_of(c), mover_of(c) == c.source ? c.target : c.source);
  return std::nullopt;
}

double Node::cap_of(const TransferCase& c) const {
  const double access = c.access == Access::read ? read_cap_ : c.access == Access::staged ? staged_cap_ : write_cap_;
  const double by_access = c.direction == Direction::peer ? access : 0;
  const double by_kernel = c.executor == Executor::sm_kernel ? kernel_cap_ : 0;
  return by_access > 0 && by_kernel > 0 ? std::min(by_access, by_kernel) : std::max(by_access, by_kernel);
}

void Node::extend(NodeRoute& route, const std::string& from, const std::string& to) const {
  const auto links = way(from, to);
  if (!links) throw Error(ErrorKind::usage, fmt::format("{}: no way from {} to {}", file_.string(), from, to));
  for (const std::size_t link : *links) {
    route.links.push_back(link);
    route.latency += links_[link / 2].latency;
  }
}

NodeRoute Node::route(const TransferCase& c) const {
  if (const auto why = why_no_route(c)) throw Error(ErrorKind::usage, *why);
  const std::string source = vertex_of(c.source), target = vertex_of(c.target);
  NodeRoute route;
  route.cap = cap_of(c);
  if (c.direction == Direction::d2d) {
    const Link& within = common_.d2d.value();
    route.cap = within.bytes_per_s;
    route.latency = within.latency;
  } else if (c.direction == Direction::h2d) {
    extend(route, memory_of(c, target), target);
  } else if (c.direction == Direction::d2h) {
    extend(route, source, memory_of(c, source));
  } else if (c.access == Access::staged) {
    extend(route, source, memory_of(c, source));
    extend(route, memory_of(c, source), target);
  } else {
    extend(route, source, target);
    route.zeros = are(zeros_, source, target);
  }
  return route;
}

namespace {

// Each GPU scatters by itself.
std::uint64_t seed_of_gpu(std::uint64_t seed, std::size_t number) {
  constexpr std::uint64_t apart = 0x9E3779B97F4A7C15, most = std::numeric_limits<std::int64_t>::max();
  return (seed + number * apart) & most;
}

}  // namespace

Node Node::with_seed(std::uint64_t seed) const {
  Node other = *this;
  other.seed_ = seed;
  other.common_.noise.seed = seed;
  return other;
}

Spec Node::gpu(std::size_t number) const {
  const std::string me = fmt::format("gpu{}", number);
  const auto own = own_.find(me);
  Spec spec = own == own_.end() ? common_ : own->second;
  if (seed_) spec.noise.seed = seed_of_gpu(*seed_, number);
  const auto put = [&](const char* key, Fact value) {
    Facts& facts = spec.condition.facts;
    std::erase_if(facts, [&](const auto& fact) { return fact.first == key; });
    facts.emplace_back(key, std::move(value));
  };
  std::int64_t nvlinks = 0;
  std::string version;
  std::vector<std::string> to;
  for (const Step& step : steps_from(me)) {
    const NodeLink& link = links_[step.link / 2];
    if (link.nvlinks == 0) continue;
    nvlinks += link.nvlinks;
    version = link.nvlink_version;
    to.push_back(fmt::format("{} x{}", is_gpu(step.to) ? step.to : "switch", link.nvlinks));
  }
  if (nvlinks > 0) {
    put("nvlinks", nvlinks);
    if (!version.empty()) put("nvlink_version", version);
    put("nvlinks_to", fmt::format("{}", fmt::join(to, ", ")));
  }
  // The bridges on its way to memory, as a real GPU's PCI path has them: the outermost first.
  std::string path, at = me;
  if (const auto over = way(me, memory_near(me)))
    for (const std::size_t link : *over) {
      at = link % 2 ? links_[link / 2].between : links_[link / 2].other;
      path = at + (path.empty() ? "" : " > ") + path;
    }
  if (!path.empty()) put("pci_path", path);
  return spec;
}

DeviceInfo Node::info(std::size_t number, const std::string& id) const {
  DeviceInfo info = info_of(gpu(number), id);
  info.facts.emplace_back("node", name_);
  info.facts.emplace_back("node_file", file_.string());
  info.pci_bus_id = fmt::format("gpu{}", number);  // what its neighbours' nvlinks_to call it
  info.numa_node = system_node(info.pci_bus_id);
  info.host_nodes = host_nodes();
  info.link = {not_measured, "the node's spec has no link of this GPU towards the host"};
  for (const Step& step : steps_from(info.pci_bus_id)) {
    const NodeLink& link = links_[step.link / 2];
    const double rate = step.link % 2 ? link.back_bytes_per_s : link.forth_bytes_per_s;
    if (!(rate <= info.peers.per_s)) info.peers = {rate, "the fastest link of the GPU in the node's spec"};
    // The GPU's own spec may be of another host.
    if (link.nvlinks == 0 && !(rate <= info.link.per_s))
      info.link = {rate, "the fastest link of the GPU towards the host in the node's spec"};
  }
  return info;
}

std::optional<NodeMember> member_of(std::string_view id) {
  const std::size_t colon = id.rfind(':');
  if (!id.starts_with("sim:") || colon == 3 || colon + 1 == id.size()) return std::nullopt;
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(id.data() + colon + 1, id.data() + id.size(), number);
  if (error != std::errc{} || end != id.data() + id.size()) return std::nullopt;
  return NodeMember{std::string(id.substr(0, colon)), number};
}

std::shared_ptr<const Node> find_node(const std::string& id) {
  static ReadOnce<std::shared_ptr<const Node>> nodes;
  const auto file = node_file(id);
  if (!file) return nullptr;
  auto node = nodes.of(*file, [](const std::filesystem::path& one) { return std::make_shared<const Node>(one); });
  const auto seed = parts_of(id).seed;
  return seed ? std::make_shared<const Node>(node->with_seed(*seed)) : node;
}

std::shared_ptr<const Node> node_of(const std::string& id) {
  if (auto node = find_node(id)) return node;
  throw Error(ErrorKind::usage, fmt::format("--device: there is no simulated node '{}'", id));
}

}  // namespace npgpu::simulated
