#!/bin/sh
# Starts the training inside the Job: verifies the mounted code, copies it to a writable folder, runs the command there.
# usage: sh MOUNT/.hf-train/start.sh COMMAND [ARG...]
set -eu

house=$(dirname "$0")
code=$(cd "$house/.." && pwd)
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

# exec: the Hub's signals and the exit code are the command's own.
exec "$@"
