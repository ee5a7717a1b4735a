#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Builds the programs of examples/quic-*.toml from their registries, in the versions that are pinned here:
#
#	sh examples/programs/build.sh [quic-go|quinn|aioquic]...
#
# quic-go needs Go 1.25, quinn needs Rust 1.85 and gcc, aioquic needs Python 3.11 with venv. They are put into
# /var/tmp/leowarp-programs/bin, where the examples look for them, or into bin of the directory that LEOWARP_PROGRAMS
# names; nothing else is changed on this machine.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
place=${LEOWARP_PROGRAMS:-/var/tmp/leowarp-programs}
mkdir -p "$place/bin"
# Every user can write to /var/tmp, so files of other users there are not run.
[ -O "$place" ] && [ -O "$place/bin" ] || { echo "$place is not yours: remove it, or let its owner do so" >&2; exit 1; }

[ $# -gt 0 ] || set -- quic-go quinn aioquic
for program in "$@"; do
	case $program in
	quic-go)
		(cd "$here/quic-go" && CGO_ENABLED=0 go build -trimpath -buildvcs=false -o "$place/bin/quic-go-transfer" .) ;;
	quinn)
		cargo install --quiet --locked --force --no-track --path "$here/quinn" --root "$place" \
			--target-dir "$place/quinn-target" 2> "$place/cargo.log" || { cat "$place/cargo.log" >&2; exit 1; }
		rm -r "$place/quinn-target" "$place/cargo.log" ;;
	aioquic)
		python3 -m venv --clear "$place/aioquic"
		"$place/aioquic/bin/pip" install --quiet --require-hashes -r "$here/aioquic/requirements.txt"
		cp "$here/aioquic/aioquic-transfer.py" "$place/aioquic/"
		# The guest can start only scripts for /bin/sh.
		printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$place/aioquic/bin/python3" "$place/aioquic/aioquic-transfer.py" \
			> "$place/bin/aioquic-transfer"
		chmod +x "$place/bin/aioquic-transfer" ;;
	*)
		echo "there is no program \"$program\": quic-go, quinn or aioquic" >&2
		exit 2 ;;
	esac
	echo "$place/bin/$program-transfer"
done
