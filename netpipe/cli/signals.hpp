// What batch systems and impatient people send. Handlers only set flags; the campaign asks between trials.
#pragma once

namespace npgpu::cli {

// SIGTERM, SIGINT: stop after the trial, save, exit 75; a second one kills. SIGUSR1: save now, go on.
// SIGPIPE is ignored: a closed terminal must not cost a measurement.
void catch_signals();
bool stop_asked();
// True once for each SIGUSR1.
bool save_asked();

}  // namespace npgpu::cli
