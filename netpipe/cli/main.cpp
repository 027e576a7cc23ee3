#include "netpipe/cli/commands.hpp"

int main(int argc, char** argv) { return npgpu::cli::run({argv + 1, argv + argc}); }
