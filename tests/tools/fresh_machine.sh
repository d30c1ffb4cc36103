#!/usr/bin/env bash
# Runs a command in a clone of this tree on a Debian 12 that has git and nothing else, as a person has it who follows
# the README. Needs root, the network and mmdebstrap.
#   tests/tools/fresh_machine.sh MACHINE PLACE COMMAND...
# MACHINE is the folder with its root, made when it is missing; PLACE is where the clone of the last commit lies in it.
# Its processes, mounts and name are its own, and are gone when the command is over.
set -euo pipefail
tree=$(cd "$(dirname "$0")/../.." && pwd)
[ $# -ge 3 ] || { sed -n '2,6p' "$0" | cut -c3- >&2; exit 64; }
mkdir -p "$1"
machine=$(cd "$1" && pwd) place=$2
shift 2
if [ ! -e "$machine/etc/debian_version" ]; then
    mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' | awk '$2 !~ /security|updates|backports/ {print $1; exit}')
    mmdebstrap --mode=root --variant=minbase --include=git,ca-certificates --quiet bookworm "$machine" \
        "${mirror:-http://deb.debian.org/debian}"
fi
if [ ! -e "$machine$place" ]; then
    mkdir -p "$machine$(dirname "$place")"
    git clone -q --no-hardlinks "$tree" "$machine$place"
fi
# The mounts are made in a space of their own, so that whoever removes the folder removes nothing else.
exec unshare --mount --pid --fork --uts sh -c '
    machine=$1 place=$2
    shift 2
    hostname fresh
    mount -t proc proc "$machine/proc"
    mount --rbind /dev "$machine/dev"
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb \
        chroot "$machine" sh -c "cd \"\$0\" && exec \"\$@\"" "$place" "$@"' sh "$machine" "$place" "$@"
