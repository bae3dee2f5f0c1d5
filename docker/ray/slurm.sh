#!/bin/bash
# sbatch docker/ray/slurm.sh answers.jsonl runs/nightly
# Ray on the nodes of a Slurm job; the home folder is on all of them. Put the judge's key into judge.env.
#SBATCH --job-name=ragassay
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --mem=32G
#SBATCH --time=08:00:00
set -euo pipefail

answers=${1:?usage: sbatch slurm.sh ANSWERS OUT}
out=${2:?usage: sbatch slurm.sh ANSWERS OUT}
export RAY_USAGE_STATS_ENABLED=0
set -a; . judge.env; set +a

mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
head=${nodes[0]}
port=6379

srun --nodes=1 --ntasks=1 --nodelist="$head" \
  ray start --head --port=$port --num-cpus="$SLURM_CPUS_PER_TASK" --block &
sleep 20
srun --nodes=$((SLURM_NNODES - 1)) --ntasks=$((SLURM_NNODES - 1)) --exclude="$head" \
  ray start --address="$head:$port" --num-cpus="$SLURM_CPUS_PER_TASK" --block &
sleep 20

# Stopped at the time limit, the same command goes on from where it was.
srun --overlap --nodes=1 --ntasks=1 --nodelist="$head" \
  ragassay evaluate "$answers" --model openai/gpt-4.1-mini --engine ray --address auto --concurrency 256 --out "$out"
