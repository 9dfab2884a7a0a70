#!/bin/sh
# patient.sh N: a rank that would never end before attempt N.
echo "rank $RANK attempt $MUSTER_ATTEMPT at ${MASTER_ADDR:?}"
[ "$MUSTER_ATTEMPT" -ge "$1" ] || exec sleep 600
