#!/bin/sh
# Starts the training inside the Job: verifies the mounted code, copies it to a writable folder, runs the command there.
# usage: sh MOUNT/.hf-train/start.sh COMMAND [ARG...]
set -eu

house=$(cd "$(dirname "$0")" && pwd)
code=$(dirname "$house")
say() { echo "hf-train: $1" >&2; }
refuse() { say "the mounted code does not match its manifest ($1); nothing was run"; exit 78; }

# A mount that lost, mixed or got files must not train: it would be other code than the commit under test.
if command -v sha256sum >/dev/null 2>&1; then
    (cd "$code" && sha256sum -c .hf-train/SHA256SUMS >/dev/null 2>&1) || refuse "a file differs or is missing"
else
    say "no sha256sum in this image: the mounted code was not verified"
fi
if command -v find >/dev/null 2>&1; then
    # Two files are not in the list: the list itself, and the manifest, which is written last.
    found=$(cd "$code" && find . -type f ! -path ./.hf-train/SHA256SUMS ! -path ./.hf-train/manifest.json | wc -l)
    [ "$found" -eq "$(wc -l <"$house/SHA256SUMS")" ] || refuse "there are files that do not belong to it"
fi

# Read-only on purpose, and shared by every Job of this commit: so the command gets a copy.
work=$(mktemp -d "${TMPDIR:-/tmp}/hf-train.XXXXXX")
cp -R "$code/." "$work/"
chmod -R u+rwX "$work"
rm -rf "$work/.hf-train"
cd "$work"

# A bucket keeps neither modes nor links. "./": a name may begin with a dash.
while IFS= read -r path; do
    [ -z "$path" ] || chmod +x "./$path"
done <"$house/executables"
tab=$(printf '\t')
while IFS="$tab" read -r target path; do
    [ -z "$path" ] || { mkdir -p "$(dirname "./$path")" && ln -s -- "$target" "./$path"; }
done <"$house/links"

# With a Python, the launcher goes on: it keeps results too, and goes on from a checkpoint. Without, what follows does.
for python in python3 python; do
    if "$python" -I -S -c 'import sys; sys.exit(sys.version_info < (3, 8))' >/dev/null 2>&1; then
        exec "$python" -I -S "$house/launcher.py" "$@"
    fi
done
[ -z "${HF_TRAIN_OUTPUT:-}" ] || export HF_TRAIN_OUTPUT_DIR="$HF_TRAIN_OUTPUT"
unset HF_TRAIN_OUTPUT HF_TRAIN_RESUME_FLAG HF_TRAIN_METRICS_FILE

# Without a lease: exec, so that the Hub's signals and the exit code are the command's own.
[ -n "${HF_TRAIN_LEASE:-}" ] || exec "$@"

# With one (SECONDS:FILE), the step that follows this Job writes to FILE now and then. When FILE has not changed for
# SECONDS, that step is gone, and the training is stopped, because nobody else would. Waits are added up: a clock jumps.
lease=${HF_TRAIN_LEASE%%:*}
file=${HF_TRAIN_LEASE#*:}
unset HF_TRAIN_LEASE
if command -v setsid >/dev/null 2>&1; then
    setsid "$@" & # a group of its own: what the command starts ends with it
    job=$!
    group=-$job
else
    "$@" &
    job=$!
    group=$job
fi
end() { kill "-$1" "$group" 2>/dev/null || true; } # without "--": not every shell takes it
lost=
trap 'end TERM' TERM HUP INT # TERM for INT too: a shell lets its background jobs ignore INT
trap 'lost=yes; end TERM' USR1
(
    trap - TERM HUP INT USR1
    pause=$((lease / 10))
    [ "$pause" -gt 0 ] || pause=1
    seen=$(cat "$file" 2>/dev/null) || seen=
    idle=0
    while [ "$idle" -lt "$lease" ]; do
        sleep "$pause" >/dev/null 2>&1
        idle=$((idle + pause))
        now=$(cat "$file" 2>/dev/null) || now=$seen
        [ "$now" = "$seen" ] || idle=0
        seen=$now
    done
    say "the step that follows this Job was not heard of for $lease s (lease): stopping the training"
    kill -USR1 $$
    sleep 10 >/dev/null 2>&1
    end KILL
) &
keeper=$!

# A signal ends the wait, not the command. 79 is the lease's own exit code.
code=0
while :; do
    wait "$job" && code=0 || code=$?
    kill -0 "$job" 2>/dev/null || break
done
kill "$keeper" 2>/dev/null || true
[ -z "$lost" ] || exit 79
exit "$code"
