#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Builds the page of `leowarp view` from web/, or checks that the page in the repository equals that of web/.
#
#	tools/page.sh build | check
#
# check does nothing on a machine without node, because the repository holds the built page.
set -eu
cd "$(dirname "$0")/../web"

if ! command -v npm >/dev/null || ! node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)'; then
	if [ "$1" = check ]; then
		echo "web/ is not checked: it needs node 20 or newer, and npm"
		exit 0
	fi
	echo "building the page needs node 20 or newer, and npm" >&2
	exit 3
fi
if ! cmp -s package-lock.json node_modules/.installed; then
	npm ci --silent --no-fund --no-audit
	cp package-lock.json node_modules/.installed
fi
case "$1" in
build) npx --no-install tsc --noEmit && node build.mjs ;;
check) npm run --silent check ;;
*)
	echo "usage: tools/page.sh build | check" >&2
	exit 2
	;;
esac
