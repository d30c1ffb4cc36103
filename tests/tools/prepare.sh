# Shared by run-tests and run-demo (sourced): what the build needs, and the build itself.
# Debian 12 names; elsewhere README.md lists what to install.

# Quiet: one line a stage; what a stage says is kept in build/*.log and shown when it fails.
say() {
    printf '%s\n' "$*" >&2
}

# What each part took: " building build 61 s, testing build 500 s"
times=
note_time() {
    times="${times:+$times,} $1 $2 s"
}

stage() {
    local log=$1 what=$2 begun=$SECONDS
    shift 2
    say "== $what"
    mkdir -p "$(dirname "$log")"
    if ! "$@" >"$log" 2>&1; then
        tail -n 60 "$log" >&2
        say "FAILED: $what (all of it: $log)"
        return 1
    fi
    note_time "$what" $((SECONDS - begun))
}

packages_to_build="cmake ninja-build gcc libc6-dev pkg-config libelf-dev libdw-dev libunwind-dev
    libjansson-dev libiberty-dev libdeflate-dev liblzma-dev zlib1g-dev libncurses-dev libcapstone-dev libarchive-dev libxml2-dev
    nettle-dev"
packages_to_demo="python3 python3-dev cython3 gdb"
packages_to_test="g++ libcmocka-dev xz-utils zstd lz4 binutils dwz gdb gdbserver lldb elfutils debuginfod python3 python3-dev python3-venv python3-wheel python3-pytest
    python3-pytest-xdist python3-jsonschema python3-numpy python3-greenlet python3-trio cython3 musl-tools tmux
    libjemalloc2 libtcmalloc-minimal4 clang clang-format clang-tidy flake8 mypy"

# install_missing PACKAGE...: apt-get only for what is not there, so a second run needs no network.
install_missing() {
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        say "== not a Debian system: nothing is installed; README.md says what is needed"
        return 0
    fi
    local missing="" package sudo=""
    for package in "$@"; do
        case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) in
        installed) ;;
        *) missing="$missing $package" ;;
        esac
    done
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" != 0 ]; then
        if ! command -v sudo >/dev/null; then
            say "missing packages, and neither root nor sudo to install them:$missing"
            return 1
        fi
        sudo=sudo
    fi
    say "== installing:$missing"
    mkdir -p "$root/build"
    local log=$root/build/install.log pause options="-q -o Acquire::Retries=3 -o DPkg::Lock::Timeout=600"
    local install="$sudo env DEBIAN_FRONTEND=noninteractive
        apt-get $options -y --no-install-recommends install $missing"
    # A fresh machine has no package lists; one with old lists asks for files that are gone. Mirrors are
    # out of reach for a moment now and then, and another apt-get may hold the lists.
    $install >"$log" 2>&1 && return 0
    for pause in 0 10 30 60; do
        sleep "$pause"
        if { $sudo apt-get $options update && $install; } >"$log" 2>&1; then
            return 0
        fi
    done
    tail -n 20 "$log" >&2
    say "FAILED: apt-get install$missing (all of it: $log)"
    return 1
}

# build_tree FOLDER OPTION...: configures and builds.
build_tree() {
    local folder=$1
    shift
    stage "$folder/configure.log" "configuring ${folder#"$root"/}" \
        cmake -S "$root" -B "$folder" -G Ninja -DPSC_TEST_CORES="$root/build/cores" "$@" || return 1
    stage "$folder/build.log" "building ${folder#"$root"/}" cmake --build "$folder"
}
