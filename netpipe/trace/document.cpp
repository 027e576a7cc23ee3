#include "netpipe/trace/document.hpp"

#include "netpipe/trace/decode.hpp"

namespace npgpu::trace {

namespace {

void put_provenance(hid_t group, const Provenance& provenance) {
  for (const auto& [name, facts] : provenance) put(create_group(group, name), facts);
}

std::string version_text() { return fmt::format("{}.{}", version_major, version_minor); }

bool is_of_a_kind(const std::string& name) {
  bool found = false;
  for_each_kind([&]<class K>() { found = found || name == K::name; });
  return found;
}

// Everything in a group, also what only a later version knows. Tables of the groups that are series are packed anew.
enum class Level { root, kind, series };
void copy_group(hid_t from, hid_t to, Level level, Packing packing) {
  copy_attributes(from, to);
  for (const std::string& name : names_in(from)) {
    H5L_info_t link;
    done(H5Lget_info(from, name.c_str(), &link, H5P_DEFAULT), "look at '" + name + "'");
    if (link.type != H5L_TYPE_HARD)
      done(H5Lcopy(from, name.c_str(), to, name.c_str(), H5P_DEFAULT, H5P_DEFAULT), "copy link '" + name + "'");
    else if (level == Level::root && is_of_a_kind(name))
      copy_group(open_group(from, "/", name), create_group(to, name), Level::kind, packing);
    else if (level == Level::kind && name.find_first_not_of("0123456789") == std::string::npos)
      copy_group(open_group(from, "...", name), create_group(to, name), Level::series, packing);
    else if (level == Level::series && (name == "visits" || name == "samples")) copy_table(from, to, name, packing);
    else done(H5Ocopy(from, name.c_str(), to, name.c_str(), H5P_DEFAULT, H5P_DEFAULT), "copy '" + name + "'");
  }
}

Handle copied(hid_t from, Packing packing) {
  Handle copy = new_image();
  copy_group(made(H5Gopen2(from, "/", H5P_DEFAULT), "open /"), made(H5Gopen2(copy, "/", H5P_DEFAULT), "open /"),
             Level::root, packing);
  return copy;
}

}  // namespace

Bytes written_anew(std::span<const std::byte> bytes) {
  Bytes anew;
  take_image(copied(open_image(bytes), Packing::compressed), anew);
  return anew;
}

Document::Document(const TraceRoot& root, const Provenance& provenance) : file_(new_image()) {
  put(file_, "schema_name", std::string(schema_name));
  put(file_, "schema_version", version_text());
  put(file_, "complete", false);
  put_header(file_, root);
  of_run_ = create_group(file_, "provenance");
  put_provenance(of_run_, provenance);
  for_each_kind([&]<class K>() { create_group(file_, std::string(K::name)); });
}

Document::Document(std::span<const std::byte> bytes, const Trace& loaded, const TraceRoot& root,
                   const Provenance& provenance)
    : file_(copied(open_image(bytes), Packing::plain)) {
  set_complete(false);
  if (loaded.version_minor < version_minor) trace::change(file_, "schema_version", version_text());
  for_each_kind([&]<class K>() {
    series<K>().load(loaded.of<K>());
    if (!has_link(file_, std::string(K::name))) create_group(file_, std::string(K::name));
  });
  const Handle group = open_group(file_, "/", "provenance");
  std::size_t number = 1;
  while (has_link(group, resume_name(number))) ++number;
  of_run_ = create_group(group, resume_name(number));
  put_header(of_run_, root);
  put_provenance(of_run_, provenance);
}

void Document::take_image(Bytes& to, Packing packing) const {
  packing == Packing::plain ? trace::take_image(file_, to) : trace::take_image(copied(file_, packing), to);
}

}  // namespace npgpu::trace
