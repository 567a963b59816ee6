#!/usr/bin/env bash
# Installs, on Debian and Ubuntu as root, what the tests need beside Python, and names it elsewhere.
# A container engine and debootstrap make the images that no registry has to serve; git makes the repositories under test.
set -euo pipefail

commands=(git:git docker:docker.io dockerd:docker.io docker-registry:docker-registry debootstrap:debootstrap
    unshare:util-linux mount:mount mkfs.ext4:e2fsprogs xz:xz-utils
    dash:dash busybox:busybox)
packages=()
for pair in "${commands[@]}"; do
    command -v "${pair%%:*}" >/dev/null || [ -x "/usr/sbin/${pair%%:*}" ] || packages+=("${pair##*:}")
done
[ -e /etc/ssl/certs/ca-certificates.crt ] || packages+=(ca-certificates)
[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || packages+=(debian-archive-keyring)
if [ ${#packages[@]} -eq 0 ]; then
    exit 0
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "hf-train: apt-get install ${packages[*]}"
    export DEBIAN_FRONTEND=noninteractive
    # No service is started behind our back: the tests start (and stop) their own engine.
    apt-get update -qq
    RUNLEVEL=1 apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
else
    echo "hf-train: please install ${packages[*]} (as root on Debian and Ubuntu, make does it itself)." >&2
    exit 1
fi
