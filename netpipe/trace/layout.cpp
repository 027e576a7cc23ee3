#include "netpipe/trace/layout.hpp"

#include <fmt/format.h>

namespace npgpu::trace {

std::string group_name(std::size_t index) { return fmt::format("{:04}", index); }

std::string resume_name(std::size_t number) { return fmt::format("resume_{}", number); }

Handle create_group(hid_t parent, const std::string& name) {
  return made(H5Gcreate2(parent, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "create group '" + name + "'");
}

bool has_link(hid_t parent, const std::string& name) {
  return done(H5Lexists(parent, name.c_str(), H5P_DEFAULT), "look for '" + name + "'") > 0;
}

bool has_own(hid_t parent, const std::string& name, const std::string& called) {
  if (!has_link(parent, name)) return false;
  H5L_info_t link;
  done(H5Lget_info(parent, name.c_str(), &link, H5P_DEFAULT), "look at " + called);
  if (link.type != H5L_TYPE_HARD) throw FormatError(called + " is a link; a trace holds what it needs itself");
  return true;
}

Handle open_group(hid_t parent, const std::string& where, const std::string& name) {
  const std::string called = where + (where == "/" ? "" : "/") + name;
  if (!has_own(parent, name, called)) throw FormatError("group " + called + " is missing");
  Handle object = made(H5Oopen(parent, name.c_str(), H5P_DEFAULT), "open " + called);
  if (H5Iget_type(object) != H5I_GROUP) throw FormatError(called + " is not a group");
  return object;
}

std::vector<std::string> names_in(hid_t group) {
  std::vector<std::string> names;
  hsize_t position = 0;
  done(H5Literate(
           group, H5_INDEX_NAME, H5_ITER_INC, &position,
           [](hid_t, const char* name, const H5L_info_t*, void* all) -> herr_t {
             static_cast<std::vector<std::string>*>(all)->push_back(name);
             return 0;
           },
           &names),
       "list a group");
  return names;
}

}  // namespace npgpu::trace
