#!/usr/bin/env bash
# Start a real, throw-away Slurm (munged + slurmctld + N x slurmd) on this machine.
#
#   start.sh [--dir DIR] [--nodes N] [--cpus C] [--mem MB] [--accounting]
#
# Prints the environment lines to evaluate:   eval "$(tests/slurm/start.sh)"
# Needs (Debian 12): slurmctld slurmd slurm-client munge debianutils procps
#                    and, for --accounting, slurmdbd mariadb-server
# Must run as root. Everything is kept in DIR (default: headwater-slurm in the temporary folder).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=${HEADWATER_SLURM_DIR:-${TMPDIR:-/tmp}/headwater-slurm}
nodes=2 cpus=2 mem=2000 accounting=no slurmd_timeout=10
while [ $# -gt 0 ]; do
  case $1 in
    --dir) dir=$2; shift 2 ;;
    --nodes) nodes=$2; shift 2 ;;
    --cpus) cpus=$2; shift 2 ;;
    --mem) mem=$2; shift 2 ;;
    --slurmd-timeout) slurmd_timeout=$2; shift 2 ;;
    --accounting) accounting=yes; shift ;;
    -h|--help) sed -n '2,10p' "$0"; exit 0 ;;
    *) echo "start.sh: unknown option $1" >&2; exit 2 ;;
  esac
done

say() { echo "slurm: $*" >&2; }
die() { say "$*"; for f in "$dir"/log/*.log; do echo "--- $f"; tail -n 15 "$f"; done >&2; exit 1; }
[ "$(id -u)" = 0 ] || { say "must run as root (slurmd starts jobs as their owner)"; exit 1; }
for tool in munged slurmctld slurmd sinfo scontrol; do
  command -v "$tool" >/dev/null || { say "missing program: $tool"; exit 1; }
done

# The jobstep plugin drops SLURM_CONF from the environment of the inner srun, so the
# configuration must also be found at the standard place. Never replace a real one.
conf_link=/etc/slurm/slurm.conf
if [ -e "$conf_link" ] && [ ! -L "$conf_link" ]; then
  say "$conf_link is a real file: this machine has a Slurm of its own; not touching it"; exit 1
fi

if [ -e "$dir/run/slurmctld.pid" ] && kill -0 "$(cat "$dir/run/slurmctld.pid")" 2>/dev/null; then
  say "already running in $dir"
  printf 'export SLURM_CONF=%q HEADWATER_SLURM_DIR=%q\n' "$dir/slurm.conf" "$dir"
  exit 0
fi

free_port() { python3 -c 'import socket;s=socket.socket();s.bind(("127.0.0.1",0));print(s.getsockname()[1])'; }
wait_for() { # wait_for SECONDS WHAT COMMAND...
  local end=$((SECONDS + $1)) limit=$1 what=$2; shift 2
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$end" ] || die "gave up waiting for $what after $limit s"
    sleep 0.2
  done
}

rm -rf "$dir"
mkdir -p "$dir"/{munge,ctld,spool,run,log}
chmod 755 "$dir" "$dir/run" "$dir/log"
chmod 711 "$dir/munge"

# --- munge with a key of its own
( umask 077; head -c 1024 /dev/urandom > "$dir/munge/key" )
munged --force --key-file="$dir/munge/key" --socket="$dir/munge/munge.sock" \
       --pid-file="$dir/run/munged.pid" --log-file="$dir/log/munged.log" \
       --seed-file="$dir/munge/seed"
wait_for 10 munged munge --socket="$dir/munge/munge.sock" --no-input

# --- optional accounting: a private MariaDB on a socket, and slurmdbd
acct="AccountingStorageType=accounting_storage/none"
if [ "$accounting" = yes ]; then
  for tool in mariadbd mariadb-install-db mariadb slurmdbd; do
    command -v "$tool" >/dev/null || die "missing program: $tool (slurmdbd mariadb-server)"
  done
  mkdir -p "$dir/db"
  mariadb-install-db --no-defaults --user=root --datadir="$dir/db" \
      --auth-root-authentication-method=socket --skip-test-db >"$dir/log/db-install.log" 2>&1
  db_port=$(free_port)
  mariadbd --no-defaults --user=root --datadir="$dir/db" --socket="$dir/run/db.sock" \
      --pid-file="$dir/run/mariadbd.pid" --bind-address=127.0.0.1 --port="$db_port" \
      --innodb-buffer-pool-size=64M --innodb-lock-wait-timeout=900 \
      >"$dir/log/mariadbd.log" 2>&1 &
  wait_for 30 mariadbd mariadb --no-defaults --socket="$dir/run/db.sock" -e 'select 1'
  mariadb --no-defaults --socket="$dir/run/db.sock" -e \
    "create database slurm_acct_db; create user 'slurm'@'127.0.0.1' identified by 'local-test-only';
     grant all on slurm_acct_db.* to 'slurm'@'127.0.0.1';"
  dbd_port=$(free_port)
  cat > "$dir/slurmdbd.conf" <<CONF
AuthType=auth/munge
AuthInfo=socket=$dir/munge/munge.sock
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort=$dbd_port
SlurmUser=root
DebugLevel=info
LogFile=$dir/log/slurmdbd.log
PidFile=$dir/run/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=$db_port
StorageUser=slurm
StoragePass=local-test-only
StorageLoc=slurm_acct_db
CONF
  chmod 600 "$dir/slurmdbd.conf"
  acct="AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=$dbd_port
AccountingStoragePass=$dir/munge/munge.sock"
fi

# --- configuration
host=$(hostname -s)
ctld_port=$(free_port)
node_lines=""
for ((i = 1; i <= nodes; i++)); do
  node_lines+="NodeName=hw$i NodeHostname=$host NodeAddr=127.0.0.1 Port=$(free_port) CPUs=$cpus RealMemory=$mem State=UNKNOWN"$'\n'
done
export HW_SUBST_HOST=$host HW_SUBST_DIR=$dir HW_SUBST_USER=root HW_SUBST_CTLD_PORT=$ctld_port \
       HW_SUBST_ACCOUNTING=$acct HW_SUBST_NODES=$node_lines HW_SUBST_SLURMD_TIMEOUT=$slurmd_timeout
python3 - "$here/slurm.conf.in" "$dir/slurm.conf" <<'PY'
import os, pathlib, re, sys
text = pathlib.Path(sys.argv[1]).read_text()
text = re.sub(r"@([A-Z_]+)@", lambda m: os.environ["HW_SUBST_" + m[1]], text)
pathlib.Path(sys.argv[2]).write_text(text)
PY
export SLURM_CONF=$dir/slurm.conf
mkdir -p /etc/slurm && ln -sfn "$SLURM_CONF" "$conf_link"

if [ "$accounting" = yes ]; then
  # slurmdbd looks for slurmdbd.conf beside SLURM_CONF
  slurmdbd
  wait_for 30 slurmdbd timeout 5 sacctmgr -n show cluster
  sacctmgr -i add cluster headwater >"$dir/log/sacctmgr.log" 2>&1 || true
  sacctmgr -i add account lab Description=lab Organization=lab >>"$dir/log/sacctmgr.log" 2>&1 || true
  sacctmgr -i add user root Account=lab >>"$dir/log/sacctmgr.log" 2>&1 || true
fi

# --- daemons
slurmctld -f "$SLURM_CONF" -c -i
wait_for 20 slurmctld scontrol ping
for ((i = 1; i <= nodes; i++)); do
  mkdir -p "$dir/spool/hw$i"
  slurmd -f "$SLURM_CONF" -N "hw$i"
done
all_idle() { [ "$(sinfo -h -N -o '%T' -p short | grep -c '^idle$')" = "$nodes" ]; }
wait_for 40 "$nodes idle node(s)" all_idle
wait_for 30 "a first job" timeout 20 srun -p short -n1 --mem=50 true
say "ready: $nodes node(s) x $cpus CPUs x $mem MB in $dir, accounting: $accounting"
printf 'export SLURM_CONF=%q HEADWATER_SLURM_DIR=%q\n' "$dir/slurm.conf" "$dir"
