#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Compiles modules for the guest kernel. This file is at the top of the tree that pack.sh packed.
#
#	compile.sh DIRECTORY
#
# DIRECTORY  contains a file Kbuild, for example with the line `obj-m := my_cc.o`. The module my_cc.ko is written to it
#
# Needs gcc, make and binutils.
set -eu

tree=$(cd "$(dirname "$0")" && pwd)
directory=$(cd "$1" && pwd)
cd "$tree"

# Builds the two host programs of kbuild. kbuild would build them only with the configuration of a complete kernel tree
host_program() {
	program=$1
	shift
	[ -x "$program" ] && return
	gcc -O2 -I scripts/include -o "$program.$$" "$@"
	mv "$program.$$" "$program"
}
host_program scripts/basic/fixdep scripts/basic/fixdep.c
host_program scripts/mod/modpost $(find scripts/mod -name '*.c' ! -name empty.c ! -name mk_elfconfig.c ! -name devicetable-offsets.c)

export LC_ALL=C KBUILD_BUILD_USER=leowarp KBUILD_BUILD_HOST=leowarp
exec make ARCH=um M="$directory" KCFLAGS="$(cat flags)" CFLAGS_MODULE=-mcmodel=large modules
