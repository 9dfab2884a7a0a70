#!/bin/sh
# patient.sh N [PROGRAM]: a rank that would never end before attempt N; then PROGRAM is what it does.
echo "rank $RANK attempt $MUSTER_ATTEMPT at ${MASTER_ADDR:?}"
[ "$MUSTER_ATTEMPT" -ge "$1" ] || exec sleep 600
shift
[ $# = 0 ] || exec "$@"
