#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#define DOCTEST_CONFIG_IMPLEMENT  // the precompiled header has included doctest already
#include <doctest/doctest.h>
