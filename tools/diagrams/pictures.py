# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the ten pictures show; each is a function, and named as its file is."""

from __future__ import annotations

from collections.abc import Callable

from diagrams.drawing import WIDTH, Drawing

MIDDLE = WIDTH // 2


def slot_path() -> Drawing:
    """What lies between a slot and memory."""
    d = Drawing("What lies between a slot's module and memory, and who may stop what.", 524)
    d.frame(12, 10, 416, 96, "the slot: partially reconfigured, taken to be hostile")
    d.box(120, 36, 200, 56, "module\nany burst, any address", "tenant")
    steps = (
        ("decoupler", "cuts everything while a slot is swapped"),
        ("clock crossing", "FIFOs; both sides are reset together"),
        ("firewall", "windows by context; ends what hangs"),
        ("regulator", "bytes a second, where a slot is bounded"),
        ("monitor", "counts, by context; changes nothing"),
        ("burst buffer and split", "whole bursts only, cut to the port's"),
    )
    d.frame(12, 118, 416, 316, "the shell: one path a slot")
    for at, (name, what) in enumerate(steps):
        y = 144 + at * 48
        d.box(28, y, 384, 36, f"{name}\n{what}", "shell")
        d.arrow((MIDDLE, y - (51 if at == 0 else 11)), (MIDDLE, y - 1))
    d.box(28, 452, 230, 52, "memory crossbar\nturns by cost; no slot starves", "shell")
    d.arrow((143, 421), (143, 451))
    d.box(306, 452, 106, 52, "DRAM\narena", "store")
    d.arrow((258, 478), (305, 478))
    return d


def swap() -> Drawing:
    """A slot's module is replaced."""
    d = Drawing("The steps that replace a slot's module, and what each is for.", 560)
    steps = (
        ("check", "image, slot, shell, signature, hash", "plain"),
        ("fence", "the CPU is answered by the shell", "shell"),
        ("stop, drain", "half a burst would block memory", "shell"),
        ("decouple", "nothing of the slot reaches the shell", "danger"),
        ("reset", "slot and path together", "danger"),
        ("load", "the port takes the bitstream", "danger"),
        ("clock, release reset", "the paths are still closed", "danger"),
        ("identify", "magic, build hash, register map", "danger"),
        ("clear windows", "none is inherited", "shell"),
        ("open memory, unfence", "a launch grants the windows", "store"),
    )
    for at, (name, why, kind) in enumerate(steps):
        y = 12 + at * 48
        d.box(12, y, 296, 38, f"{name}\n{why}", kind)
        if at:
            d.arrow((160, y - 10), (160, y - 1))
    d.text(320, 36, "a refusal here", soft=False)
    d.text(320, 52, "costs nothing")
    d.arrow((308, 270), (364, 270), (364, 498), label="")
    d.arrow((308, 366), (364, 366), (364, 498))
    d.text(372, 300, "port error")
    d.text(372, 400, "wrong")
    d.text(372, 416, "module")
    d.box(252, 500, 176, 46, "slot closed\nload it again", "danger")
    d.text(12, 520, "red: the slot is cut off")
    d.text(12, 538, "green: it serves again")
    return d


def three_decisions() -> Drawing:
    """Place, price, dispatch."""
    d = Drawing("Three decisions on three time scales: place, price and dispatch.", 424)
    d.box(120, 12, 200, 40, "jobs of tenants", "tenant")
    d.arrow((MIDDLE, 52), (MIDDLE, 77))
    d.box(12, 78, 416, 74, "place: which board of the pool\nseconds; from estimates of what each job needs", "plain")
    for x in (120, 320):
        d.arrow((x, 152), (x, 189))
    d.text(24, 176, "kernels")
    d.text(416, 176, "applications", anchor="end")
    d.box(12, 190, 202, 92, "price: cores of clusters\neach 50 ms\nby budgets that follow\nfrom weights", "shell")
    d.box(226, 190, 202, 92, "dispatch: which slot\nmicroseconds\nby remaining work,\nloads and fairness", "shell")
    d.arrow((113, 282), (113, 319))
    d.arrow((327, 282), (327, 319))
    for at in range(4):
        d.box(22 + at * 47, 320, 42, 40, f"core{at}", "tenant", small=True)
    for at in range(3):
        d.box(238 + at * 62, 320, 56, 40, f"slot {at}", "tenant", small=True)
    d.text(12, 384, "A policy is a pure function: a frozen view in, decisions out.")
    d.text(12, 402, "Live runs, forecasts, replays and studies call the same object.")
    return d


def pool() -> Drawing:
    """A pool of boards."""
    d = Drawing("A pool: heads that keep nothing of their own, a message store, boards.", 420)
    d.box(140, 12, 160, 38, "tenants, HTTP", "tenant")
    for x in (110, 330):
        d.arrow((MIDDLE, 50), (x, 87))
    d.box(22, 88, 176, 56, "head\nleads: it places jobs", "shell")
    d.box(242, 88, 176, 56, "head\nanswers; may lead next", "shell")
    for x in (110, 330):
        d.arrow((x, 144), (x, 187), both=True)
    d.box(22, 188, 396, 62, "JetStream\njobs, queues, outputs: every record from its revision", "store")
    for x in (80, 220, 360):
        d.arrow((x, 250), (x, 293), both=True)
    d.text(90, 276, "TLS, a key a board")
    for at, name in enumerate(("board 1", "board 2", "board 3")):
        d.box(22 + at * 140, 294, 116, 56, f"{name}\neddy serve", "plain")
    d.cross(408, 304)
    d.text(12, 376, "A board that dies: its parts are placed again, by a larger token.", soft=False)
    d.text(12, 394, "One that comes back late holds the smaller one: it is refused,")
    d.text(12, 410, "so no result counts twice.")
    return d


def kernel() -> Drawing:
    """The way of a kernel."""
    d = Drawing("The way of a kernel: from OpenCL C to arrays that come back.", 520)
    d.box(12, 12, 180, 56, "client\nsource, arrays, range", "tenant")
    d.box(248, 12, 180, 56, "sandbox\nclang, confined", "plain")
    d.arrow((192, 34), (247, 34))
    d.box(248, 100, 180, 56, "program\nkept by its source", "store")
    d.arrow((338, 68), (338, 99))
    d.box(12, 100, 180, 56, "blobs\narrays by their hash", "store")
    d.arrow((102, 68), (102, 99))
    d.box(60, 188, 320, 56, "committed: the client has its 202\na job in the pool of clusters", "store")
    d.arrow((102, 156), (102, 187))
    d.arrow((338, 156), (338, 187))
    d.box(60, 276, 320, 56, "bound to a cluster, memory filled\nprogram, arrays, stacks in one region", "shell")
    d.arrow((MIDDLE, 244), (MIDDLE, 275))
    d.arrow((MIDDLE, 332), (MIDDLE, 363))
    d.frame(12, 364, 416, 82, "slices of work-groups, on cores as its tenant's turn comes")
    for at, name in enumerate(("slice 0", "another's", "slice 1", "slice 2")):
        d.box(24 + at * 99, 390, 92, 42, name, "plain" if at == 1 else "tenant")
    d.arrow((MIDDLE, 446), (MIDDLE, 467))
    d.box(60, 468, 320, 40, "arrays it may write, printf, counters", "store")
    return d


def session() -> Drawing:
    """A session."""
    d = Drawing("A session: buffers stay on the board, and commands stream to them.", 424)
    d.box(12, 12, 130, 190, "program\nOpenCL or Python", "tenant")
    commands = ("write a", "launch f(a, b)", "launch g(b)", "read b")
    for at, name in enumerate(commands):
        y = 20 + at * 46
        d.box(186, y, 130, 34, name, "plain")
        d.arrow((142, y + 17), (185, y + 17))
    for at in range(len(commands)):
        d.arrow((316, 37 + at * 46), (410, 37 + at * 46), (410, 222))
    d.text(324, 20, "begun in order,")
    d.text(324, 60, "or as they")
    d.text(324, 76, "depend")
    d.frame(12, 224, 416, 108, "one region of the board's memory: the session's")
    for at, (name, kind) in enumerate((("program", "shell"), ("a", "store"), ("b", "store"), ("free", "plain"))):
        d.box(26 + at * 100, 252, 88, 40, name, kind)
    d.text(26, 318, "Launches get cores by the tenant's share, as any kernel does.")
    d.arrow((MIDDLE, 332), (MIDDLE, 363), both=True, label="idle, and others need room")
    d.box(120, 364, 200, 46, "spilled to the disk\nback at the next command", "plain")
    return d


def lease() -> Drawing:
    """A lease."""
    d = Drawing("A lease: a person drives one slot, and jobs run in the others.", 486)
    d.box(12, 12, 196, 74, "notebook elsewhere\nstock PYNQ calls\nkey and token, TLS", "tenant")
    d.box(232, 12, 196, 74, "jobs of others\nnever in a leased slot\ngo on meanwhile", "plain")
    d.arrow((110, 86), (110, 131))
    d.text(118, 104, "register offsets,")
    d.text(118, 120, "buffers, interrupts")
    d.arrow((330, 86), (330, 131))
    d.box(12, 132, 416, 44, "eddy serve: queue, quota, account, calendar", "shell")
    d.arrow((110, 176), (110, 209))
    d.arrow((330, 176), (330, 209))
    d.box(12, 210, 196, 58, "slot 1, held\nregisters by its holder", "tenant")
    d.box(232, 210, 196, 58, "slots 0 and 2\nitems of jobs", "plain")
    d.arrow((110, 268), (110, 299))
    d.arrow((330, 268), (330, 299))
    d.box(12, 300, 196, 58, "firewall\none window", "shell")
    d.box(232, 300, 196, 58, "firewall\nwindows of the items", "shell")
    d.arrow((110, 358), (110, 389))
    d.arrow((330, 358), (330, 389))
    d.box(12, 390, 196, 40, "memory of the lease", "store")
    d.box(232, 390, 196, 40, "memory of jobs", "store")
    d.text(12, 452, "Released, over, silent or noticed: the slot is closed, and loaded")
    d.text(12, 470, "again for the next. Where the server dies, the board closes it.")
    return d


def windows() -> Drawing:
    """Windows of memory."""
    d = Drawing("Windows: a burst passes where its context was granted memory, and nowhere else.", 416)
    d.box(12, 40, 128, 50, "slot 0\njob of ada", "tenant")
    d.box(12, 150, 128, 50, "slot 1\njob of bob", "tenant")
    d.box(12, 260, 128, 50, "slot 2\nhostile module", "danger")
    d.text(196, 24, "firewalls", anchor="middle", soft=False)
    for y in (40, 150, 260):
        d.box(168, y, 56, 50, "?", "shell")
        d.arrow((140, y + 25), (167, y + 25))
    ranges = (
        ("ada's input: read", "store", 40),
        ("ada's output: read, write", "store", 90),
        ("bob's input: read", "store", 150),
        ("bob's output: read, write", "store", 200),
        ("mallory's own buffer", "store", 260),
        ("nobody's, zeroed first", "plain", 310),
    )
    d.text(342, 24, "memory", anchor="middle", soft=False)
    for name, kind, y in ranges:
        d.box(256, y, 172, 42, name, kind, small=True)
    d.arrow((224, 56), (255, 56))
    d.arrow((224, 76), (240, 76), (240, 110), (255, 110))
    d.arrow((224, 166), (255, 166))
    d.arrow((224, 186), (240, 186), (240, 220), (255, 220))
    d.arrow((224, 280), (255, 280))
    d.arrow((196, 260), (196, 215))
    d.cross(196, 208)
    d.text(12, 338, "outside of its windows:")
    d.text(12, 354, "refused, its job ends with")
    d.text(12, 370, "the cause and the address")
    d.text(12, 400, "A launch opens windows of its buffers; its end closes them.")
    return d


def market_tick() -> Drawing:
    """An epoch of the market."""
    d = Drawing("A tick of the market: counters in, prices and cores out, every 50 ms.", 430)
    d.box(12, 12, 196, 60, "counters of the cores\nby tenant, in one cycle", "shell")
    d.box(232, 12, 196, 60, "weights\nbudgets follow from them", "tenant")
    d.arrow((110, 72), (110, 101))
    d.box(12, 102, 196, 60, "F and f of each tenant\nwhat more cores would give", "plain")
    d.arrow((330, 72), (330, 193))
    d.arrow((110, 162), (110, 193))
    d.box(
        12,
        194,
        416,
        60,
        "prices at which all cores are sold, none twice\nevery tenant buys what is best for it",
        "shell",
    )
    d.arrow((MIDDLE, 254), (MIDDLE, 283), label="shares, in cores")
    d.box(
        12, 284, 416, 60, "turns: who is furthest behind gets the free core\na core is cleared between tenants", "shell"
    )
    d.arrow((MIDDLE, 344), (MIDDLE, 369), label="slices run")
    for at, who in enumerate(("ada", "ada", "bob", "ada", "kim", "bob")):
        d.box(12 + at * 70, 370, 64, 36, who, "tenant" if who == "ada" else "store" if who == "bob" else "plain")
    d.arrow((428, 388), (434, 388), (434, 6), (110, 6), (110, 11), dashed=True)
    d.text(12, 424, "dashed: the next epoch begins with what was counted")
    return d


def crash() -> Drawing:
    """Recovery after a crash."""
    d = Drawing("A step is committed before its commands, so a crash loses no job.", 470)
    steps = (
        ("1. wait", "events are read, and stay on the board", "plain"),
        ("2. step the machine", "pure: inputs to decisions", "plain"),
        ("3. commit", "jobs, slots, last event: one transaction", "store"),
        ("4. commands", "launch, load, stop", "shell"),
        ("5. acknowledge", "the board forgets the events", "plain"),
    )
    for at, (name, what, kind) in enumerate(steps):
        y = 12 + at * 62
        d.box(12, y, 290, 44, f"{name}\n{what}", kind)
        if at:
            d.arrow((157, y - 18), (157, y - 1))
    d.text(314, 66, "killed here:", soft=False)
    d.text(314, 82, "nothing was begun;")
    d.text(314, 98, "events come again")
    d.text(314, 190, "killed here:", soft=False)
    d.text(314, 206, "the board is asked")
    d.text(314, 222, "what it runs; what")
    d.text(314, 238, "is missing is sent")
    d.arrow((310, 64), (160, 64))
    d.arrow((310, 188), (160, 188))
    d.box(12, 338, 416, 56, "start again\nstore and board are compared, slot by slot, buffer by buffer", "store")
    d.arrow((157, 304), (157, 337), dashed=True)
    d.text(12, 420, "Items ran on meanwhile; finished ones are not run again.")
    d.text(12, 438, "boardd killed: each slot is closed at its start, loaded again.")
    d.text(12, 456, "Power lost: what was acknowledged to a client is on the disk.")
    return d


PICTURES: dict[str, Callable[[], Drawing]] = {
    "slot-path": slot_path,
    "swap": swap,
    "three-decisions": three_decisions,
    "pool-of-boards": pool,
    "way-of-a-kernel": kernel,
    "session": session,
    "lease": lease,
    "windows": windows,
    "market-tick": market_tick,
    "crash-recovery": crash,
}
"""By the name of the file."""
