#!/usr/bin/env bash
# Unpacks packages of another Debian suite, with all that they depend on, below a folder. Nothing is
# installed and no package script runs; programs run inside with chroot. Needs about 1 GB.
#   debian_root.sh SUITE FOLDER PACKAGE...
# What was unpacked before is kept: a folder whose list of packages is the same is left as it is.
set -euo pipefail
[ $# -ge 3 ] || { sed -n '2,5p' "$0" | cut -c3- >&2; exit 64; }
suite=$1 folder=$2
shift 2
mirror=${PSC_DEBIAN_MIRROR:-http://deb.debian.org/debian}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# Tests that run at the same time want the same one.
mkdir -p "$(dirname "$folder")"
exec 9>"$folder.lock"
flock 9
[ "$(cat "$folder/.unpacked" 2>/dev/null || true)" = "$suite $*" ] && exit 0
rm -rf "$folder"
# /bin and its like are links into /usr, as base-files has them.
mkdir -p "$folder/usr/bin" "$folder/usr/sbin" "$folder/usr/lib" "$folder/usr/lib64" \
    "$folder/tmp" "$folder/dev" "$folder/proc"
for name in bin sbin lib lib64; do
    ln -s "usr/$name" "$folder/$name"
done

# apt with folders of its own: the machine's package lists and locks are not touched.
apt=$(mktemp -d "${TMPDIR:-/tmp}/debian-root.XXXXXX")
trap 'rm -rf "$apt"' EXIT
mkdir -p "$apt/etc/apt.conf.d" "$apt/etc/preferences.d" "$apt/lists/partial" "$apt/archives/partial"
: >"$apt/status"
echo "deb [arch=amd64 signed-by=$keyring] $mirror $suite main" >"$apt/etc/sources.list"
own=(-q -o "Dir::Etc=$apt/etc" -o "Dir::Etc::SourceParts=/nonexistent" -o "Dir::State=$apt"
    -o "Dir::State::status=$apt/status" -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt"
    -o "Dir::Cache::archives=$apt/archives" -o "APT::Architecture=amd64" -o "Debug::NoLocking=1"
    -o "APT::Sandbox::User=")
apt-get "${own[@]}" update
apt-get "${own[@]}" --yes --no-install-recommends --download-only install "$@"
for package in "$apt"/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -x -C "$folder" --keep-directory-symlink --no-same-owner
done
mknod -m 666 "$folder/dev/null" c 1 3 2>/dev/null || : >"$folder/dev/null"
echo "$suite $*" >"$folder/.unpacked"
