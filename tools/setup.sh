#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Installs missing system packages with apt, as root or by sudo if sudo needs no password. Otherwise the script prints
# the exact line to type and ends with status 3. It checks commands rather than packages, so that a rustc from rustup
# or your own python is accepted.
#
#	tools/setup.sh [check]
#
# check   also installs the packages that `make check` needs
set -eu

missing=""
need() { # need COMMAND-THAT-SUCCEEDS PACKAGE...
	if ! sh -c "$1" >/dev/null 2>&1; then
		shift
		missing="$missing $*"
	fi
}

for tool in gcc make flex bison bc perl tar; do
	need "command -v $tool" "$tool"
done
need "command -v xz" xz-utils
need "command -v ld" binutils
need "test -f \"\$(gcc -print-file-name=libc.a)\" -a -f /usr/include/stdio.h" libc6-dev
need "test -f /etc/ssl/certs/ca-certificates.crt" ca-certificates
need "python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))'" python3 python3-venv
# the minimum version of rustc is rust-version in Cargo.toml
need "rustc --version | grep -qE ' 1\\.(8[5-9]|9[0-9]|[1-9][0-9]{2,})\\.' && cargo --version" rustc-web cargo-web
# On systems without apt-get, leowarp downloads Debian's package and verifies its checksum.
if command -v apt-get >/dev/null; then
	need "test -f \"\${LEOWARP_KERNEL_SOURCE:-/usr/src/linux-source-6.12.tar.xz}\"" linux-source-6.12
fi
if [ "${1:-}" = check ]; then
	need "cargo fmt --version" rustfmt-web
	need "cargo clippy --version" rust-web-clippy
fi

missing=$(echo $missing)
[ -n "$missing" ] || exit 0

line="apt-get update && apt-get install -y --no-install-recommends $missing"
if ! command -v apt-get >/dev/null; then
	echo "leowarp: this machine lacks (names of Debian's packages): $missing" >&2
	echo "Install them with this distribution's own tools, rustc 1.85 or newer also from https://rustup.rs," >&2
	echo "and type the command again." >&2
	exit 3
fi
if [ "$(id -u)" = 0 ]; then
	become=""
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
	become="sudo"
else
	echo "leowarp: this machine lacks some system packages, and only root may install them. Type:" >&2
	echo >&2
	echo "    sudo sh -c '$line'" >&2
	echo >&2
	echo "and then the command again." >&2
	exit 3
fi
echo "leowarp: installing $missing"
$become apt-get update
$become env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing
