#!/bin/bash
# Measures every node of a list: submits one_node.sh as an array of which element i runs on the i-th node.
#
#   slurm/every_node.sh 'gpu[01-40]'                          npgpu characterize
#   slurm/every_node.sh 'gpu[01-40]' check --level 3          any command that measures, with its options
#
# A site changes one_node.sh, in the same folder, or sets Slurm's SBATCH_* variables (SBATCH_PARTITION, SBATCH_ACCOUNT).
# sinfo -h -p gpu -o %N prints the list of a partition.
#
# It prints the number of the job. Each element leaves npgpu-JOB_INDEX-NODE.h5; an element waits for its node, also while
# that is drained, and scancel JOB_INDEX gives it up.
set -eu
[ $# -gt 0 ] || { sed -n '2,5s/^# \{0,1\}//p' "$0" >&2; exit 2; }
mapfile -t nodes < <(scontrol show hostnames "$1")
shift
[ ${#nodes[@]} -gt 0 ] || exit 2  # scontrol has said why
array=$(sbatch --parsable --hold --array="0-$((${#nodes[@]} - 1))" "$(dirname "$0")/one_node.sh" "$@")
array=${array%%;*}  # with several clusters, sbatch adds the cluster's name
trap 'scancel "$array"' ERR
for i in "${!nodes[@]}"; do scontrol update JobId="${array}_$i" ReqNodeList="${nodes[i]}"; done
scontrol release "$array"
echo "$array"
