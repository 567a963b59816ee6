#!/bin/sh
# Starts the training inside the Job: verifies the mounted code, copies it to a writable folder, runs the command there.
# usage: sh MOUNT/.hf-train/start.sh COMMAND [ARG...]
set -eu

house=$(dirname "$0")
code=$(cd "$house/.." && pwd)
say() { echo "hf-train: $1" >&2; }

# A mount that lost or mixed files must not train: it would be other code than the commit under test.
if command -v sha256sum >/dev/null 2>&1; then
    if ! (cd "$code" && sha256sum -c "$house/SHA256SUMS" >/dev/null 2>&1); then
        say "the mounted code does not match its manifest; nothing was run"
        exit 78
    fi
else
    say "no sha256sum in this image: the mounted code was not verified"
fi

# Read-only on purpose, and shared by every Job of this commit: so the command gets a copy.
work=$(mktemp -d "${TMPDIR:-/tmp}/hf-train.XXXXXX")
cp -R "$code/." "$work/"
chmod -R u+rwX "$work"
rm -rf "$work/.hf-train"
cd "$work"

# A bucket keeps neither modes nor links.
while IFS= read -r path; do
    [ -z "$path" ] || chmod +x "$path"
done <"$house/executables"
tab=$(printf '\t')
while IFS="$tab" read -r target path; do
    [ -z "$path" ] || { mkdir -p "$(dirname "$path")" && ln -s "$target" "$path"; }
done <"$house/links"

# exec: the Hub's signals and the exit code are the command's own.
exec "$@"
