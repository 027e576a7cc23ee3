#include "netpipe/trace/layout.hpp"

#include <fmt/format.h>

namespace npgpu::trace {

std::string group_name(std::size_t index) { return fmt::format("{:04}", index); }

std::string resume_name(std::size_t number) { return fmt::format("resume_{}", number); }

Handle create_group(hid_t parent, const std::string& name) {
  return made(H5Gcreate2(parent, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "create group '" + name + "'");
}

bool has_group(hid_t parent, const std::string& name) {
  return done(H5Lexists(parent, name.c_str(), H5P_DEFAULT), "look for group '" + name + "'") > 0;
}

Handle open_group(hid_t parent, const std::string& where, const std::string& name) {
  const std::string called = where + (where == "/" ? "" : "/") + name;
  if (!has_group(parent, name)) throw FormatError("group " + called + " is missing");
  return made(H5Gopen2(parent, name.c_str(), H5P_DEFAULT), "open group " + called);
}

std::vector<std::string> groups_in(hid_t group) {
  std::vector<std::string> names;
  hsize_t position = 0;
  done(H5Literate(
           group, H5_INDEX_NAME, H5_ITER_INC, &position,
           [](hid_t, const char* name, const H5L_info_t* link, void* all) -> herr_t {
             if (link->type == H5L_TYPE_HARD) static_cast<std::vector<std::string>*>(all)->push_back(name);
             return 0;
           },
           &names),
       "list a group");
  std::erase_if(names, [&](const std::string& name) {
    const Handle object = made(H5Oopen(group, name.c_str(), H5P_DEFAULT), "open '" + name + "'");
    return H5Iget_type(object) != H5I_GROUP;
  });
  return names;
}

}  // namespace npgpu::trace
