"""A port of ibsim's fabric, to be told line by line what to send. Run by ibsim-run, with SIM_HOST naming the port.

    ask LID QP MAD       sends, prints the answer as MAD and its length, or `silence`
    serve                from now on prints `idle` now and then, and what comes in as LID QP MAD; after such reads what to send:
    LID QP LENGTH MAD    one line for each, until a line with a dot
MADs are hexadecimal, 256 bytes.
"""

import ctypes
import struct
import sys

umad, libc = ctypes.CDLL("libibumad.so.3"), ctypes.CDLL(None)
umad.umad_get_mad.restype = ctypes.c_void_p
umad.umad_get_mad.argtypes = [ctypes.c_void_p]
umad.umad_size.restype = ctypes.c_size_t

umad.umad_init()
port = umad.umad_open_port(None, 0)
size = umad.umad_size()
Q_KEY = 0x80010000


def agent(kind, version, methods):
    mask = (ctypes.c_ulong * 2)()
    for method in methods:
        mask[method // 64] |= 1 << method % 64
    return umad.umad_register(port, kind, version, 0, mask)


agents = {}


def send(lid, qp, mad, length=256):
    kind = mad[1]
    if kind not in agents:
        agents[kind] = agent(kind, 2 if kind == 3 else 1, [])
    buffer = ctypes.create_string_buffer(size + 256)
    umad.umad_set_addr(buffer, lid, qp, 0, Q_KEY if qp else 0)
    ctypes.memmove(umad.umad_get_mad(buffer), mad, 256)
    umad.umad_send(port, agents[kind], buffer, length, 1000, 0)


def receive(timeout_ms):
    """LID, queue pair, length and bytes of the next MAD."""
    buffer, length = ctypes.create_string_buffer(size + 256), ctypes.c_int(256)
    if umad.umad_recv(port, buffer, ctypes.byref(length), timeout_ms) < 0:
        return None
    (told,) = struct.unpack_from("=I", buffer.raw, 16)
    qp, lid = struct.unpack_from(">I4xH", buffer.raw, 20)
    return lid, qp, told - size, buffer.raw[size : size + 256]


def serve():
    for kind in [1, 0x81]:  # becoming an SM brings traps, which crash a client that takes none
        agents[kind] = agent(kind, 1, [1, 2, 5])
    agents[3] = agent(3, 2, [1, 2, 5, 6, 0x12, 0x15])
    libc.open(b"/dev/infiniband/issm0", 0)
    print("serving", flush=True)
    while True:
        came = receive(100)
        if came is None:
            print("idle", flush=True)
            continue
        if came[3][1] != 3:
            continue
        print(came[0], came[1], came[3].hex(), flush=True)
        while (line := sys.stdin.readline().split()) != ["."]:
            if not line:
                return
            send(int(line[0]), int(line[1]), bytes.fromhex(line[3]), int(line[2]))


for line in sys.stdin:
    words = line.split()
    if words == ["serve"]:
        serve()
        break
    _, lid, qp, mad = words
    send(int(lid), int(qp), bytes.fromhex(mad))
    came = receive(1000)
    print(f"{came[3].hex()} {came[2]}" if came else "silence", flush=True)
