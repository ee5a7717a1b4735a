#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Packs a tree against which modules are compiled. The tree contains the headers, kbuild, configuration and exported
# symbols of a built kernel. In addition, it contains the sources of net/ipv4, so that a module can include the source
# of one of the kernel's congestion controls. The tree can be unpacked anywhere.
#
#	guest/module/pack.sh SOURCE BUILD FLAGS FILE
#
# SOURCE, BUILD  as in guest/build.sh, which calls this script
# FLAGS          the kernel's own compiler flags
# FILE           the tar archive, compressed by xz -0: it has 10 MB, and 47 MB unpacked. xz -2 would take three times as
#                long, and save 1 MB
set -eu

here=$(cd "$(dirname "$0")" && pwd)
tree=$2/leowarp-module-tree

rm -rf "$tree"
mkdir "$tree"
(cd "$1" && tar -cf - --exclude='*.o' --exclude='*.cmd' --exclude=include/drm --exclude=include/dt-bindings \
	--exclude=include/media --exclude=include/sound --exclude=scripts/dtc --exclude=scripts/gdb \
	--exclude=scripts/coccinelle --exclude=scripts/kconfig Makefile Kbuild scripts include arch/um/Makefile* \
	arch/um/include arch/x86/Makefile* arch/x86/include arch/x86/um net/ipv4/*.[ch]) | tar -xf - -C "$tree"
# Programs for this machine are not packed, because compile.sh builds the two programs that it needs
(cd "$2" && tar -cf - --exclude='*.o' --exclude='*.cmd' .config Module.symvers include arch/um/include arch/x86/include \
	scripts/module.lds scripts/mod/elfconfig.h scripts/mod/devicetable-offsets.h) | tar -xf - -C "$tree"
echo "$3" > "$tree/flags"
cp "$here/compile.sh" "$tree/"
tar -cf - --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -C "$tree" . | xz -0 > "$4"
rm -rf "$tree"
