#include <ucp/api/ucp.h>

int main() {
  unsigned major = 0, minor = 0, release = 0;
  ucp_get_version(&major, &minor, &release);
  ucp_config_t* config = nullptr;
  return ucp_config_read(nullptr, nullptr, &config) != UCS_OK;
}
