#!/usr/bin/env python3
"""Checks the certificate of a plan with nothing but Python's standard library.

    python3 examples/check_certificate.py change.plan change.certificate

For those who trust nobody: this script shares no line with the planner, the prover or the checker of `reconfig`. It
reads the plan as docs/CERTIFICATE.md describes it, works out from the writes and barriers who may send what at every
moment, sees that the places which the certificate lists are closed under every step the plan allows, and that the
numbers of the lanes rise along every dependency. docs/PROOF.md says why a yes then means that no moment of the change
can deadlock, send a packet round, lose it, or bring it to the wrong port. Exit codes: 0 accepted, 1 not, 2 usage.
"""

import base64
import functools
import hashlib
import json
import re
import sys
import zlib

NO_ROUTE = 255
OWN, HOLE, DEAD = -1, -2, -3  # what an output does with packets that it sends into no channel
DISCARDS = 0x8000  # VL 15: end ports may discard, switches must not
LAST_LID = 0xBFFF
BLOCK = 64
PIECE = 1 << 16  # bytes of evidence unpacked at a time
HALVES = ("lower", "upper")
EVERY = sum(1 << 16 * group for group in range(8))


class Refused(Exception):
    """The certificate is not accepted."""


def spread(lanes):
    """All 16 lanes of each group (16 bits each) that has one."""
    return sum(0xFFFF << 16 * group for group in range(8) if lanes >> 16 * group & 0xFFFF)


def any_lane(lanes):
    """Lanes of all groups together."""
    together = 0
    while lanes:
        together |= lanes & 0xFFFF
        lanes >>= 16
    return together


@functools.cache
def each(mask):
    """The bits of a mask; kept, for every place of a certificate asks."""
    return [bit for bit in range(16) if mask >> bit & 1]


def refused(problem):
    """A hook of the JSON reader."""

    def hook(found):
        raise Refused(f"{found!r} {problem}")

    return hook


def whole(digits):
    """A number as plans and certificates have them: whole, not negative, no larger than a GUID."""
    if digits.startswith("-") or len(digits) > 20:
        raise Refused(f"{digits[:24]} is no number of a plan or a certificate")
    return int(digits)


def fields_once(pairs):
    """An object, each field of which is given once."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise Refused(f"an object has a duplicate field, of {[name for name, _ in pairs][:30]}")
    return fields


def parsed(text):
    """JSON without what readers understand in more than one way."""
    fraction = refused("is no whole number")
    hooks = {"parse_int": whole, "parse_float": fraction, "parse_constant": fraction}
    return json.loads(text, object_pairs_hook=fields_once, **hooks)


# Forms: functions from a value and its place to the value as the rest of this script uses it, or a refusal. A file has
# the fields that its form names and no others, so that nobody reads into it what this script does not.


def number(most, least=0):
    """A whole number in a range."""

    def form(value, place):
        # A truth value is a number to Python, and none to anybody else.
        if type(value) is not int or not least <= value <= most:
            raise Refused(f"{place} is {value!r:.60}, expected a number from {least} to {most}")
        return value

    return form


def word(*words):
    """One of some words."""

    def form(value, place):
        if type(value) is not str or value not in words:
            raise Refused(f"{place} is {value!r:.60}, expected one of {', '.join(words)}")
        return value

    return form


def truth(value, place):
    """True or false."""
    if type(value) is not bool:
        raise Refused(f"{place} is {value!r:.60}, expected true or false")
    return value


def text(value, place):
    """Any text that UTF-8 can express."""
    if type(value) is not str or re.search("[\ud800-\udfff]", value):
        raise Refused(f"{place} is {value!r:.60}, expected a text")
    return value


def digits(pattern, what):
    """Hexadecimal digits, in lower case."""
    known = re.compile(pattern)

    def form(value, place):
        if type(value) is not str or not known.fullmatch(value):
            raise Refused(f"{place} is {value!r:.60}, expected {what}")
        return value.lower()

    return form


def guid(value, place):
    """A GUID as a number: `0x2` and `0x02` are two spellings of one."""
    if type(value) is not str or not re.fullmatch("(0[xX])?0*[0-9a-fA-F]{1,16}", value):
        raise Refused(f"{place} is {value!r:.60}, expected a GUID of up to 16 hexadecimal digits")
    return int(value, 16)


def listed(form):
    """A list of values of one form."""

    def all_of(value, place):
        if type(value) is not list:
            raise Refused(f"{place} is {value!r:.60}, expected a list")
        return [form(one, place) for one in value]

    return all_of


def record(required, optional=(), default=()):
    """An object: the fields that it must have, those that may be missing or null, and those that may be missing."""
    optional, default = dict(optional), dict(default)

    def form(value, place):
        if type(value) is not dict:
            raise Refused(f"{place} is {value!r:.60}, expected an object")
        for name in value.keys() - required.keys() - optional.keys() - default.keys():
            raise Refused(f"{place} has an unknown field {name!r:.60}")
        for name in required.keys() - value.keys():
            raise Refused(f"{place} has no field {name!r}")
        fields = {name: own(value[name], f"{place}: {name}") for name, own in required.items()}
        for name, own in optional.items():
            given = value.get(name)
            fields[name] = None if given is None else own(given, f"{place}: {name}")
        for name, (own, otherwise) in default.items():
            fields[name] = own(value[name], f"{place}: {name}") if name in value else otherwise
        return fields

    return form


def variant(words, **forms):
    """One of some words, or an object of one field, whose name says what it holds."""

    def form(value, place):
        if type(value) is str and value in words:
            return value
        if type(value) is not dict or len(value) != 1 or not value.keys() <= forms.keys():
            raise Refused(f"{place} is {value!r:.60}, expected one of {', '.join((*words, *forms))}")
        ((name, held),) = value.items()
        return {name: forms[name](held, f"{place}: {name}")}

    return form


MASK = number(0xFFFF)
HALF = word(*HALVES)
STATE = word("down", "initialize", "armed", "active")
SCHEME = word("double", "ordered", "static", "in-place", "recover")
END = record({"node": guid, "port": number(255)})
MISSING = record({"nodes": listed(guid), "links": listed(END)})
TABLE = digits("[0-9a-fA-F]{16}", "an SL-to-VL table of 16 hexadecimal digits")
ENTRIES = digits("[0-9a-fA-F]{128}", "a block of 128 hexadecimal digits")
LFT = digits("([0-9a-fA-F]{128}){0,1024}", "whole blocks of 128 hexadecimal digits, 1024 at most")
PORTS = digits("[0-9a-fA-F]{64}", "a port mask of 64 hexadecimal digits")
DIGEST = digits("[0-9a-fA-F]{16}", "a digest of 16 hexadecimal digits")
SCOPE = variant(
    ["all"],
    pair=record({"input": number(255), "output": number(255)}),
    end_port=record({"port": number(255)}),
)
WRITE = variant(
    [],
    lft_block=record({"switch": guid, "block": number(LAST_LID // BLOCK), "entries": ENTRIES}),
    sl_to_vl=record({"node": guid, "scope": SCOPE, "table": TABLE}),
    port_state=record({"at": END, "state": STATE}),
    active_half=record({"at": END, "half": HALF}),
    sa_half=record({"half": HALF}),
    master_sm=record({"at": END, "lid": number(0xFFFF), "sl": number(15)}),
)
WAVE = record(
    {
        "name": text,
        "phase": word("split", "install", "swap", "drain", "restore", "stop", "start", "rewrite"),
        "sending": variant(["any_order"], listed=record({"window": number(0xFFFF)})),
        "barriers": listed(variant(["acknowledged", "sources_moved"], flushed=MASK, drained=MASK, vacated=number(255))),
        "writes": listed(WRITE),
    }
)
LAYER = record(
    {
        "lanes": MASK,
        "sources": listed(END),
        "arcs": listed(record({"switch": guid, "outputs": listed(PORTS)})),
    }
)
WAYS = record(
    {
        "paths": number(64, 1),
        "destinations": listed(END),
        "groups": listed(record({"sources": listed(END), "layers": text})),
    }
)
INITIAL = record(
    {
        "sa_half": HALF,
        "sending": listed(HALF),
        "port_states": listed(STATE),
        "lfts": listed(record({"switch": guid, "entries": LFT})),
        "sl_to_vl": listed(record({"node": guid, "tables": listed(TABLE)})),
    }
)
PORT = record(
    {
        "num": number(255),
        "width": word("1x", "2x", "4x", "8x", "12x"),
        "speed": word("SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR", "NDR", "XDR"),
        "data_vls": number(255),
    },
    {"guid": guid, "lid": number(LAST_LID, 1)},
    {"lmc": (number(7), 0)},
)
NODE = record(
    {
        "kind": word("switch", "ca", "router"),
        "guid": guid,
        "vendor_id": number(0xFFFFFFFF),
        "device_id": number(0xFFFFFFFF),
        "description": text,
        "num_ports": number(254, 1),
        "lft_capacity": number(0xFFFF),
        "optimised_sl_to_vl": truth,
        "ports": listed(PORT),
    },
    {"system_guid": guid},
    {"port_zero": (word("base", "enhanced"), "base"), "present": (truth, True)},
)
FABRIC = record(
    {
        "schema": word("reconfig.fabric/1"),
        "nodes": listed(NODE),
        "links": listed(record({"a": guid, "a_port": number(255), "b": guid, "b_port": number(255)})),
    },
    {"origin": record({"node": guid, "port": guid})},
)
PLAN = record(
    {
        "schema": word("reconfig.plan/2"),
        "scheme": SCHEME,
        "digest": DIGEST,
        "old": HALF,
        "new": HALF,
        "lanes": record(
            {"all": MASK, "a": MASK, "b": MASK}, {"reserved": record({"sl": number(15), "vl": number(15)})}
        ),
        "policy": record(
            {
                "arming": word("hold", "hold-each", "discard", "off"),
                "observer": word("token", "poll", "conservation", "lifetime"),
            },
            {"reserved_sl": number(15)},
            default={
                "sources": (word("told", "fence"), "told"),
                "partition": (word("temporary", "standing"), "temporary"),
                "turned_back": (word("discarded", "returned"), "discarded"),
            },
        ),
        "sm": END,
        "stranded": listed(END),
        "assumptions": listed(
            word(
                "switch-management-paused",
                "no-multicast",
                "reserved-level-is-kept",
                "answers-are-legal",
                "spare-half-unused",
                "initialize-discards",
                "entries-decide",
                "agents-keep-the-protocol",
                "counters-are-untouched",
                "lifetimes-are-enforced",
                "fences-discard",
                "fenced-lanes-run-empty",
                "turned-back-is-discarded",
            )
        ),
        "notes": listed(text),
        "waves": listed(WAVE),
        "drain": listed(LAYER),
        "initial": INITIAL,
        "routed": MISSING,
        "surviving": MISSING,
        "after": MISSING,
        "fabric": FABRIC,
    },
    {"old_ways": WAYS, "new_ways": WAYS},
    {"both_halves": (truth, False), "begins_with_losses": (truth, False), "leaves_losses": (truth, False)},
)
HEADER = record(
    {
        "plan": text,
        "fabric": text,
        "scheme": text,
        "assumptions": listed(text),
        "vls": number(15, 1),
        "groups": listed(listed(number(15))),
        "moments": listed(record({"name": text, "lanes": listed(MASK)})),
    }
)


def once(keys, what):
    """Nothing is given twice: which of the two counts would be the reader's choice."""
    seen = set()
    for key in keys:
        if key in seen:
            raise Refused(f"{what} is given twice")
        seen.add(key)


class Fabric:
    """Nodes and ports of a plan, by index: ports of all nodes in order, port 0 of each included."""

    def __init__(self, plan):
        described = plan["fabric"]
        self.nodes = described["nodes"]
        self.node_at = {node["guid"]: place for place, node in enumerate(self.nodes)}
        self.first, self.port_node, self.port_num = [], [], []
        for place, node in enumerate(self.nodes):
            self.first.append(len(self.port_node))
            self.port_node += [place] * (node["num_ports"] + 1)
            self.port_num += range(node["num_ports"] + 1)
        self.count = len(self.port_node)
        self.peer = [None] * self.count
        if len(self.node_at) != len(self.nodes) or any(not node["present"] for node in self.nodes):
            raise Refused("a node is listed twice, or as absent")
        for link in described["links"]:
            a, b = self.port(link["a"], link["a_port"]), self.port(link["b"], link["b_port"])
            if 0 in (link["a_port"], link["b_port"]):
                raise Refused(f"{self.name(a)} is cabled to {self.name(b)}: port 0 takes no cable")
            if a == b or self.peer[a] is not None or self.peer[b] is not None:
                raise Refused(f"{self.name(a)} or {self.name(b)} is cabled twice")
            self.peer[a], self.peer[b] = b, a
            if not self.is_switch(self.port_node[a]) and not self.is_switch(self.port_node[b]):
                raise Refused(f"{self.name(a)} is cabled to another end port: no switch is between them")
        self.lid, self.lmc, self.vls = [None] * self.count, [0] * self.count, [8] * self.count
        for place, node in enumerate(self.nodes):
            once((port["num"] for port in node["ports"]), "a port of a node")
            for port in node["ports"]:
                at = self.port(node["guid"], port["num"])
                self.lid[at], self.lmc[at], self.vls[at] = port["lid"], port["lmc"], port["data_vls"]
        self.check_lids()
        self.surviving = self.peer_less(plan["surviving"])
        self.survives = [peer is not None for peer in self.surviving]
        routed = self.peer_less(plan["routed"])
        self.come = [self.peer[at] is not None and routed[at] is None for at in range(self.count)]
        self.stranded = [False] * self.count
        after = self.after = self.peer_less(plan["after"])
        manager = self.port(plan["sm"]["node"], plan["sm"]["port"])
        reached = self.reach(after, self.port_node[manager])
        for end in plan["stranded"]:
            at = self.port(end["node"], end["port"])
            self.stranded[at] = True
            if after[at] is not None and self.port_node[at] in reached:
                raise Refused(f"{self.name(at)} is said to be cut off, and the SM reaches it afterwards")
        if any(after[at] is not None and not self.survives[at] for at in range(self.count)):
            raise Refused("a cable is dead while the waves run, and there afterwards")
        if self.digest() != plan["digest"]:
            raise Refused(f"the plan says that its fabric has digest {plan['digest']}, which has {self.digest()}")

    def node(self, guid):
        if guid not in self.node_at:
            raise Refused(f"the fabric has no node 0x{guid:016x}")
        return self.node_at[guid]

    def port(self, guid, num):
        place = self.node(guid)
        if num > self.nodes[place]["num_ports"]:
            raise Refused(f"node 0x{guid:016x} has no port {num}")
        return self.first[place] + num

    def check_lids(self):
        """Every LID has one owner, switches included."""
        owned = set()
        for at in range(self.count):
            lids = range(self.lid[at], self.lid[at] + (1 << self.lmc[at])) if self.lid[at] else ()
            if lids and lids[-1] > LAST_LID:
                raise Refused(f"LIDs of {self.name(at)} are beyond {LAST_LID}")
            if not owned.isdisjoint(lids):
                raise Refused(f"a LID of {self.name(at)} has two owners")
            owned.update(lids)

    def digest(self):
        """FNV-1a over kinds, ports, LIDs and links in the order of GUIDs: what plans name a fabric by."""
        value = 0xCBF29CE484222325
        words = []
        for guid in sorted(self.node_at):
            place = self.node_at[guid]
            node = self.nodes[place]
            words += [guid, ("switch", "ca", "router").index(node["kind"]) << 8 | node["num_ports"]]
            for at in range(self.first[place], self.first[place] + node["num_ports"] + 1):
                words.append((self.lid[at] or 0) << 8 | self.lmc[at])
                peer = self.peer[at]
                linked = peer is not None
                words.append(self.nodes[self.port_node[peer]]["guid"] if linked else 0)
                words.append(self.port_num[peer] if linked else 0)
        for word in words:
            for byte in word.to_bytes(8, "big"):
                value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
        return f"{value:016x}"

    def reach(self, peers, start):
        """Nodes that links lead to from a node; only switches lead on."""
        entered, queue = {start}, [start]
        while queue:
            place = queue.pop()
            if place != start and not self.is_switch(place):
                continue
            for at in range(self.first[place], self.first[place] + self.nodes[place]["num_ports"] + 1):
                if peers[at] is not None and self.port_node[peers[at]] not in entered:
                    entered.add(self.port_node[peers[at]])
                    queue.append(self.port_node[peers[at]])
        return entered

    def peer_less(self, missing):
        """Peers without the nodes and links that a part of the plan says are missing."""
        peer = list(self.peer)
        gone = {self.node(guid) for guid in missing["nodes"]}
        dead = [at for at in range(self.count) if self.port_node[at] in gone]
        dead += [self.port(end["node"], end["port"]) for end in missing["links"]]
        for at in dead:
            if peer[at] is not None:
                peer[peer[at]] = None
                peer[at] = None
        return peer

    def is_switch(self, place):
        return self.nodes[place]["kind"] == "switch"

    def name(self, port):
        return f"{self.nodes[self.port_node[port]]['description']} port {self.port_num[port]}"


class Tables:
    """Forwarding and SL-to-VL tables, halves and port states at one moment; shared between moments where equal."""

    def __init__(self, lfts, mapping, sending, states):
        self.lfts, self.mapping, self.sending, self.states = lfts, mapping, sending, states

    @staticmethod
    def initial(plan, fabric):
        rows = plan["initial"]
        once((row["switch"] for row in rows["lfts"]), "the forwarding table of a switch")
        once((row["node"] for row in rows["sl_to_vl"]), "the SL-to-VL tables of a node")
        lfts = {fabric.node(row["switch"]): bytes.fromhex(row["entries"]) for row in rows["lfts"]}
        mapping = {}
        for row in rows["sl_to_vl"]:
            place, tables = fabric.node(row["node"]), row["tables"]
            sides = fabric.nodes[place]["num_ports"] + 1
            if len(tables) not in (1, sides * sides):
                name = fabric.nodes[place]["description"]
                raise Refused(f"{name}: {len(tables)} SL-to-VL tables, expected 1 or {sides * sides}")
            mapping[place] = tables * (sides * sides) if len(tables) == 1 else tables
        sending, states = rows["sending"], rows["port_states"]
        if len(sending) != fabric.count or len(states) != fabric.count or len(mapping) != len(fabric.nodes):
            raise Refused("the initial tables are not those of the fabric")
        return Tables(lfts, mapping, sending, states)

    def after(self, writes, fabric):
        lfts, mapping = dict(self.lfts), dict(self.mapping)
        sending, states, copied = list(self.sending), list(self.states), set()
        check_once(writes, fabric)
        for write in writes:
            ((kind, row),) = write.items()
            if kind == "lft_block":
                place, start = fabric.node(row["switch"]), row["block"] * BLOCK
                table = bytearray(lfts.get(place, b""))
                table += bytes([NO_ROUTE]) * (start + BLOCK - len(table))
                table[start : start + BLOCK] = bytes.fromhex(row["entries"])
                lfts[place] = bytes(table)
            elif kind == "sl_to_vl":
                place = fabric.node(row["node"])
                sides = fabric.nodes[place]["num_ports"] + 1
                if row["scope"] == "all":
                    mapping[place] = [row["table"]] * (sides * sides)
                else:
                    at = pair_of(row["scope"], row["node"], fabric)
                    if place not in copied:
                        copied.add(place)
                        mapping[place] = list(mapping[place])
                    mapping[place][at] = row["table"]
            elif kind == "active_half":
                sending[fabric.port(row["at"]["node"], row["at"]["port"])] = row["half"]
            elif kind == "port_state":
                states[fabric.port(row["at"]["node"], row["at"]["port"])] = row["state"]
            elif kind == "master_sm":
                fabric.port(row["at"]["node"], row["at"]["port"])
        return Tables(lfts, mapping, sending, states)


def check_once(writes, fabric):
    """Writes of a wave land in any order: no two may set one thing."""
    seen = set()
    for write in writes:
        ((kind, row),) = write.items()
        # Forms have made one number of all spellings of a GUID, so equal keys are equal things.
        keys = [(kind, *row["at"].values())] if "at" in row else [(kind,)]
        if kind == "lft_block":
            keys = [(kind, row["switch"], row["block"])]
        elif kind == "sl_to_vl" and row["scope"] == "all":
            sides = fabric.nodes[fabric.node(row["node"])]["num_ports"] + 1
            keys = [(kind, row["node"], at) for at in range(sides * sides)]
        elif kind == "sl_to_vl":
            keys = [(kind, row["node"], pair_of(row["scope"], row["node"], fabric))]
        for key in keys:
            if key in seen:
                raise Refused(f"a wave sets one thing twice, and either may land last: {key}")
            seen.add(key)


def pair_of(scope, node, fabric):
    """Where the tables of a node have that of one (input, output) pair."""
    ((kind, ports),) = scope.items()
    for num in ports.values():
        fabric.port(node, num)
    sides = fabric.nodes[fabric.node(node)]["num_ports"] + 1
    return ports["input"] * sides + ports["output"] if kind == "pair" else ports["port"]


class Moment:
    """The moment before the change, or a wave: what may be mixed, who sends, what is empty."""

    def __init__(self, name, before, after):
        self.name, self.tables = name, (before, after)
        self.injected, self.gone = {}, {"lower": False, "upper": False}
        self.empty, self.drains, self.aged = 0, None, None


def moments_of(plan, fabric):
    """Works out what every wave means, from writes and barriers alone."""
    halves = HALVES
    ends = [at for at in range(fabric.count) if fabric.peer[at] is not None and not fabric.is_switch(fabric.port_node[at])]
    tables = Tables.initial(plan, fabric)
    check_newcomers(plan, fabric, tables)
    both = plan["both_halves"]
    sent = {half: both or any(tables.sending[at] == half for at in ends if not fabric.come[at]) for half in halves}
    check_spare_half(plan, fabric, ends, sent)
    joined = {}
    steady = Moment("steady", tables, tables)
    steady.injected = dict(sent)
    ways, _ = followed(plan, fabric)
    steady.ways, has_stopped = ways(False), False
    moments = [steady]
    moved, empty, gone, aged = True, 0, {half: False for half in halves}, None

    def admits(port, number, half):
        return not fabric.come[port] or number >= joined.get((port, half), len(plan["waves"]) + 1)

    def stopped(tables):
        return all(tables.states[at] in ("initialize", "down") for at in range(fabric.count) if fabric.survives[at])

    def begins(number, pair):
        alive = [at for at in ends if fabric.survives[at]]
        return {half: any(t.sending[at] == half and admits(at, number, half) for at in alive for t in pair) for half in halves}

    for number, wave in enumerate(plan["waves"], 1):
        if wave["writes"] and wave["phase"] == "drain":
            raise Refused(f"wave {wave['name']}: nothing is written while draining")
        if wave["writes"] and wave["barriers"][:1] != ["acknowledged"]:
            raise Refused(f"wave {wave['name']}: its writes are not acknowledged before anything else")
        for write in wave["writes"]:
            if "active_half" in write:
                row, moved = write["active_half"], False
                at = fabric.port(row["at"]["node"], row["at"]["port"])
                for half in halves if fabric.come[at] else []:
                    if both or half == row["half"]:
                        joined.setdefault((at, half), number)
        after = tables.after(wave["writes"], fabric)
        moment = Moment(wave["name"], tables, after)
        idle = stopped(tables) and stopped(after)
        starts = begins(number, (tables, after))
        moment.injected = {half: not idle and (both or sent[half] or starts[half]) for half in halves}
        moment.empty, moment.aged = empty, aged
        moment.gone = {half: gone[half] or aged is not None for half in halves}
        moment.ways = ways(has_stopped or not stopped(after))
        has_stopped = has_stopped or stopped(after)
        sent = {half: sent[half] or moment.injected[half] for half in halves}
        empty, gone, aged = 0, {half: False for half in halves}, None
        # Every dependency that the certificate numbers follows the tables.
        need(plan, wave, "entries-decide")
        for barrier in wave["barriers"]:
            if barrier not in ("acknowledged", "sources_moved"):
                for assumption in OBSERVERS[plan["policy"]["observer"]]:
                    need(plan, wave, assumption)
            if barrier == "sources_moved":
                moved = True
                for assumption in of_moving(plan["policy"]):
                    need(plan, wave, assumption)
            elif isinstance(barrier, dict) and "vacated" in barrier:
                aged = (aged or 0) + barrier["vacated"]
            elif isinstance(barrier, dict) and "flushed" in barrier:
                empty |= barrier["flushed"]
            elif isinstance(barrier, dict) and "drained" in barrier:
                if plan["policy"]["observer"] == "conservation":
                    need(plan, wave, "counters-are-untouched")
                need(plan, wave, "spare-half-unused")
                still = begins(number, (after, after))
                if both or not moved or still["lower"] == still["upper"]:
                    raise Refused(f"wave {wave['name']}: lanes are said to run empty while sources may still send")
                half = "upper" if still["lower"] else "lower"
                moment.drains = (half, barrier["drained"])
                empty |= barrier["drained"]
                gone[half], sent[half] = True, False
        check_empty(wave, after, empty, sent, fabric)
        if stopped(after):
            need(plan, wave, "initialize-discards")
            empty, gone, sent = 0xFFFF, {half: True for half in halves}, {half: False for half in halves}
        moments.append(moment)
        tables = after
    return moments, admits


def check_departure(plan, fabric):
    """A plan that drains nothing and stops nothing has what leaves vacated at its end."""
    leaving = [at for at in range(fabric.count) if fabric.survives[at] and fabric.after[at] is None]
    barriers = [barrier for wave in plan["waves"] for barrier in wave["barriers"] if isinstance(barrier, dict)]
    if not leaving or plan["scheme"] == "static" or any("drained" in barrier for barrier in barriers):
        return
    gone = {fabric.node(guid) for guid in plan["after"]["nodes"]} - {fabric.node(guid) for guid in plan["surviving"]["nodes"]}
    rest, largest = {place for place in gone if fabric.is_switch(place)}, 0
    while rest:
        part = [rest.pop()]
        for place in part:
            ports = range(fabric.first[place], fabric.first[place] + fabric.nodes[place]["num_ports"] + 1)
            found = {fabric.port_node[fabric.surviving[at]] for at in ports if fabric.surviving[at] is not None} & rest
            rest -= found
            part += found
        largest = max(largest, len(part))
    last = plan["waves"][-1]["barriers"] if plan["waves"] else []
    rounds = sum(barrier["vacated"] for barrier in last if isinstance(barrier, dict) and "vacated" in barrier)
    if rounds < largest + 2:
        raise Refused(f"afterwards: what leaves is empty after {largest + 2} rounds, and the last barrier waits for {rounds}")


# What a flush rests on, by the observer that shows it; a drain by conservation rests on the counters besides.
OBSERVERS = {
    "token": ("agents-keep-the-protocol",),
    "poll": ("agents-keep-the-protocol",),
    "conservation": ("agents-keep-the-protocol",),
    "lifetime": ("lifetimes-are-enforced",),
}


def of_moving(policy):
    """What the move of the sources rests on; what stands behind a fence in the lanes of a port has no age."""
    if policy["sources"] == "told":
        return ["agents-keep-the-protocol"]
    return ["fences-discard"] + ["fenced-lanes-run-empty"] * (policy["observer"] == "lifetime")


def need(plan, wave, assumption):
    """What a wave rests on must be named."""
    if assumption not in plan["assumptions"]:
        raise Refused(f"wave {wave['name']}: it takes {assumption} for granted, and the plan does not name it")


def check_spare_half(plan, fabric, ends, sent):
    """A half of which end ports have LIDs, and on which none of them sends at first, is taken to be unused."""
    owners = [at for at in ends if fabric.lid[at]]
    has_lids = {"lower": bool(owners), "upper": any(fabric.lmc[at] for at in owners)}
    if "spare-half-unused" not in plan["assumptions"] and any(has_lids[half] and not sent[half] for half in HALVES):
        raise Refused("plan: it takes spare-half-unused for granted, and the plan does not name it")


def check_empty(wave, tables, empty, sent, fabric):
    """Lanes that were seen empty stay so only if no table sends there what may be under way."""
    levels = [sl for sl in range(16) if empty and sent["lower" if sl < 8 else "upper"]]
    for place, node in enumerate(fabric.nodes if levels else []):
        sides, first = node["num_ports"] + 1, fabric.first[place]
        linked = [num for num in range(1, sides) if fabric.survives[first + num]]
        rows = tables.mapping[place]
        for at in {i * sides + o for i in (linked if fabric.is_switch(place) else [0]) for o in linked}:
            if any(empty >> int(rows[at][sl], 16) & 1 for sl in levels):
                raise Refused(f"wave {wave['name']}: lanes {each(empty)} are said to be empty, and packets are sent there")


def check_newcomers(plan, fabric, tables):
    """Nothing is known of the tables of what has come: it forwards by what the waves write."""
    written = set()
    for wave in plan["waves"]:
        for write in wave["writes"]:
            if "sl_to_vl" in write:
                row = write["sl_to_vl"]
                place, scope = fabric.node(row["node"]), row["scope"]
                written.add((place, scope if scope == "all" else tuple(scope.get("pair", {}).values())))
        if any("active_half" in write for write in wave["writes"]):
            break
    for place, node in enumerate(fabric.nodes):
        if not fabric.is_switch(place):
            continue
        first = fabric.first[place]
        linked = [num for num in range(1, node["num_ports"] + 1) if fabric.peer[first + num] is not None]
        if linked and all(fabric.come[first + num] for num in linked) and tables.lfts.get(place):
            raise Refused(f"{node['description']} has come, and is said to forward already")
        for input_ in linked if (place, "all") not in written else []:
            for output in linked:
                new = fabric.come[first + input_] or fabric.come[first + output]
                if new and (place, (input_, output)) not in written:
                    raise Refused(f"{node['description']}: a new SL-to-VL table is not written before it is used")


def check_other_packets(plan, moments):
    """Tables that are written while data flows meet other packets too: none, says the plan, or all on a reserved level."""
    reserved, named = plan["lanes"]["reserved"], plan["assumptions"]
    if (reserved is not None) != ("reserved-level-is-kept" in named):
        raise Refused("plan: a reserved level and reserved-level-is-kept go together, and one is missing")
    if plan["policy"]["reserved_sl"] != (reserved and reserved["sl"]):
        raise Refused("plan: its policy and its lanes name different reserved levels")
    for wave, moment in zip(plan["waves"], moments[1:]):
        writes = any("lft_block" in write or "sl_to_vl" in write for write in wave["writes"])
        if reserved is None and writes and any(moment.injected.values()):
            need(plan, wave, "no-multicast")
            need(plan, wave, "switch-management-paused")


class Reserved:
    """The level that is of neither half: alone on its lane; and, unless management to switches pauses, free of cycles.

    No barrier waits for that lane. So whatever tables a packet there has met since the plan began count together, and
    there is one graph of channels for the whole change. Any switch may send to any LID.
    """

    def __init__(self, plan, fabric, moments):
        self.plan, self.fabric, self.moments = plan, fabric, moments
        self.sl, self.vl = plan["lanes"]["reserved"]["sl"], plan["lanes"]["reserved"]["vl"]
        self.switches = [place for place in range(len(fabric.nodes)) if fabric.is_switch(place)]
        self.turns_back = "turned-back-is-discarded" not in plan["assumptions"]

    def check(self):
        self.check_lanes()
        self.check_tables()
        if "switch-management-paused" not in self.plan["assumptions"]:
            self.check_packets()

    def check_lanes(self):
        lanes = self.plan["lanes"]
        masks = [lanes["all"], lanes["a"], lanes["b"]]
        for wave in self.plan["waves"]:
            for barrier in wave["barriers"]:
                if isinstance(barrier, dict):
                    masks += [barrier[kind] for kind in ("flushed", "drained") if kind in barrier]
        if any(mask >> self.vl & 1 for mask in masks):
            raise Refused(f"plan: VL {self.vl} is reserved, and among the lanes of a half or of a barrier")
        groups = [group for key in ("old_ways", "new_ways") if self.plan.get(key) for group in self.plan[key]["groups"]]
        layers = [int(digit) + 1 for group in groups for digit in group["layers"] if digit in "01234567"]
        if self.sl % 8 < max([1] + layers):
            raise Refused(f"plan: SL {self.sl} is reserved, and data takes it")
        for at, peer in enumerate(self.fabric.peer):
            if peer is not None and self.fabric.vls[at] <= self.vl:
                raise Refused(f"plan: VL {self.vl} is reserved, and {self.fabric.name(at)} lacks it")

    def check_tables(self):
        """Every table of a cabled way has the level on its lane, and no other level there."""
        fabric, right = self.fabric, set()
        for moment in self.moments:
            for tables in moment.tables:
                for place, node in enumerate(fabric.nodes):
                    sides, first = node["num_ports"] + 1, fabric.first[place]
                    cabled = [num for num in range(1, sides) if fabric.peer[first + num] is not None]
                    inputs = [0] + (cabled if fabric.is_switch(place) else [])
                    for text in {tables.mapping[place][i * sides + o] for i in inputs for o in cabled} - right:
                        lanes = [int(digit, 16) for digit in text]
                        if lanes[self.sl] != self.vl or lanes.count(self.vl) != 1:
                            name = f"{moment.name}: {node['description']}"
                            raise Refused(f"{name}: SL {self.sl} is not alone on VL {self.vl}, which is reserved for it")
                        right.add(text)

    def check_packets(self):
        fabric = self.fabric
        for place in self.switches:
            first = fabric.first[place]
            ports = range(first + 1, first + fabric.nodes[place]["num_ports"] + 1)
            cabled = [at for at in ports if fabric.peer[at] is not None]
            if cabled and all(fabric.come[at] for at in cabled):
                name = fabric.nodes[place]["description"]
                raise Refused(f"plan: {name} has come, so packets on the reserved level cannot be followed")
        steady, *waves = self.moments
        self.check_mixture(steady.name, steady.tables[:1], fabric.peer)
        tables, name = [], steady.name
        for moment in waves:
            # What barriers say is about other lanes: only ports that all discard what they hold leave nothing here.
            discarded = all(moment.gone.values()) and moment.aged is None
            if discarded:
                self.check_mixture(name, tables, fabric.surviving)
                tables = []
            if not discarded or any(moment.injected.values()):
                tables += moment.tables
            name = moment.name
        self.check_mixture(name, tables, fabric.surviving)

    def check_mixture(self, name, tables, peers):
        """Whether channels have an order in which each waits for later ones only, whichever entries are followed."""
        fabric, waits = self.fabric, {}
        lfts = {}
        for place in self.switches:
            found = {id(t.lfts[place]): t.lfts[place] for t in tables if place in t.lfts}
            lfts[place] = list(found.values())
        for owner in range(fabric.count):
            base = fabric.lid[owner]
            is_port = peers[owner] is not None or fabric.peer[owner] is not None or fabric.port_num[owner] == 0
            for lid in range(base, base + (1 << fabric.lmc[owner])) if base and is_port else ():
                ways = {}
                for place in self.switches:
                    ways[place] = {table[lid] for table in lfts[place] if lid < len(table) and table[lid] != NO_ROUTE}
                self.add_waits(name, lid, owner, ways, peers, waits)
        self.check_order(name, waits)

    def add_waits(self, name, lid, owner, ways, peers, waits):
        fabric = self.fabric
        for place, outputs in ways.items():
            for output in outputs:
                if output > fabric.nodes[place]["num_ports"]:
                    continue
                channel = fabric.first[place] + output
                end = channel if output == 0 else peers[channel]
                if end is None:
                    continue
                at = fabric.port_node[end]
                if output == 0 or not fabric.is_switch(at):
                    if end != owner:
                        raise Refused(f"{name}: packets to LID {lid} on the reserved level arrive at {fabric.name(end)}")
                    continue
                for onward in ways[at]:
                    if 0 < onward <= fabric.nodes[at]["num_ports"] and peers[fabric.first[at] + onward] is not None:
                        if self.turns_back or onward != fabric.port_num[end]:
                            waits.setdefault(channel, set()).add(fabric.first[at] + onward)

    def check_order(self, name, waits):
        waiting = {}
        for channels in waits.values():
            for channel in channels:
                waiting[channel] = waiting.get(channel, 0) + 1
        free = [channel for channel in waits if channel not in waiting]
        while free:
            for channel in waits.get(free.pop(), ()):
                waiting[channel] -= 1
                if not waiting[channel]:
                    free.append(channel)
        stuck = [channel for channel, count in waiting.items() if count]
        if stuck:
            where = self.fabric.name(min(stuck))
            raise Refused(f"{name}: packets on the reserved level can wait for each other in a cycle, or behind one, at {where}")


class Certificate:
    """The file: four parts, the last of which guards the others."""

    def __init__(self, raw):
        lines = raw.decode("ascii").split("\n")
        if lines[0] != "reconfig.certificate/1":
            raise Refused("this is no certificate of version 1")
        if len(lines) < 4 or lines[-1] != "" or not lines[-2].startswith("sha256 "):
            raise Refused("the certificate was cut off")
        told, found = lines[-2][7:], hashlib.sha256("\n".join(lines[:-2] + [""]).encode()).hexdigest()
        if told != found:
            raise Refused(f"the certificate was changed: its last line says SHA-256 {told}, its text has {found}")
        self.header = HEADER(parsed(lines[1]), "the certificate")
        letters = "".join(lines[2:-2])
        self.packed = base64.b64decode(letters, validate=True)
        if base64.b64encode(self.packed).decode() != letters:
            raise Refused("the evidence is no base64: its last letters have bits to spare")
        # Unpacked piece by piece as rows are read: a bomb of zeros ends at the first row that cannot be.
        self.unpack, self.bytes, self.at = zlib.decompressobj(), b"", 0

    def refill(self):
        """Unpacks the next piece; false where nothing follows."""
        self.bytes, self.at = b"", 0
        while not self.bytes and not self.unpack.eof:
            self.bytes = self.unpack.decompress(self.packed, PIECE)
            if not self.bytes and not self.unpack.eof and self.unpack.unconsumed_tail == self.packed:
                raise Refused("the evidence of the certificate is damaged: it is cut off")
            self.packed = self.unpack.unconsumed_tail
        return bool(self.bytes)

    def byte(self):
        if self.at == len(self.bytes) and not self.refill():
            raise Refused("the evidence of the certificate is damaged: it ends too early")
        self.at += 1
        return self.bytes[self.at - 1]

    def slice(self, length):
        return bytes(self.byte() for _ in range(length))

    def number(self):
        value = 0
        for shift in range(0, 35, 7):
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
        if byte >= 0x80 or value >> 32:
            raise Refused("the evidence of the certificate is damaged: a number exceeds 32 bits")
        return value

    def finish(self):
        """Nothing follows the last row."""
        if self.at < len(self.bytes) or self.refill() or self.unpack.unused_data:
            raise Refused("the evidence of the certificate is damaged: bytes follow the last row")

    def bind(self, plan, raw):
        wanted = {
            "fabric": plan["digest"],
            "plan": hashlib.sha256(raw).hexdigest(),
            "scheme": plan["scheme"],
            "assumptions": plan["assumptions"],
        }
        for what, value in wanted.items():
            if self.header[what] != value:
                raise Refused(f"the certificate is for another {what}: {self.header[what]}, the plan has {value}")


class Ways:
    """Who sends by which path of a destination, on which layer."""

    def __init__(self, row, fabric):
        self.paths = row["paths"]
        ports = [fabric.port(end["node"], end["port"]) for end in row["destinations"]]
        self.rank = {port: rank for rank, port in enumerate(ports)}
        self.layers = {}
        for group in row["groups"]:
            if len(group["layers"]) != len(ports) * self.paths or set(group["layers"]) - set("01234567f"):
                raise Refused("the layers of a group of sources are damaged")
            for end in group["sources"]:
                self.layers[fabric.port(end["node"], end["port"])] = group["layers"]

    def layer(self, source, owner, path):
        """The layer, or None where the path is not for the source."""
        rank = self.rank.get(owner)
        if rank is None:
            return 0 if path == 0 else None
        layers = self.layers.get(source)
        if layers is None or path >= self.paths:
            return None
        digit = layers[rank * self.paths + path]
        return None if digit == "f" else int(digit)


def followed(plan, fabric):
    """A function from whether the new routing may be followed too to the ways of each half, None where everybody may send by
    each path."""
    old, new = (Ways(plan[key], fabric) if plan.get(key) else None for key in ("old_ways", "new_ways"))

    def ways(new_too):
        if plan["old"] != plan["new"]:
            return {plan["old"]: old and [old], plan["new"]: new and [new]}
        both = [old, new] if new_too else [old]
        return {plan["old"]: None if None in both else both, "lower" if plan["old"] == "upper" else "upper": None}

    return ways, new


class Layer:
    """The channels that one layer of the drain waits for, in an order in which they can run empty."""

    def __init__(self, row, fabric):
        self.lanes = row["lanes"]
        once((arcs["switch"] for arcs in row["arcs"]), "a switch of a layer of the drain")
        self.arcs = {}
        for arcs in row["arcs"]:
            self.arcs[fabric.node(arcs["switch"])] = [bytes.fromhex(mask) for mask in arcs["outputs"]]
        for end in row["sources"]:
            fabric.port(end["node"], end["port"])
        for place, masks in self.arcs.items():
            if len(masks) != fabric.nodes[place]["num_ports"] + 1:
                raise Refused(f"{fabric.nodes[place]['description']}: a layer of the drain has {len(masks)} inputs")
        self.check_order(fabric)

    def has(self, place, input_, output):
        """Whether packets that go on from an input to an output are waited for."""
        masks = self.arcs.get(place)
        return masks is not None and bool(masks[input_][output // 8] >> output % 8 & 1)

    def check_order(self, fabric):
        """Channels that wait for each other in a cycle run empty in no order."""
        onward, waiting = {}, {}
        for place, masks in self.arcs.items():
            first = fabric.first[place]
            linked = [num for num in range(1, len(masks)) if fabric.survives[first + num]]
            for input_ in linked:
                outputs = [first + output for output in linked if self.has(place, input_, output)]
                onward[fabric.surviving[first + input_]] = outputs
                for channel in outputs:
                    waiting[channel] = waiting.get(channel, 0) + 1
        empty = [channel for channel in onward if channel not in waiting]
        while empty:
            for channel in onward.get(empty.pop(), ()):
                waiting[channel] -= 1
                if not waiting[channel]:
                    empty.append(channel)
        if any(waiting.values()):
            raise Refused("a layer of the drain has a cycle: its channels cannot run empty in any order")


class Checker:
    """Holds a certificate to a plan."""

    def __init__(self, plan, raw, certificate):
        certificate.bind(plan, raw)
        self.plan, self.fabric, self.file = plan, Fabric(plan), certificate
        self.moments, self.admits = moments_of(plan, self.fabric)
        if [moment.name for moment in self.moments] != [told["name"] for told in certificate.header["moments"]]:
            raise Refused("the certificate has other moments than the plan")
        check_other_packets(plan, self.moments)
        if plan["lanes"]["reserved"] is not None:
            Reserved(plan, self.fabric, self.moments).check()
        self.vls = certificate.header["vls"]
        self.layers = [Layer(row, self.fabric) for row in plan["drain"]]
        self.read_groups()
        self.lay_out()
        self.read_lanes()
        self.numbers = self.read_numbers()
        self.waits = [{"lower": {}, "upper": {}} for _ in self.moments]
        # By moment and half: by channel, the lanes that packets of sources can go on into.
        self.entered = [{"lower": {}, "upper": {}} for _ in self.moments]
        self.standing = [{"lower": 0, "upper": 0} for _ in self.moments]
        _, self.afterwards = followed(plan, self.fabric)
        self.before = Ways(plan["old_ways"], self.fabric) if plan.get("old_ways") else None
        self.path, self.selected, self.allowed = {}, {}, {}
        self.answerer = self.find_answerer()
        self.discards_back = "turned-back-is-discarded" in plan["assumptions"]
        self.inject()

    def find_answerer(self):
        """The SM's port, where the plan does not assume that its answers stay within the halves."""
        if "answers-are-legal" in self.plan["assumptions"]:
            return None
        port = self.fabric.port(self.plan["sm"]["node"], self.plan["sm"]["port"])
        if any(port in sources for sources in self.sources):
            return port
        if any(m.injected["upper"] or any(m.ways.values()) for m in self.moments):
            raise Refused("the SM's answers cannot be followed, and the plan does not assume that they need not")
        return None

    def asked(self, number, half, owner, lid):
        """Every lane of the groups on which the owner of a LID may ask the SM, if the answers go to that LID."""
        if self.answerer is None or self.fabric.lid[owner] != lid:
            return 0
        ways = self.moments[number].ways[half]
        if ways is None:
            return 0xFFFF * EVERY
        paths = range(max((1 << self.fabric.lmc[self.answerer]) // 2, half == "lower"))
        layers = {each.layer(owner, self.answerer, path) for each in ways for path in paths}
        return self.groups_of(half, layers)

    def read_groups(self):
        self.groups = {"lower": [], "upper": []}
        for group in self.file.header["groups"]:
            halves = {"lower" if sl < 8 else "upper" for sl in group}
            if len(halves) != 1:
                raise Refused(f"{group} is no group of one half")
            self.groups[halves.pop()].append(group)
        reserved = self.plan["lanes"]["reserved"]
        levels = [sl for sl in range(16) if reserved is None or sl != reserved["sl"]]
        if sorted(sl for group in self.file.header["groups"] for sl in group) != levels:
            raise Refused("the groups do not part the service levels of data")
        if self.file.header["groups"] != self.groups["lower"] + self.groups["upper"]:
            raise Refused("the groups of the lower half must come first")
        for tables in {id(t): t for moment in self.moments for t in moment.tables}.values():
            for text in {text for rows in tables.mapping.values() for text in rows}:
                for group in self.file.header["groups"]:
                    if len({text[sl] for sl in group}) != 1:
                        raise Refused(f"a table tells the service levels {group} apart")

    def lay_out(self):
        fabric = self.fabric
        self.switches = [place for place in range(len(fabric.nodes)) if fabric.is_switch(place)]
        self.row = {place: row for row, place in enumerate(self.switches)}
        self.sides = [fabric.nodes[place]["num_ports"] + 1 for place in self.switches]
        self.sent, self.sources = [], [[] for _ in self.switches]
        # By channel: the row and port that it leads into; -1 for an end port.
        self.into = [None] * fabric.count
        for channel in range(fabric.count):
            peer = fabric.peer[channel]
            if peer is None:
                continue
            at = self.row.get(fabric.port_node[peer], -1)
            self.into[channel] = (at, fabric.port_num[peer])
            if fabric.is_switch(fabric.port_node[channel]):
                self.sent.append(channel)
            elif at >= 0:
                self.sources[at].append(channel)
        self.sent_set = set(self.sent)
        self.from_source = [[False] * sides for sides in self.sides]
        for row, sources in enumerate(self.sources):
            for channel in sources:
                self.from_source[row][self.into[channel][1]] = True
        self.carried = [0] * fabric.count
        for channel, peer in enumerate(fabric.peer):
            if peer is not None:
                self.carried[channel] = (1 << min(fabric.vls[channel], fabric.vls[peer], 15)) - 1

    def there(self, number, channel):
        return self.into[channel] is not None and (number == 0 or self.fabric.survives[channel])

    def outlet(self, number, row, output):
        """The channel that an output sends packets into; if there is none, what it does with them instead."""
        if output == 0:
            return OWN
        channel = self.fabric.first[self.switches[row]] + output
        if output >= self.sides[row] or self.into[channel] is None:
            return HOLE
        return channel if self.there(number, channel) else DEAD

    def packed(self, half, texts):
        """Lanes that one of some tables gives to each group of a half."""
        lanes = 0
        for place, group in enumerate(self.groups[half]):
            for text in texts:
                lanes |= 1 << int(text[group[0]], 16) + 16 * place
        return lanes

    def read_lanes(self):
        """By moment and half: the usual lanes, and by (row, input, output) those of the tables, old and new."""
        self.usual, self.cache = [], {}
        for told in self.file.header["moments"]:
            lanes, usual = told["lanes"], {}
            if len(lanes) != len(self.file.header["groups"]):
                raise Refused("a moment has not as many lanes as there are groups")
            for half, skip in (("lower", 0), ("upper", len(self.groups["lower"]))):
                masks = lanes[skip : skip + len(self.groups[half])]
                usual[half] = sum(mask << 16 * place for place, mask in enumerate(masks))
            self.usual.append(usual)

        # By moment and row: the tables, old and new, where all pairs of cabled ports have the same.
        self.alike, seen = [], {}
        for moment in self.moments:
            rows = []
            for row, place in enumerate(self.switches):
                old, new = (tables.mapping[place] for tables in moment.tables)
                key = (id(old), id(new))
                if key not in seen:
                    sides, first = self.sides[row], self.fabric.first[place]
                    ports = [side for side in range(1, sides) if self.into[first + side] is not None]
                    pairs = {(old[i * sides + o], new[i * sides + o]) for i in ports for o in ports}
                    seen[key] = pairs.pop() if len(pairs) == 1 else None
                rows.append(seen[key])
            self.alike.append(rows)
        # By moment: whether entries and tables are those of the moment before.
        self.same = [False]
        for earlier, later in zip(self.moments, self.moments[1:]):
            states = [(t.lfts, t.mapping) for m in (earlier, later) for t in m.tables]
            self.same.append(all(state == states[0] for state in states))

    def through(self, number, place, at, half):
        """Lanes from an (input, output) pair of a node, as tables lay them out."""
        old, new = (tables.mapping[place][at] for tables in self.moments[number].tables)
        return self.lanes_of(half, old, new)

    def lanes_of(self, half, old, new):
        key = (half, old, new)
        lanes = self.cache.get(key)
        if lanes is None:
            lanes = self.cache[key] = self.packed(half, (old, new))
        return lanes

    def read_numbers(self):
        numbers = []
        for _ in self.moments:
            tag = self.file.byte()
            if tag == 0 and numbers:
                numbers.append(numbers[-1])
            elif tag == 1:
                numbers.append([self.file.number() for _ in range(len(self.sent) * self.vls)])
            else:
                raise Refused("the numbers of a moment are damaged")
        return numbers

    def inject(self):
        """By moment and half: what each source can have in its channel."""
        self.injected, self.together, self.spreads, self.weights = [], [], {}, {}
        for number, moment in enumerate(self.moments):
            now = {"lower": {}, "upper": {}}
            for half, lanes in now.items():
                kept = 0 if moment.gone[half] else ~(moment.empty * EVERY)
                for channel in (channel for sources in self.sources for channel in sources):
                    if not self.there(number, channel):
                        continue
                    node, num = self.fabric.port_node[channel], self.fabric.port_num[channel]
                    sends = moment.injected[half] and self.admits(channel, number, half)
                    fresh = self.through(number, node, num, half) & ~(DISCARDS * EVERY) if sends else 0
                    if fresh & ~(self.carried[channel] * EVERY):
                        raise Refused(f"{self.fabric.name(channel)} sends on a lane that its link does not carry")
                    earlier = self.injected[-1][half].get(channel, 0) & kept if self.injected else 0
                    if fresh | earlier:
                        lanes[channel] = fresh | earlier
            self.injected.append(now)
            self.together.append({half: self.join(lanes) for half, lanes in now.items()})

    def join(self, injected):
        """By row: some source's input, the groups that any source has, and whether one must not lose packets."""
        rows = {}
        for channel, lanes in injected.items():
            row, input_ = self.into[channel]
            _, present, firm = rows.get(row, (0, 0, False))
            rows[row] = (input_, present | spread(lanes), firm or not self.fabric.stranded[channel])
        return rows

    def present(self, lanes):
        """`spread`, remembered."""
        known = self.spreads.get(lanes)
        if known is None:
            known = self.spreads[lanes] = spread(lanes)
        return known

    def check_owners(self):
        """Everybody can be sent to on a half that is sent on."""
        fabric = self.fabric
        for number, moment in enumerate(self.moments):
            for port in range(fabric.count):
                if fabric.peer[port] is None or fabric.is_switch(fabric.port_node[port]) or fabric.stranded[port]:
                    continue
                for half in HALVES:
                    owns = fabric.lid[port] and (half == "lower" or fabric.lmc[port] > 0)
                    takes_part = self.there(number, port) and self.admits(port, number, half)
                    if moment.injected[half] and takes_part and not owns:
                        raise Refused(f"{moment.name}: {fabric.name(port)} owns no LID of the {half} half")

    def check(self):
        self.check_owners()
        owners = {}
        for port in range(self.fabric.count):
            if self.fabric.peer[port] is None or self.fabric.is_switch(self.fabric.port_node[port]):
                continue
            size = (1 << self.fabric.lmc[port]) // 2
            for offset in range(1 << self.fabric.lmc[port]) if self.fabric.lid[port] else []:
                if self.fabric.lid[port] + offset in owners:
                    raise Refused(f"LID {self.fabric.lid[port] + offset} has two owners")
                owners[self.fabric.lid[port] + offset] = (port, "upper" if size and offset >= size else "lower")
                self.path[self.fabric.lid[port] + offset] = offset % size if size else offset
        pairs = lids = 0
        rows = [(lid, owner, half, False) for lid, (owner, half) in sorted(owners.items())]
        for lid, owner, half, _ in rows[:] if self.answerer is not None else []:
            # Answers go to base LIDs on levels of either half; those of the other half are classes of their own.
            if lid == self.fabric.lid[owner] and owner != self.answerer:
                rows.append((lid, owner, HALVES[half == "lower"], True))
        for lid, owner, half, answers in rows:
            if any(moment.injected[half] for moment in self.moments):
                self.answers = answers
                places = self.check_lid(lid, owner, half)
                lids += places > 0 and not answers
                pairs += places
        self.file.finish()
        dependencies = sum(self.check_half(half) for half in HALVES)
        self.check_aged(owners)
        self.check_afterwards(owners)
        return lids, pairs, dependencies

    def check_aged(self, owners):
        """Where all that was sent before is said to have left, every way was shorter than the rounds that were waited for."""
        for number, moment in enumerate(self.moments):
            if moment.aged is None:
                continue
            if self.discards_back:
                raise Refused(f"{moment.name}: it waits for what was sent before, and takes turned-back-is-discarded for granted")
            tables, longest = moment.tables[0], 0
            # To end ports that have died, too, packets are on their way.
            for lid in owners:
                outputs = [table[lid] if lid < len(table) else NO_ROUTE for table in (tables.lfts.get(p, b"") for p in self.switches)]
                longest = max(longest, self.longest(number, outputs))
            # A round for each switch, and one for what was on a cable, or latched by an older entry.
            if moment.aged < longest + 1:
                raise Refused(f"wave {moment.name}: what was sent before has left after {longest + 1} rounds, not {moment.aged}")

    def longest(self, number, outputs):
        """The switches of the longest way, the last included; ways that lead into a ring do not count."""
        hops = {}
        for start in range(len(outputs)):
            row, passed, rest = start, [], None
            while rest is None:
                if row in hops or row in passed:
                    rest = hops.get(row)
                    break
                passed.append(row)
                channel = self.outlet(number, row, outputs[row])
                if channel < 0 or self.into[channel][0] < 0:
                    rest = 0
                else:
                    row = self.into[channel][0]
            for row in reversed(passed):
                rest = None if rest is None else rest + 1
                hops[row] = rest
        return max((way for way in hops.values() if way is not None), default=0)

    def check_open(self, moment, ways, half, ports):
        """Each port has a path to every other, by a LID that there is."""
        for owner in ports if ways else []:
            lids = max((1 << self.fabric.lmc[owner]) // 2, half == "lower")
            for source in ports:
                if source != owner and not any(ways.layer(source, owner, path) is not None for path in range(lids)):
                    names = f"{self.fabric.name(source)} has no path to {self.fabric.name(owner)}"
                    raise Refused(f"{moment}: {names} on the {half} half")

    def check_afterwards(self, owners):
        """What the last wave leaves leads every source to every owner on the fabric after the change."""
        check_departure(self.plan, self.fabric)
        fabric, tables = self.fabric, self.moments[-1].tables[1]
        if self.plan["leaves_losses"]:
            same = self.plan.get("old_ways") == self.plan.get("new_ways")
            if self.plan["scheme"] != "ordered" or not same:
                raise Refused("afterwards: it leaves losses, which only scheme ordered may, and with the same paths for all")
        before = [port for port in {owner for owner, _ in owners.values()} if not fabric.come[port]]
        self.check_open("steady", self.before, self.plan["old"], before)

        def takes_part(port):
            return fabric.after[port] is not None and not fabric.stranded[port]

        ends = [port for port in {owner for owner, _ in owners.values()} if takes_part(port)]
        sent = set(HALVES) if self.plan["both_halves"] and ends else {tables.sending[port] for port in ends}
        for half in sorted(sent):
            self.check_open("afterwards", self.afterwards, half, ends)
        starts = [[at for at in sources if takes_part(at)] for sources in self.sources]
        for lid, (owner, half) in owners.items():
            if half not in sent or not takes_part(owner):
                continue
            seen = set()
            for row, sources in enumerate(starts):
                if not any(port != owner and self.may_send(port, owner, lid) for port in sources):
                    continue
                while row not in seen:
                    seen.add(row)
                    place = self.switches[row]
                    table = tables.lfts.get(place, b"")
                    output = table[lid] if lid < len(table) else NO_ROUTE
                    channel = fabric.first[place] + output
                    if not 0 < output < self.sides[row] or fabric.after[channel] is None:
                        if self.stays_lost(row, output, lid):
                            break
                        name = fabric.nodes[place]["description"]
                        raise Refused(f"afterwards: {name} discards packets to LID {lid}")
                    if self.into[channel][0] < 0:
                        if fabric.after[channel] != owner:
                            raise Refused(f"afterwards: packets to LID {lid} arrive at {fabric.name(fabric.after[channel])}")
                        break
                    row = self.into[channel][0]

    def stays_lost(self, row, output, lid):
        """Whether a row leads into what died as it did at the beginning, in a plan that leaves such rows to another change."""
        table = self.moments[0].tables[0].lfts.get(self.switches[row], b"")
        if not self.plan["leaves_losses"] or lid >= len(table) or table[lid] != output or not 0 < output < self.sides[row]:
            return False
        channel = self.fabric.first[self.switches[row]] + output
        return self.fabric.peer[channel] is not None and not self.fabric.survives[channel]

    def may_send(self, source, owner, lid):
        """Whether a LID is for a source, after the change."""
        return self.afterwards is None or self.afterwards.layer(source, owner, self.path[lid]) is not None

    def open_to(self, number, half, source, owner, lid):
        """Every lane of the groups on which a source may send to a LID; remembered."""
        ways = self.moments[number].ways[half]
        layers = frozenset(each.layer(source, owner, self.path[lid]) for each in ways)
        known = self.allowed.get((half, layers))
        if known is None:
            known = self.allowed[half, layers] = self.groups_of(half, layers)
        return known | (self.asked(number, half, owner, lid) if source == self.answerer else 0)

    def groups_of(self, half, layers):
        """Every lane of the groups of some layers."""
        sls = {layer + (8 if half == "upper" else 0) for layer in layers if layer is not None}
        return sum(0xFFFF << 16 * at for at, group in enumerate(self.groups[half]) if sls & set(group))

    def check_selected(self, number, lid, owner, half, places, outputs):
        """Whatever those sources can send is listed whose paths have this LID."""
        for row, sources in enumerate(self.sources):
            input_, present, firm = 0, 0, False
            for channel in sources:
                lanes = self.injected[number][half].get(channel, 0)
                lanes &= self.open_to(number, half, channel, owner, lid) if lanes and channel != owner else 0
                if not lanes:
                    continue
                input_, alone = self.into[channel][1], not self.fabric.stranded[channel]
                if not self.alike[number][row]:
                    self.step(number, lid, owner, half, places, row, input_, outputs[row], spread(lanes), alone)
                present, firm = present | spread(lanes), firm or alone
            if present and self.alike[number][row]:
                self.step(number, lid, owner, half, places, row, input_, outputs[row], present, firm)

    def lost_rows(self, number, half, owner, before, outputs):
        """By row: whether the first entries led into what died (or, in a plan that says so, nowhere), and those of the moment's
        beginning lead to no port."""
        losses = self.plan["begins_with_losses"]
        if number == 0 and not losses or self.answers or self.fabric.come[owner] or not self.moments[0].injected[half]:
            return before, None
        first = before is None and (losses or any(len(choices) > 1 for choices in outputs))
        if first:
            before = [choices[0] for choices in outputs]
        if before is None:
            return before, None
        died, arrives = self.reached(number, before)[0], self.reached(number, [choices[0] for choices in outputs])[1]
        lost = [row in died and row not in arrives for row in range(len(outputs))]
        if first:
            self.fair = {(row, output) for row, output in enumerate(before) if row not in died}
        self.fair.update((row, output) for row, choices in enumerate(outputs) if not lost[row] for output in choices)
        return before, lost

    def reached(self, number, outputs):
        """The rows whose entries lead into what died, and those from which they lead to a port."""
        died, arrives = set(), set()
        for start in range(len(outputs)):
            row, passed = start, []
            while row not in died and row not in arrives and row not in passed:
                passed.append(row)
                channel = self.outlet(number, row, outputs[row])
                if channel >= 0 and self.into[channel][0] >= 0:
                    row = self.into[channel][0]
                    continue
                if channel == OWN or channel >= 0:
                    arrives.update(passed)
                elif channel == DEAD or self.plan["begins_with_losses"]:
                    died.update(passed)
                break
            if row in died:
                died.update(passed)
            elif row in arrives:
                arrives.update(passed)
        return died, arrives

    def check_lid(self, lid, owner, half):
        places, choosing, pairs, last = {}, None, 0, None
        # (Row, output) by which packets may have left at some moment when their way was whole; unknown before any entry
        # changes.
        before, self.fair = None, None
        sizes = [len(group) for group in self.groups[half]]
        for number, moment in enumerate(self.moments):
            kept = 0 if moment.gone[half] else ~(moment.empty * EVERY)
            left = {c: lanes & kept for c, lanes in places.items() if lanes & kept and self.there(number, c)}
            if not self.same[number] or number == 1:
                outputs = self.outputs(moment, lid)
            before, self.lost = self.lost_rows(number, half, owner, before, outputs)
            tag = self.file.byte()
            if tag == 2:
                choosing = self.file.slice((len(self.switches) + 7) // 8)
            if tag == 1 and choosing is None or tag > 3:
                raise Refused(f"a row of LID {lid} is damaged")
            places = dict(left)
            if tag == 3:
                channel = -1
                for _ in range(self.file.number()):
                    distance = self.file.number()
                    if not distance and channel >= 0:
                        raise Refused(f"a row of LID {lid} lists channel {channel} twice")
                    channel = max(channel, 0) + distance
                    masks = [MASK(self.file.number(), f"a row of LID {lid}") for _ in sizes]
                    lanes = sum(mask << 16 * group for group, mask in enumerate(masks))
                    if channel not in self.sent_set or not self.there(number, channel):
                        raise Refused(f"a row of LID {lid} names channel {channel}, which is not there")
                    places[channel] = places.get(channel, 0) | lanes
            elif tag:
                self.choose(places, choosing, outputs, number, half, lid)
            # Nothing new where places, entries, tables and sources are those of a moment that was checked.
            state = (places, self.injected[number][half], self.admits(owner, number, half), moment.ways[half])
            if last != state or number == 1 or not self.same[number]:
                self.check_moment(number, lid, owner, half, places, outputs)
            else:
                for kind in (self.waits, self.entered):
                    held = kind[number - 1][half]
                    merged = kind[number][half]
                    if kind is self.entered:
                        for key, lanes in held.items():
                            merged[key] = merged.get(key, 0) | lanes
                    else:
                        for key in self.keys:
                            merged[key] = merged.get(key, 0) | held[key]
            last = state
            together = 0
            for lanes in places.values():
                together |= lanes
                pairs += self.weight(lanes, sizes, half)
            self.standing[number][half] |= any_lane(together)
            if any_lane(together) >> self.vls:
                raise Refused("lanes are in use that the certificate does not number")
        return pairs

    def weight(self, lanes, sizes, half):
        """How many (lane, service level) pairs these are; remembered."""
        known = self.weights.get((lanes, half))
        if known is None:
            known = sum((lanes >> 16 * group & 0xFFFF).bit_count() * size for group, size in enumerate(sizes))
            self.weights[lanes, half] = known
        return known

    def outputs(self, moment, lid):
        """By row: the ports that old and new entries name."""
        old, new = (tables.lfts for tables in moment.tables)
        outputs = []
        for place in self.switches:
            before = old.get(place, b"")
            after = new.get(place, b"")
            one = before[lid] if lid < len(before) else NO_ROUTE
            other = one if before is after else after[lid] if lid < len(after) else NO_ROUTE
            outputs.append((one,) if one == other else (one, other))
        return outputs

    def choose(self, places, choosing, outputs, number, half, lid):
        usual = self.usual[number][half]
        for row in (8 * i + bit for i, byte in enumerate(choosing) if byte for bit in range(8) if byte >> bit & 1):
            if row >= len(self.switches):
                raise Refused(f"a row of LID {lid} names a switch beyond the last")
            for output in outputs[row]:
                channel = self.outlet(number, row, output)
                if channel >= 0:
                    places[channel] = places.get(channel, 0) | usual

    def check_moment(self, number, lid, owner, half, places, outputs):
        fabric, waits = self.fabric, self.waits[number][half]
        self.keys = set()
        if self.answers:
            self.check_answers(number, lid, owner, half, places, outputs)
        elif self.moments[number].ways[half] is not None and self.admits(owner, number, half):
            self.check_selected(number, lid, owner, half, places, outputs)
        elif self.admits(owner, number, half):
            injected, at = self.injected[number][half], self.into[owner][0]
            for row, together in self.together[number][half].items():
                if row != at and self.alike[number][row]:
                    input_, present, firm = together
                    self.step(number, lid, owner, half, places, row, input_, outputs[row], present, firm)
                    continue
                for channel in self.sources[row]:
                    lanes = injected.get(channel, 0)
                    if lanes and channel != owner:
                        firm = not fabric.stranded[channel]
                        input_ = self.into[channel][1]
                        self.step(number, lid, owner, half, places, row, input_, outputs[row], spread(lanes), firm)
        for channel, lanes in places.items():
            row, input_ = self.into[channel]
            if row < 0 or not lanes:
                continue
            self.step(number, lid, owner, half, places, row, input_, outputs[row], self.present(lanes), True)
            for output in outputs[row]:
                if output < self.sides[row] and not (self.discards_back and output == input_):
                    key = (channel, output)
                    self.keys.add(key)
                    waits[key] = waits.get(key, 0) | lanes

    def check_answers(self, number, lid, owner, half, places, outputs):
        """Whatever the SM can answer is listed: from its port alone, on the levels of requests."""
        lanes = self.injected[number][half].get(self.answerer, 0) & self.asked(number, half, owner, lid)
        if lanes and self.admits(owner, number, half):
            row, input_ = self.into[self.answerer]
            self.step(number, lid, owner, half, places, row, input_, outputs[row], spread(lanes), False)

    def step(self, number, lid, owner, half, places, row, input_, outputs, present, firm):
        fabric, place, moment = self.fabric, self.switches[row], self.moments[number]
        for output in outputs:
            channel = self.outlet(number, row, output)
            if channel == OWN:
                raise Refused(f"{moment.name}: packets to LID {lid} arrive at a switch")
            omitted = fabric.stranded[owner] or number > 0 and not fabric.survives[owner] or self.answers
            if channel < 0:
                # What was sent before the change may be lost where something died, if nothing else led on.
                begun = number > 0 or self.plan["begins_with_losses"]
                sent = begun and self.moments[0].injected[half] and not fabric.come[owner]
                if firm and not omitted and not (sent and (self.lost[row] if self.lost else channel == DEAD)):
                    raise Refused(f"{moment.name}: {fabric.nodes[place]['description']} discards packets to LID {lid}")
                continue
            onward = self.into[channel][0]
            if self.discards_back and onward >= 0 and output == input_:
                # Discarded. The end of the channel back is the port by which the packets were sent.
                sent = number > 0 and self.moments[0].injected[half] and not fabric.come[owner]
                fair = self.fair is None or (onward, self.into[channel][1]) in self.fair
                if not omitted and not (sent and not fair):
                    name = fabric.nodes[place]["description"]
                    raise Refused(f"{moment.name}: {name} discards packets to LID {lid}, which are to turn back")
                continue
            if self.lost and onward >= 0 and self.lost[onward] and not self.lost[row] and not omitted:
                name = fabric.nodes[place]["description"]
                raise Refused(f"{moment.name}: {name} leads packets to LID {lid} from a whole way to one that died")
            if onward < 0 and fabric.peer[channel] != owner:
                raise Refused(f"{moment.name}: packets to LID {lid} arrive at {fabric.name(fabric.peer[channel])}")
            alike = self.alike[number][row]
            if alike:
                lanes = self.lanes_of(half, *alike) & present
            else:
                lanes = self.through(number, place, input_ * self.sides[row] + output, half) & present
            if lanes & DISCARDS * EVERY:
                raise Refused(f"{moment.name}: {fabric.nodes[place]['description']} sends LID {lid} to VL 15")
            if lanes & ~(self.carried[channel] * EVERY):
                raise Refused(f"{moment.name}: {fabric.name(channel)} does not carry a lane that LID {lid} is sent on")
            if lanes & ~places.get(channel, 0):
                raise Refused(f"{moment.name}: packets to LID {lid} can pass to {fabric.name(channel)}, which is not listed")
            if self.from_source[row][input_]:
                entered = self.entered[number][half]
                entered[channel] = entered.get(channel, 0) | lanes

    def check_half(self, half):
        place = {channel: index for index, channel in enumerate(self.sent)}
        waiting, total, entered = {}, 0, {}
        for number, moment in enumerate(self.moments):
            if moment.gone[half]:
                waiting, entered = {}, {}
            now, kept = self.entered[number][half], ~(moment.empty * EVERY)
            entered = {
                channel: entered.get(channel, 0) & kept | now.get(channel, 0)
                for channel in entered.keys() | now.keys()
                if self.there(number, channel)
            }
            waiting = {
                key: lanes & ~moment.empty
                for key, lanes in waiting.items()
                if lanes & ~moment.empty
                and not moment.empty >> key[1] & 1
                and self.there(number, key[0])
                and self.there(number, key[2])
            }
            for (channel, output), lanes in self.waits[number][half].items():
                row, input_ = self.into[channel]
                target = self.fabric.first[self.switches[row]] + output
                if not self.there(number, target):
                    continue
                to = self.through(number, self.switches[row], input_ * self.sides[row] + output, half)
                for group in range(len(self.groups[half])):
                    for vl in each(lanes >> 16 * group & 0xFFFF):
                        key = (channel, vl, target)
                        mask = waiting.get(key, 0) | to >> 16 * group & 0xFFFF
                        if mask:
                            waiting[key] = mask
            numbers = self.numbers[number]
            for (channel, vl, target), lanes in waiting.items():
                low = numbers[place[channel] * self.vls + vl]
                for next_vl in each(lanes):
                    total += 1
                    if numbers[place[target] * self.vls + next_vl] <= low:
                        names = f"{self.fabric.name(channel)} VL {vl} can wait for {self.fabric.name(target)} VL {next_vl}"
                        raise Refused(f"{moment.name}: {names}, and numbers do not rise")
            if moment.drains and moment.drains[0] == half:
                self.check_drained(number, half, moment.drains[1], waiting, entered)
        return total

    def check_drained(self, number, half, drained, waiting, entered):
        name = self.moments[number].name
        standing = self.standing[number][half]
        for lanes in self.injected[number][half].values():
            standing |= any_lane(lanes)
        for (_, vl, _), lanes in waiting.items():
            standing |= lanes | 1 << vl
        if standing & ~drained:
            raise Refused(f"{name}: packets of the {half} half can be on VLs {each(standing & ~drained)}, not drained")
        # By channel, lane and output: the lanes that packets go on into.
        ways = {}
        for (channel, vl, target), lanes in waiting.items():
            key = (channel, vl, self.fabric.port_num[target])
            ways[key] = ways.get(key, 0) | lanes
        for channel, injected in self.injected[number][half].items():
            row, input_ = self.into[channel]
            first = self.fabric.first[self.switches[row]]
            for output in range(1, self.sides[row]):
                to = entered.get(first + output, 0) if output != input_ else 0
                for group in range(len(self.groups[half])) if to else []:
                    going = to >> 16 * group & 0xFFFF
                    for vl in each(injected >> 16 * group & 0xFFFF) if going else []:
                        ways[channel, vl, output] = ways.get((channel, vl, output), 0) | going
        for (channel, vl, output), to in ways.items():
            row, input_ = self.into[channel]
            layer = next((layer for layer in self.layers if layer.lanes >> vl & 1), None)
            if layer is None or to & ~layer.lanes or not layer.has(self.switches[row], input_, output):
                raise Refused(f"{name}: the drain does not know the way from {self.fabric.name(channel)} to port {output}")


def judge(raw, certificate):
    """Whether a certificate is accepted for a plan, both as bytes of their files, and what is to be said."""
    try:
        plan = PLAN(parsed(raw.decode("utf-8")), "the plan")
        lids, pairs, dependencies = Checker(plan, raw, Certificate(certificate)).check()
    except Refused as refused:
        return False, f"NOT accepted: {refused}"
    except (ValueError, IndexError, KeyError, TypeError, RecursionError, zlib.error) as damage:
        return False, f"NOT accepted: plan or certificate is damaged: {damage!r}"
    closed = f"{pairs} places (lane, class) of {lids} LIDs are closed, {dependencies} dependencies rise"
    return True, f"accepted: {closed}\nit rests on: {', '.join(plan['assumptions'])}"


def main(arguments):
    if len(arguments) != 2:
        print(f"usage: {sys.argv[0]} PLAN CERTIFICATE", file=sys.stderr)
        return 2
    try:
        raw, bytes_ = (open(name, "rb").read() for name in arguments)
    except OSError as error:
        print(f"cannot read: {error}", file=sys.stderr)
        return 2
    accepted, said = judge(raw, bytes_)
    print(said)
    return 0 if accepted else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
