#!/usr/bin/env bash
# Makes a private Python for hf-train in $RUNNER_TEMP and tells the next steps where it is.
#
# The caller's Python, PATH, environment and checkout are left alone: nothing is written to the job's environment
# or path files, nothing is run from the checkout, and the working directory is a folder of our own.
# Bash 3.2 is enough (macOS).
#
# In:  RUNNER_TEMP, GITHUB_ACTION_PATH, GITHUB_OUTPUT, GITHUB_WORKSPACE; SETUP_PYTHON (the action's `python`),
#      SETUP_LOCAL (the action's `local`).
# Out: step outputs `venv` (a folder) and `state-file` (a path that no other step has).
set -euo pipefail
umask 077

die() { # one annotation, escaped as the runner's toolkit does
    local text=$1
    text=${text//'%'/%25} text=${text//$'\r'/%0D} text=${text//$'\n'/%0A}
    printf '::error title=hf-train setup::%s\n' "$text"
    exit 1
}

# --- What this runner can and cannot do -----------------------------------------------------------------------------
case ${OSTYPE:-} in
    msys* | cygwin* | win32*) die "hf-train runs on Linux and macOS runners, not on Windows. Use runs-on: ubuntu-latest." ;;
esac
for name in RUNNER_TEMP GITHUB_ACTION_PATH GITHUB_OUTPUT; do
    [ -n "${!name:-}" ] || die "$name is not set: this script is a step of the hf-train action, not a command."
done
here=$(cd "${BASH_SOURCE[0]%/*}" && pwd -P) # beside this script; GITHUB_ACTION_PATH may be a folder beside that one
workspace=${GITHUB_WORKSPACE:-}
workspace=${workspace%/}

# --- An environment that the checkout and earlier steps cannot steer ------------------------------------------------
# What names a mirror, a proxy or a certificate stays: it belongs to the machine, and every wheel is held by its hash.
keep=' PIP_CERT PIP_CLIENT_CERT PIP_PROXY PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_TRUSTED_HOST PIP_FIND_LINKS PIP_NO_INDEX
    PIP_DEFAULT_TIMEOUT PIP_TIMEOUT PIP_RETRIES PIP_CACHE_DIR PIP_CONFIG_FILE PIP_KEYRING_PROVIDER
    UV_INDEX UV_INDEX_URL UV_EXTRA_INDEX_URL UV_DEFAULT_INDEX UV_FIND_LINKS UV_NO_INDEX UV_OFFLINE UV_INSECURE_HOST
    UV_NATIVE_TLS UV_SYSTEM_CERTS UV_HTTP_TIMEOUT UV_CACHE_DIR UV_KEYRING_PROVIDER '
for name in $(compgen -e); do
    case $name in
        PYTHON* | PIP_* | UV_* | VIRTUAL_ENV | CONDA_* | LD_PRELOAD | DYLD_* | BASH_ENV | ENV | GIT_CONFIG* | CDPATH | GLOBIGNORE)
            case $keep in *[[:space:]]"$name"[[:space:]]*) ;; *) unset "$name" ;; esac
            ;;
    esac
done
inside_checkout() { # PATH: is it in the checkout?
    [ -n "$workspace" ] && case $1 in "$workspace"/*) true ;; *) false ;; esac
}
# pip reads no file of the working directory, but an earlier step may have pointed it at one in the checkout.
case ${PIP_CONFIG_FILE:-} in
    /*) if inside_checkout "$PIP_CONFIG_FILE"; then unset PIP_CONFIG_FILE; fi ;;
    *) unset PIP_CONFIG_FILE ;;
esac
export UV_NO_CONFIG=1 UV_PYTHON_DOWNLOADS=never UV_NO_PROGRESS=1 UV_NO_ENV_FILE=1
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_USER=0 PIP_ROOT_USER_ACTION=ignore

root=${RUNNER_TEMP%/}/hf-train
mkdir -p "$root/cwd" || die "The folder $root cannot be made."
cd "$root/cwd"

# --- Which Python ---------------------------------------------------------------------------------------------------
new_enough() { "$1" -I -S -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() { # prints the first python >= 3.11 on PATH that does not live in the checkout
    local name candidate
    for name in python3 python3.14 python3.13 python3.12 python3.11 python; do
        while IFS= read -r candidate; do
            case $candidate in /*) ;; *) continue ;; esac
            if ! inside_checkout "$candidate" && new_enough "$candidate"; then
                printf '%s\n' "$candidate"
                return 0
            fi
        done < <(type -ap "$name")
    done
    return 1
}

advice="Put a step with actions/setup-python before this one, or name an interpreter with the input python."
if [ -n "${SETUP_PYTHON:-}" ]; then
    python=$(type -P -- "$SETUP_PYTHON") || die "The input python names $SETUP_PYTHON, and there is no such program on this runner. $advice"
    case $python in /*) ;; *) die "The input python names $SETUP_PYTHON, a relative path. Give a name or an absolute path." ;; esac
    if inside_checkout "$python"; then
        die "The input python names $python, which lies in the checkout: a pull request could put its own program there. $advice"
    fi
    new_enough "$python" || die "$python is older than Python 3.11, or does not start. $advice"
else
    python=$(find_python) || die "No Python 3.11 or newer was found on this runner (looked along PATH, outside the checkout). $advice"
fi

case ${SETUP_LOCAL:-} in
    '' | false | False | FALSE) lock=$here/requirements.txt ;;
    *) lock=$here/requirements-local.txt ;; # anything else: hf-train itself says what is wrong with it
esac
[ -r "$lock" ] || die "$lock is missing: this copy of the hf-train action is not whole."

# --- The private venv, made once for each lock, interpreter and copy of the action ----------------------------------
key=$("$python" -I -S - "$lock" "$here" <<'PYTHON'
import hashlib, os, sys

lock, here = sys.argv[1:]
digest = hashlib.sha256()
with open(lock, "rb") as file:
    digest.update(file.read())
for part in (here, sys.version, os.path.realpath(sys.executable)):
    digest.update(b"\0" + os.fsencode(part))
print(digest.hexdigest()[:16])
PYTHON
) || die "$python cannot read $lock."
venv=$root/venv-$key

trusted_uv() { # prints a uv that the machine's owner or a set-up action put there, and no other
    local candidate
    while IFS= read -r candidate; do
        inside_checkout "$candidate" && continue
        case $candidate in
            /usr/* | /opt/* | /bin/* | "${HOME:-/nonexistent}"/.local/bin/* | "${HOME:-/nonexistent}"/.cargo/bin/* | "${RUNNER_TOOL_CACHE:-/nonexistent}"/*)
                printf '%s\n' "$candidate"
                return 0
                ;;
        esac
    done < <(type -ap uv)
    return 1
}

with_uv() { # UV FOLDER
    "$1" venv --quiet --no-project --python "$python" "$2" &&
        "$1" pip install --quiet --python "$2/bin/python" --require-hashes --only-binary :all: --no-deps -r "$lock"
}

with_pip() { # FOLDER
    local pip=("$python" -I -m pip --python "$1/bin/python")
    # The interpreter's own pip (22.3 or newer knows --python) spares a copy of pip in the venv, and does without
    # Debian's python3-venv; else the pip that comes with the venv.
    if "$python" -I -m pip --python "$python" --version >/dev/null 2>&1; then
        "$python" -I -m venv --without-pip "$1" || return 1
    else
        "$python" -I -m venv "$1" ||
            die "$python can make no virtual environment: it has neither pip nor ensurepip. On Debian and Ubuntu: apt-get install python3-venv. $advice"
        pip=("$1/bin/python" -I -m pip)
    fi
    "${pip[@]}" install --quiet --require-hashes --only-binary :all: --no-deps -r "$lock"
}

echo "::group::Set up hf-train"
printf 'python  %s (%s)\n' "$python" "$("$python" -I -S -c 'import platform; print(platform.python_version())')"
printf 'lock    %s\n' "$lock"
if [ -f "$venv/ready" ]; then
    printf 'venv    %s (made by an earlier step of this job)\n' "$venv"
else
    fresh=$(mktemp -d "$root/making-XXXXXXXX")
    trap 'rm -rf "$fresh"' EXIT
    made=
    if uv=$(trusted_uv); then
        printf 'uv      %s\n' "$uv"
        if with_uv "$uv" "$fresh/venv"; then made=1; else echo "uv could not do it (see above); pip is tried."; rm -rf "$fresh/venv"; fi
    fi
    if [ -z "$made" ]; then
        with_pip "$fresh/venv" ||
            die "The pinned packages of $lock could not be installed; the log of this step says which and why. Behind a proxy or a mirror, set PIP_INDEX_URL, PIP_CERT or HTTPS_PROXY in the workflow's env."
    fi
    site=$("$fresh/venv/bin/python" -I -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    printf '%s\n' "$here" >"$site/hf-train.pth" # makes hf_train importable under -I with nothing to build
    "$fresh/venv/bin/python" -I -c 'import hf_train' ||
        die "hf_train cannot be imported from $here: this copy of the hf-train action is not whole."
    : >"$fresh/venv/ready"
    rm -rf "$venv"
    mv "$fresh/venv" "$venv" # last, so that a half-made venv is never taken for a whole one
    printf 'venv    %s\n' "$venv"
fi
echo "::endgroup::"

state=$(mktemp -d "$root/step-XXXXXXXX")/state.json
{
    printf 'venv=%s\n' "$venv"
    printf 'state-file=%s\n' "$state"
} >>"$GITHUB_OUTPUT"
