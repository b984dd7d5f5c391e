#!/bin/sh
# Say what this machine lacks for building pi2_fluid: one line for each thing, with the package
# that brings it. Silent and 0 when nothing is lacking, 1 otherwise.
# Honours PYTHON, CC and CXX.

python=${PYTHON:-python3}
status=0

# lacking WHAT APT DNF MACOS
lacking() {
    printf 'lacking: %s (Debian, Ubuntu: apt install %s; Fedora: dnf install %s; macOS: %s)\n' \
        "$1" "$2" "$3" "$4" >&2
    status=1
}

scratch=$(mktemp -d "${TMPDIR:-/tmp}/preflight.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

# Having a compiler by name proves little: without its headers and libraries it links nothing.
builds() { # builds COMPILER SOURCE
    # The compiler is left unquoted: CC may carry flags.
    $1 "$2" -o "$scratch/program" -lm >/dev/null 2>&1
}
any_builds() { # any_builds SOURCE COMPILER...
    source=$1
    shift
    for compiler in "$@"; do
        builds "$compiler" "$source" && return 0
    done
    return 1
}

# --- Python, its venv and its headers -------------------------------------------------------
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || version=
major=${version%%.*}
minor=${version#*.}
if [ -n "$version" ] && [ "$major" -eq 3 ] && [ "$minor" -ge 11 ]; then
    "$python" -c 'import venv, ensurepip' >/dev/null 2>&1 ||
        lacking "venv and ensurepip of Python $version" \
            "python$version-venv" "python3-pip" "brew install python"
    include=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))' 2>/dev/null)
    [ -f "$include/Python.h" ] ||
        lacking "Python.h, the headers of Python $version" \
            "python$version-dev" "python3-devel" "brew install python"
else
    # A Python still to be installed has neither venv nor headers yet: name them too, so that one
    # round of installing is enough.
    found=${version:+ (its version is $version)}
    lacking "Python 3.11 or newer as '$python'$found, or another by make PYTHON=python3.x" \
        "python3" "python3" "brew install python"
    lacking "venv and ensurepip, for that Python" \
        "python3-venv" "python3-pip" "brew install python"
    lacking "Python.h, the headers of that Python" \
        "python3-dev" "python3-devel" "brew install python"
fi

# --- compilers and make ---------------------------------------------------------------------
cat >"$scratch/c.c" <<'END'
#include <math.h>
int main(int argc, char **argv) { (void)argv; return sqrt((double)argc) < 0.0; }
END
cat >"$scratch/cxx.cpp" <<'END'
#include <string>
int main(int argc, char **argv) { return std::string(argv[argc - 1]).empty(); }
END
if [ -n "${CC:-}" ]; then
    any_builds "$scratch/c.c" "$CC"
else
    any_builds "$scratch/c.c" cc gcc clang
fi || lacking "a working C compiler (${CC:-cc})" gcc gcc "xcode-select --install"
if [ -n "${CXX:-}" ]; then
    any_builds "$scratch/cxx.cpp" "$CXX"
else
    any_builds "$scratch/cxx.cpp" c++ g++ clang++
fi || lacking "a working C++ compiler (${CXX:-c++})" g++ gcc-c++ "xcode-select --install"

command -v make >/dev/null 2>&1 || lacking "make" make make "xcode-select --install"

exit "$status"
