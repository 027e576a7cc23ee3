#!/bin/bash
# Measures all GPUs of one node, undisturbed by other jobs, into one trace.
#
#   sbatch slurm/one_node.sh                          npgpu characterize
#   sbatch slurm/one_node.sh characterize --quick     any command that measures, with its options
#
# A site must change: the partition and the account, the number of GPUs of a node, and how npgpu gets onto PATH (or name
# the program in the variable NPGPU).
#
# It leaves npgpu-JOB-NODE.h5, in an array npgpu-JOB_INDEX-NODE.h5. Before the time limit Slurm stops it, the trace is
# saved, and the job goes back to the queue; on the same node it goes on where it was, on another one it begins a trace
# of its own. scancel ends it, with the trace saved. scancel --signal=USR1 saves the trace, and the job goes on.
#SBATCH --job-name=npgpu
##SBATCH --partition=gpu
##SBATCH --account=project
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --exclusive
#SBATCH --mem=0
#SBATCH --gpus-per-node=8
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
# All cores: npgpu looks for those that are quiet and near a GPU.
code=0
srun --ntasks=1 --cpu-bind=none "${NPGPU:-npgpu}" "$@" --resume --output "npgpu-$job-$SLURMD_NODENAME.h5" || code=$?

# 75: a signal stopped it, and the trace is saved.
if [ $code -eq 75 ] && [ "${SLURM_RESTART_COUNT:-0}" -lt $max_restarts ]; then
  scontrol requeue "$SLURM_JOB_ID" && sleep 60  # Slurm ends it here
fi
exit $code
