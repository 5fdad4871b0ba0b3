"""SL-to-VL tables of many ports, as `smpquery -D sl2vl` prints them, by one program: by libibmad, of which smpquery is made.
Run by ibsim-run. Each argument is a directed route and an output port, `0,1,4/2`; a line with the argument comes before its
tables, and an empty one after them.
"""

import ctypes
import sys

NODE_INFO, SL_TO_VL = 0x11, 0x17
DIRECTED_ROUTES = 0x81
SWITCH = 2


class Path(ctypes.Structure):
    _fields_ = [("count", ctypes.c_int), ("ports", ctypes.c_uint8 * 64), ("ends", ctypes.c_uint16 * 2)]


class Device(ctypes.Structure):
    """`ib_portid_t`, by the fields that a directed route needs; the rest is zero."""

    _fields_ = [("lid", ctypes.c_int), ("path", Path), ("rest", ctypes.c_uint8 * 64)]


mad = ctypes.CDLL("libibmad.so.5")
mad.mad_rpc_open_port.restype = ctypes.c_void_p
mad.smp_query_via.restype = ctypes.c_void_p
mad.smp_query_via.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_uint] * 3 + [ctypes.c_void_p]
classes = (ctypes.c_int * 1)(DIRECTED_ROUTES)
port = mad.mad_rpc_open_port(None, 0, classes, 1)
if not port:
    sys.exit("no port of ibsim's")


def ask(device, attribute, modifier):
    data = ctypes.create_string_buffer(64)
    # No time-out is that of smpquery.
    if not mad.smp_query_via(data, ctypes.byref(device), attribute, modifier, 0, port):
        sys.exit(f"no answer: attribute {attribute:#x}, modifier {modifier:#x}")
    return data


for argument in sys.argv[1:]:
    route, output = argument.split("/")
    device = Device()
    if mad.str2drpath(ctypes.byref(device.path), route.encode(), 0, 0) < 0:
        sys.exit(f"no directed route: {route}")
    info = ask(device, NODE_INFO, 0).raw
    # A CA has one table, and smpquery says 0 for both of its ports.
    inputs, output = (range(info[3] + 1), int(output)) if info[2] == SWITCH else ([0], 0)
    print(argument)
    for number in inputs:
        data, text = ask(device, SL_TO_VL, number << 8 | output), ctypes.create_string_buffer(1024)
        mad.mad_dump_sltovl(text, len(text), data, len(data))
        print(f"ports: in {number:2}, out {output:2}: {text.value.decode().rstrip()}")
    print()
