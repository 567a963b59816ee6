#!/usr/bin/env bash
# Makes .venv for developers from a lock: scripts/venv.sh LOCK [--system-packages]
#
# A bare Debian is enough: git, make and Python 3.11. What else is missing (pip or ensurepip) is installed by apt when
# this runs as root, and named when it does not. uv comes from the lock, by hash, and does the rest; pip takes over
# where uv cannot reach the package index (pip also reads pip.conf).
set -euo pipefail
cd "$(dirname "$0")/.."
lock=$1
venv=$PWD/.venv

fail() {
    printf 'hf-train: %s\n' "$1" >&2
    exit 1
}

find_python() {
    local name
    for name in ${PYTHON:-python3.11 python3 python3.12 python3.13 python3.14}; do
        if command -v "$name" >/dev/null && "$name" -I -S -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$name"
            return 0
        fi
    done
    return 1
}

apt_install() {
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        DEBIAN_FRONTEND=noninteractive apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
    else
        fail "please install $* and run make again (as root on Debian and Ubuntu, make does it itself)."
    fi
}

python=$(find_python) || { apt_install python3 python3-venv && python=$(find_python); } ||
    fail "Python 3.11 or newer is needed; set PYTHON=/path/to/it when it is not on PATH."

# A venv of another Python, or a half-made one, is made anew.
if ! "$venv/bin/python" -I -c 'import pip' 2>/dev/null; then
    "$python" -I -c 'import ensurepip, venv' 2>/dev/null || apt_install python3-venv
    rm -rf "$venv"
    "$python" -I -m venv "$venv"
fi

pip=("$venv/bin/python" -I -m pip --disable-pip-version-check install --quiet --require-hashes --only-binary :all: --no-deps)
locked_uv=$(sed -n '/^uv==/,/^    # via/p' "$lock")
want=$(sed -n 's/^uv==\([^ ]*\).*/\1/p' "$lock")
if [ "$("$venv/bin/uv" --version 2>/dev/null | cut -d' ' -f2)" != "$want" ]; then
    printf '%s\n' "$locked_uv" >"$venv/uv.txt"
    "${pip[@]}" -r "$venv/uv.txt"
fi

# The machine's own trust store, mirrors and proxies hold for uv as they do for pip; no file of this folder steers it.
export UV_NO_CONFIG=1 UV_SYSTEM_CERTS=true UV_PYTHON_DOWNLOADS=never UV_NO_PROGRESS=1
"$venv/bin/uv" pip install --quiet --python "$venv/bin/python" --require-hashes --only-binary :all: --no-deps -r "$lock" || {
    echo "hf-train: uv could not do it, pip is tried" >&2
    "${pip[@]}" -r "$lock"
}

site=$("$venv/bin/python" -I -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
printf '%s\n' "$PWD/entrypoint" >"$site/hf-train.pth"
printf '#!%s -I\nimport sys\n\nfrom hf_train.cli import main\n\nsys.exit(main())\n' "$venv/bin/python" >"$venv/bin/hf-train"
chmod +x "$venv/bin/hf-train"
