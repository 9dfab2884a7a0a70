# A mount that hangs, in a pod: FUSE, and nobody answers. Whoever looks at it waits until this program
# has ended, or is killed.
#
#   hung_mount.py PID DIR      in the mount namespace of PID; says "mounted"
import ctypes
import os
import signal
import sys

CLONE_NEWNS = 0x20000

libc = ctypes.CDLL(None, use_errno=True)


def done(what, code):
    if code != 0:
        sys.exit(f"{what}: {os.strerror(ctypes.get_errno())}")


device = os.open("/dev/fuse", os.O_RDWR)
namespace = os.open(f"/proc/{sys.argv[1]}/ns/mnt", os.O_RDONLY)
done("setns", libc.setns(namespace, CLONE_NEWNS))
options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
done("mount", libc.mount(b"hung", sys.argv[2].encode(), b"fuse", 0, options.encode()))
print("mounted", flush=True)
signal.pause()
