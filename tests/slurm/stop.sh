#!/usr/bin/env bash
# Stop what start.sh started, by pid file only, and remove its directory.
#   stop.sh [--dir DIR] [--keep]
set -uo pipefail
dir=${HEADWATER_SLURM_DIR:-${TMPDIR:-/tmp}/headwater-slurm} keep=no
while [ $# -gt 0 ]; do
  case $1 in
    --dir) dir=$2; shift 2 ;;
    --keep) keep=yes; shift ;;
    *) echo "stop.sh: unknown option $1" >&2; exit 2 ;;
  esac
done
[ -d "$dir/run" ] || { echo "slurm: nothing in $dir" >&2; exit 0; }
export SLURM_CONF=$dir/slurm.conf
# end jobs first: slurmstepd processes outlive a killed slurmd
if timeout 5 squeue -h -o %A >"$dir/run/jobs" 2>/dev/null && [ -s "$dir/run/jobs" ]; then
  sort -u "$dir/run/jobs" | xargs -r timeout 20 scancel --quiet 2>/dev/null
  for _ in $(seq 50); do [ -z "$(timeout 5 squeue -h 2>/dev/null)" ] && break; sleep 0.2; done
fi
stop_one() { # stop_one PIDFILE
  local pid
  [ -s "$1" ] || return 0
  pid=$(cat "$1")
  kill "$pid" 2>/dev/null || return 0
  for _ in $(seq 50); do kill -0 "$pid" 2>/dev/null || return 0; sleep 0.2; done
  kill -9 "$pid" 2>/dev/null
}
for f in "$dir"/run/slurmd.*.pid "$dir/run/slurmctld.pid" "$dir/run/slurmdbd.pid" \
         "$dir/run/mariadbd.pid" "$dir/run/munged.pid"; do
  stop_one "$f"
done
[ "$(readlink /etc/slurm/slurm.conf 2>/dev/null)" = "$dir/slurm.conf" ] && rm -f /etc/slurm/slurm.conf
[ "$keep" = yes ] || rm -rf "$dir"
echo "slurm: stopped ($dir)" >&2
