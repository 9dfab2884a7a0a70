# Stands between decode ranks and a prefill role (HOST:PORT of its leader): what they pull comes through
# here, half of it at once, the rest when FOLDER/go is there; or never, when FOLDER/die is.
#
#   slow_pull.py HOST:PORT FOLDER      says where it listens, and "half" for each pull that has half,
#                                      "gone" where that is broken off
import os
import socket
import struct
import sys
import threading

HEAD, SOURCE, PULL, DATA, END = 24, 68, 32, 112, 8
leader, folder = sys.argv[1].rsplit(":", 1), sys.argv[2]


def read(s, n):
    got = b""
    while len(got) < n:
        more = s.recv(n - len(got))
        if not more:
            raise EOFError
        got += more
    return got


def serve(handle):
    listener = socket.create_server(("127.0.0.1", 0))

    def accept():
        while True:
            threading.Thread(target=handle, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


# A pull, whose source's real port is `port`.
def pull(port, client):
    with client, socket.create_connection(("127.0.0.1", port)) as source:
        source.sendall(read(client, PULL))
        head = read(source, DATA)
        floats = read(source, struct.unpack("<Q", head[-8:])[0])
        end = read(source, END)
        client.sendall(head + floats[: len(floats) // 2])
        print("half", flush=True)
        client.settimeout(0.02)
        while not os.path.exists(folder + "/go"):
            if os.path.exists(folder + "/die"):
                return
            try:
                client.recv(1)  # it says nothing more
                print("gone", flush=True)
                return
            except TimeoutError:
                pass
        client.settimeout(None)
        client.sendall(floats[len(floats) // 2 :] + end)


def ask(client):
    with client, socket.create_connection(tuple(leader)) as prefill:
        head = read(client, 72)
        prefill.sendall(head + read(client, 4 * struct.unpack("<I", head[4:8])[0]))
        ready = read(prefill, HEAD)
        sources = b""
        for _ in range(struct.unpack("<I", ready[16:20])[0]):
            source = read(prefill, SOURCE)
            port = struct.unpack("<I", source[48:52])[0]
            near = serve(lambda s, port=port: pull(port, s))
            sources += source[:48] + struct.pack("<I", near) + source[52:]
        client.sendall(ready + sources)
        client.recv(1)  # it holds the positions until it is closed


print("prefill: listens at 127.0.0.1:%d" % serve(ask), flush=True)
threading.Event().wait()
