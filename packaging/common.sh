# Shared by the scripts here (sourced; `root` is set): the version, and the time that all that is packed is given.
version=$(sed -n 's/^#define PSC_VERSION  *"\(.*\)"$/\1/p' "$root/analyzer/include/pystack_core.h")
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
    # Of the last commit; without git's folder, of what Debian's changelog says.
    SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct 2>/dev/null) ||
        SOURCE_DATE_EPOCH=$(date -d "$(sed -n 's/^ -- .*>  //p' "$root/packaging/deb/split/changelog" | head -n 1)" +%s)
fi
export SOURCE_DATE_EPOCH LC_ALL=C.UTF-8 TZ=UTC
umask 022

# copy_prefix FOLDER TARGET: what packaging/static/build has installed, with the rights and the time that packages have.
copy_prefix() {
    mkdir -p "$2"
    cp -R "$1/prefix/." "$2"
    find "$2" -type d -exec chmod 755 {} +
    find "$2" -type f -exec chmod 644 {} +
    chmod 755 "$2/bin/pystack-core"
    find "$2" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
}

# copy_sources TARGET: the files of the tree without what is built in it.
copy_sources() {
    if git -C "$root" rev-parse --git-dir >/dev/null 2>&1; then
        (cd "$root" && git ls-files -z --cached --others --exclude-standard | tar -c --null -T - --ignore-failed-read) |
            tar -x -C "$1"
    else
        tar -c -C "$root" --exclude='./build*' . | tar -x -C "$1"
    fi
    find "$1" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
}
