#!/bin/bash
# Measures all GPUs of a node at the same time: one task a GPU, each with a trace of its own; then merges the traces. The
# figures are those of a busy node. one_node.sh measures each GPU by itself.
#
#   sbatch slurm/one_task_a_gpu.sh                        npgpu characterize
#   sbatch slurm/one_task_a_gpu.sh characterize --quick   any command that measures, with its options
#
# A site must change: the partition and the account, the number of tasks (GPUs) of a node and the cores of each, and how
# npgpu gets onto PATH (or name the program in the variable NPGPU).
#
# It leaves npgpu-JOB-NODE-RANK.h5, and npgpu-JOB.h5 with all of them. Signals, the time limit and requeueing are as in
# one_node.sh.
#SBATCH --job-name=npgpu
##SBATCH --partition=gpu
##SBATCH --account=project
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=8
#SBATCH --gpus-per-task=1
#SBATCH --cpus-per-task=4
#SBATCH --exclusive
#SBATCH --mem=0
#SBATCH --time=01:00:00
#SBATCH --signal=TERM@120
#SBATCH --requeue
#SBATCH --output=npgpu-%j.log
#SBATCH --open-mode=append
set -u
max_restarts=5
[ $# -gt 0 ] || set -- characterize

job=$SLURM_JOB_ID
[ -z "${SLURM_ARRAY_JOB_ID:-}" ] || job=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID
export job
# One rank that fails does not stop the others. srun's exit code is the highest of theirs.
code=0
# shellcheck disable=SC2016  # each task expands it
srun --kill-on-bad-exit=0 --cpus-per-task="${SLURM_CPUS_PER_TASK:-1}" sh -c 'exec "$0" "$@" --resume --output "npgpu-$job-$SLURMD_NODENAME-$SLURM_PROCID.h5"' \
  "${NPGPU:-npgpu}" "$@" || code=$?

# 75: a signal stopped it, and the traces are saved.
if [ $code -eq 75 ] && [ "${SLURM_RESTART_COUNT:-0}" -lt $max_restarts ]; then
  scontrol requeue "$SLURM_JOB_ID" && sleep 60  # Slurm ends it here
fi
# Also traces that a requeued job left on another node: they are marked as not complete.
# Whatever a check found: a sick GPU's trace is wanted most.
"${NPGPU:-npgpu}" merge --force --incomplete "npgpu-$job.h5" "npgpu-$job"-*-*.h5 || { merged=$?; [ $code -ne 0 ] || code=$merged; }
exit $code
