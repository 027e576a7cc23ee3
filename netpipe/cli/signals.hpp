// What batch systems and impatient people send. Handlers only set flags; the campaign asks between trials.
#pragma once

namespace npgpu::cli {

// SIGTERM, SIGINT, SIGHUP: stop after the trial, save, exit 75; a second one kills. A SIGHUP that is ignored already
// (nohup) stays so. SIGUSR1: save now, go on. SIGPIPE and SIGXFSZ are ignored: a closed terminal must not cost a
// measurement, and a file that may not grow is an error of the write.
void catch_signals();
bool stop_asked();
// True once for each SIGUSR1.
bool save_asked();

}  // namespace npgpu::cli
