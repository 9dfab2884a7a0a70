#!/usr/bin/env python3
"""Makes tests/cases/shards and tests/cases/kvwire anew (shard.c and kvwire.c say what the inputs are)."""
import pathlib
import struct
import zlib

cases = pathlib.Path(__file__).resolve().parent.parent / "cases"


def put(folder, name, data):
    (cases / folder).mkdir(exist_ok=True)
    (cases / folder / name).write_bytes(data)


def bits(x):
    return struct.unpack("<Q", struct.pack("<d", x))[0]


# The recipe of shard.c, and the floats of its model: the embedding and the last norm, then the layer.
recipe = [2, 2, 1, 1, 1, 2, 1, 10, 1, 0, bits(0.5), bits(0), bits(0), 100, 0]
FLOATS = (4 * 2 + 2) + (4 * 2 * 2 + 3 * 2 * 2 + 2 * 2)


def shard(part, rank, ranks, step, floats, version=1, said=None):
    """said: how many floats there are, by the header."""
    data = b"MUSTERCK" + struct.pack("<IIIIQQ", version, rank, ranks, 0, step, floats if said is None else said)
    data += struct.pack("<15Q", *recipe) + struct.pack(f"<{floats}f", *(i / 8 for i in range(floats)))
    return bytes([part]) + data + struct.pack("<I", zlib.crc32(data))


put("shards", "whole", shard(0, 0, 1, 7, 3 * FLOATS))
put("shards", "first", shard(1, 0, 3, 7, 3 * FLOATS))
put("shards", "empty", shard(2, 1, 3, 8, 0))
put("shards", "cut", shard(0, 0, 1, 7, 3 * FLOATS)[:-40])
put("shards", "version", shard(0, 0, 1, 7, 3 * FLOATS, version=2))
put("shards", "short", shard(0, 0, 1, 7, 12))
put("shards", "wraps", shard(0, 0, 1, 7, 0, said=1 << 62))

model = b"0123456789abcdef" * 4
part = struct.pack("<IIII", 2, 2, 1, 3)


def kvwire(address=b"10.0.0.1", port=20123, status=0, sources=2, n=4):
    pull = b"MKP1" + struct.pack("<IQ", 4, 9) + part
    ready = b"MKR1" + struct.pack("<IQII", status, 9, sources, 0)
    data = b"MKD2" + struct.pack("<I", status) + model + struct.pack("<Q", 9) + part
    data += struct.pack("<IIQ", n, 0, 2 * 2 * n * 3 * 8 * 4)
    return pull + ready + data + address.ljust(48, b"\0") + struct.pack("<I", port) + part + b"MKE1" + struct.pack("<I", 0x600D)


put("kvwire", "good", kvwire())
put("kvwire", "v6", kvwire(address=b"fd00::1", port=65535))
put("kvwire", "busy", kvwire(status=1, sources=0))
put("kvwire", "other", kvwire(n=5))
put("kvwire", "port", kvwire(port=65558))
