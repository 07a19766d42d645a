#!/bin/sh
# Installs ns-3 for `make bench` where it is missing: as root at once, else after asking. Never fails: the row is
# skipped, and says so, where ns-3 is not there.
set -u
packages="libns3-dev g++"
[ -e /usr/include/ns3/core-module.h ] && command -v g++ >/dev/null && exit 0
command -v apt-get >/dev/null || { echo "bench: no apt-get here; the row against ns-3 will be skipped"; exit 0; }
install="apt-get install -y --no-install-recommends $packages"
if [ "$(id -u)" != 0 ]; then
    if ! [ -t 0 ] || ! command -v sudo >/dev/null; then
        echo "bench: ns-3 is missing ($install); its row will be skipped"
        exit 0
    fi
    printf 'bench: the row against ns-3 needs %s (about 100 MB). Install with sudo? [y/N] ' "$packages"
    read -r answer
    case $answer in y | Y | yes) install="sudo $install" ;; *) exit 0 ;; esac
fi
echo "bench: $install"
$install >/dev/null || echo "bench: that did not work; the row against ns-3 will be skipped"
exit 0
