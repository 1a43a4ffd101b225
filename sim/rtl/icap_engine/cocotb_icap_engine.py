# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Images arrive word by word, whatever memory does; what goes wrong is said, ends, and leaves a port that works."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from eddy.board.images.compressed_images import compress, expand
from eddy.board.port.profile import load_profile
from eddy.core.errors import ImageRefused
from icap_bench import BASE, PORT_CYCLES, Bench, Flow, bench, image, packed, regs

FLOWS = [Flow(), Flow(take=0.3, give=0.4, latency=3), Flow(latency=110), Flow(give=0.15, latency=1)]
Cause = regs.Cause
ORDER, RUN = 1, 2
"""States of the engine: a load is ordered of the port's side, and runs."""


@cocotb.test()
@cocotb.parametrize(number=range(len(FLOWS)))
async def images_arrive_as_they_are(dut: Any, number: int) -> None:
    """Plain and compressed, of every length modulo a burst, one after the other."""
    it = await bench(dut, 300 + number)
    it.memory.flow = FLOWS[number]
    for length in (6, 7, 31, 32, 33, 63, 64, 65, it.rng.randint(200, 700)):
        words = image(it.rng, length)
        for compressed in (False, True):
            source = compress(packed(words)) if compressed else packed(words)
            assert await it.load(source, words, compressed=compressed) is Cause.NONE
            assert it.port.words == words
            assert (await it.get(regs.LEFT))["words"] == 0
            assert sum(beats for _, beats in it.memory.asked) == (len(source) // 4 + 1) // 2
    assert it.memory.most_owed <= 64
    assert it.port.aborts == 0


@cocotb.test()
async def a_word_goes_in_a_cycle(dut: Any) -> None:
    """Beside what memory takes for the first word: the rate that the simulated board and the model board assume."""
    it = await bench(dut, 310)
    await it.put(regs.REGULATOR_RATE, rate=0x80000, enable=1)
    words = [*image(it.rng, 500), *[it.rng.getrandbits(31) for _ in range(1500)]]
    words = [words[0], words[1], *words[500:], *words[2:500]]
    for compressed in (False, True):
        source = compress(packed(words)) if compressed else packed(words)
        begin = it.cycle
        assert await it.load(source, words, compressed=compressed) is Cause.NONE
        heads = 0 if not compressed else len(source) // 4
        # A word a cycle of the port's, a beat of two a cycle of memory's at most.
        assert it.cycle - begin <= len(words) / min(PORT_CYCLES, 2) + 20 + 80 + 30 / PORT_CYCLES + heads // 10


@cocotb.test()
async def the_profiles_have_its_rate(dut: Any) -> None:
    """Of two loads the longer takes as many cycles of the port's clock more as it has words more."""
    it = await bench(dut, 312)
    await it.put(regs.REGULATOR_RATE, rate=0x80000, enable=1)
    cycles: list[int] = []
    # The regulator's bucket is empty out of reset; the first load fills it.
    lengths = (100, 1000, 3000)
    for length in lengths:
        words = image(it.rng, length)
        begin = it.cycle
        assert await it.load(packed(words), words) is Cause.NONE
        cycles.append(it.cycle - begin)
    rate = (lengths[2] - lengths[1]) / (cycles[2] - cycles[1]) / min(PORT_CYCLES, 2)
    for name in ("kv260_icap", "tiny", "hsm"):
        configuration = load_profile(name).configuration
        assert abs(rate * configuration.engine_hz * 4 / configuration.bytes_per_s - 1) < 0.005


@cocotb.test()
async def the_regulator_bounds_what_is_read(dut: Any) -> None:
    """At a quarter of a word a cycle a load takes four times as long; compressed, less is read."""
    it = await bench(dut, 311)
    await it.put(regs.REGULATOR_RATE, rate=0x10000, enable=1)
    words = image(it.rng, 1400)
    for compressed in (False, True):
        source = compress(packed(words)) if compressed else packed(words)
        # The bucket holds 2048 bytes when a load begins.
        for _ in range(2048):
            await it.step()
        begin = it.cycle
        assert await it.load(source, words, compressed=compressed) is Cause.NONE
        at_the_port = len(words) / PORT_CYCLES
        assert it.cycle - begin >= max(at_the_port, len(source) - 2048)
        assert it.cycle - begin <= at_the_port + len(source) + 100 + 30 / PORT_CYCLES


@cocotb.test()
async def what_is_malformed_ends_and_writes_no_word_too_many(dut: Any) -> None:
    """Damaged sources of all kinds, judged by the model of the form."""
    it = await bench(dut, 320)
    seen = {True: 0, False: 0}
    for _ in range(120):
        words = image(it.rng, it.rng.randint(6, 80))
        source = bytearray(compress(packed(words)))
        damage(it.rng, source)
        try:
            wanted: bytes | None = expand(bytes(source), len(words))
        except ImageRefused:
            wanted = None
        cause = await it.load(bytes(source), words, compressed=True)
        seen[wanted is None] += 1
        if wanted is None:
            assert cause is Cause.MALFORMED
        else:
            assert cause in {Cause.NONE, Cause.WRONG_CRC, Cause.NOT_DONE}
            assert packed(it.port.words)[: len(wanted)] == wanted
        # A dummy word belongs to an abort sequence.
        assert len(it.port.words) <= len(words) + (cause is not Cause.NONE)
        await it.quiet()
        it.port.clear_faults()
    assert min(seen.values()) > 15


def damage(rng: random.Random, source: bytearray) -> None:
    what = rng.randrange(4)
    if what == 0:
        at = 4 * rng.randrange(len(source) // 4)
        source[at : at + 4] = rng.getrandbits(32).to_bytes(4, "little")
    elif what == 1 and len(source) > 4:
        del source[-4 * rng.randint(1, len(source) // 4 - 1) :]
    elif what == 2:
        source += rng.choice((0x80000001, 0x00000001, 0xC0000000, 0)).to_bytes(4, "little")
    else:
        source[rng.randrange(len(source))] ^= 1 << rng.randrange(8)


@cocotb.test()
async def an_image_of_another_length_is_malformed(dut: Any) -> None:
    it = await bench(dut, 321)
    words = image(it.rng, 40)
    for source in (packed(words[:-1]), packed([*words, 1]), packed([*words, *words])):
        assert await it.load(source, words) is Cause.MALFORMED
        assert len(it.port.words) <= len(words) + 1
        await it.quiet()
        it.port.clear_faults()


async def works_again(it: Bench) -> None:
    """After a failure: memory as new, the port's lines as they were left, and a load that goes well."""
    await it.quiet()
    it.memory.error = None
    it.port.clear_faults()
    words, aborts = image(it.rng, 70), it.port.aborts
    assert await it.load(compress(packed(words)), words, compressed=True) is Cause.NONE
    # A load behind one that was cut off begins with an abort sequence, which begins with a word of ones.
    assert it.port.words == [0xFFFFFFFF] * (it.port.aborts - aborts) + words


@cocotb.test()
async def each_failure_has_its_cause(dut: Any) -> None:
    it = await bench(dut, 330)
    words = image(it.rng, 300)
    source = packed(words)

    it.port.refuses = 90
    assert await it.load(source, words) is Cause.PORT_ERROR
    assert len(it.port.words) < 110
    assert it.port.aborts == 1
    assert (await it.get(regs.STATUS))["said"] == 0b0100, "an error, synchronised, in an abort"
    await works_again(it)

    it.memory.error = 40
    assert await it.load(source, words) is Cause.MEMORY_ERROR
    assert it.port.words[:-1] == words[: len(it.port.words) - 1], "a dummy word belongs to the abort sequence"
    assert len(it.port.words) <= 81, "nothing of what came with an error was written"
    await works_again(it)

    it.memory.silent = 50
    assert await it.load(source, words) is Cause.MEMORY_TIMEOUT
    assert len(it.port.words) == 101
    assert (await it.get(regs.STATUS))["memory_idle"] == 0
    await it.put(regs.CONTROL, start=1)
    assert await it.ended() is Cause.BAD_REQUEST, "memory still owes beats of the load before"
    await works_again(it)

    it.port.avail = False
    assert await it.load(source, words) is Cause.PORT_TIMEOUT
    assert not it.port.words
    await works_again(it)

    aborts = it.port.aborts
    assert await it.load(source, words, crc=1) is Cause.WRONG_CRC
    assert it.port.words == words
    assert it.port.aborts == aborts, "the device had ended the load"
    await works_again(it)

    it.port.ends = False
    assert await it.load(source, words) is Cause.NOT_DONE
    await works_again(it)
    it.port.deaf = True
    assert await it.load(source, words) is Cause.NOT_DONE
    await works_again(it)

    for wrong in ("SOURCE_WORDS", "IMAGE_WORDS"):
        await it.put(getattr(regs, wrong), words=0)
        await it.put(regs.CONTROL, start=1)
        assert await it.ended() is Cause.BAD_REQUEST
        await works_again(it)


@cocotb.test()
async def a_port_that_is_taken_away_ends_the_load(dut: Any) -> None:
    """AVAIL falls at any moment: before, between and behind the words; the model accepts what is under way, no more."""
    it = await bench(dut, 331)
    words = image(it.rng, 60)
    for after in range(30, 110, 3):
        await it.ask(packed(words), words)
        for _ in range(after):
            await it.step()
        it.port.avail = False
        assert await it.ended() in {Cause.PORT_LOST, Cause.PORT_TIMEOUT, Cause.NONE}
        await works_again(it)


@cocotb.test()
async def it_waits_for_the_port(dut: Any) -> None:
    it = await bench(dut, 332)
    words = image(it.rng, 50)
    it.port.avail = False
    await it.ask(packed(words), words)
    for cycle in range(300):
        # A load of somebody else's fails meanwhile.
        it.port.prerror = it.port.prerror or cycle == 250
        await it.step()
    assert not it.port.words
    it.port.avail = True
    assert await it.ended() is Cause.NONE
    assert it.port.words == words


@cocotb.test()
async def an_abort_ends_a_load_in_every_state(dut: Any) -> None:
    """An abort in each cycle of a load, from the one after the start to behind its end."""
    it = await bench(dut, 340)
    it.memory.flow = Flow(take=0.8, give=0.6, latency=4)
    words = image(it.rng, 24)
    source = compress(packed(words))
    causes = set()
    for after in range(0, 80 if PORT_CYCLES >= 1 else 200, 1 if PORT_CYCLES >= 1 else 3):
        await it.ask(source, words, compressed=True)
        for _ in range(after):
            await it.step()
        await it.put(regs.CONTROL, abort=1)
        cause = await it.ended()
        causes.add(cause)
        assert len(it.port.words) <= len(words) + 1
        if after % 4 == 0 or cause is Cause.NONE:
            await works_again(it)
        else:
            await it.quiet()
            it.port.clear_faults()
    assert causes == {Cause.ABORTED, Cause.NONE}
    assert it.port.aborts > 10


@cocotb.test()
async def an_abort_is_heard_from_the_start_on(dut: Any) -> None:
    """One that comes long before the image is through ends the load, whichever state it meets."""
    it = await bench(dut, 341)
    words = image(it.rng, 600)
    met = set()
    for after in range(12):
        await it.ask(packed(words), words)
        for _ in range(after):
            await it.step()
        # What the engine is in as the abort arrives, a cycle after its write.
        dut.sel_i.value, dut.write_i.value, dut.addr_i.value = 1, 1, regs.CONTROL.offset
        dut.wdata_i.value, dut.wstrb_i.value = regs.CONTROL.encode(abort=1), 15
        await it.step()
        dut.sel_i.value = 0
        met.add(int(dut.state_q.value))
        assert await it.ended() is Cause.ABORTED, f"aborted {after} cycles after the start"
        await works_again(it)
    assert met == {ORDER, RUN}


@cocotb.test()
async def nothing_outside_the_window_is_read(dut: Any) -> None:
    it = await bench(dut, 350)
    words = image(it.rng, 3000)
    page = BASE >> 12
    for first, last in (
        (page, page + 2),
        (page, page + 1),
        (page, page),
        (page + 1, page + 2),
        (page + 1, page),
        (0, 0),
    ):
        cause = await it.load(packed(words), words, pages=(first, last))
        within = (first, last) == (page, page + 2)
        assert cause is (Cause.NONE if within else Cause.OUTSIDE_WINDOW)
        assert all(first <= at + 8 * beats - 1 >> 12 and first <= at >> 12 <= last for at, beats in it.memory.asked)
        await works_again(it)


@cocotb.test()
async def a_rehearsal_leaves_the_port_alone(dut: Any) -> None:
    it = await bench(dut, 360)
    words = image(it.rng, 100)
    source = compress(packed(words))
    it.port.avail = False
    assert await it.load(source, words, compressed=True, rehearse=True) is Cause.NONE
    assert await it.load(source, words, compressed=True, rehearse=True, crc=7) is Cause.WRONG_CRC
    assert await it.load(source[:-4], words, compressed=True, rehearse=True) is Cause.MALFORMED
    assert not it.port.words
    assert it.port.aborts == 0
    await works_again(it)


@cocotb.test()
async def a_start_during_a_load_is_not_heard(dut: Any) -> None:
    it = await bench(dut, 361)
    words = image(it.rng, 200)
    await it.ask(packed(words), words)
    for _ in range(60):
        await it.step()
    await it.put(regs.SOURCE, place=0)
    await it.put(regs.IMAGE_WORDS, words=1)
    await it.put(regs.CONTROL, start=1)
    assert await it.ended() is Cause.NONE
    assert it.port.words == words


@cocotb.test()
async def loads_that_end_anyhow_leave_nothing_to_the_next(dut: Any) -> None:
    """One load right behind the other, each ended by something else at a random moment, or by nothing."""
    it = await bench(dut, 370)
    it.memory.flow = Flow(take=0.9, give=0.8, latency=6)
    causes = set()
    for _ in range(60):
        words = image(it.rng, it.rng.choice((12, 20, 90, 200)))
        compressed = it.rng.random() < 0.5
        source = compress(packed(words)) if compressed else packed(words)
        what = it.rng.choice(("abort", "abort", "device", "memory", "window", "crc", "nothing", "nothing"))
        page = BASE >> 12
        it.port.refuses = it.rng.randint(6, len(words) - 4) if what == "device" else None
        it.memory.error = it.rng.randrange((len(source) + 7) // 8) if what == "memory" else None
        pages = (page + 1, page + 1) if what == "window" else None
        await it.ask(source, words, compressed=compressed, pages=pages, crc=1 if what == "crc" else None)
        if what == "abort":
            for _ in range(it.rng.randrange(len(words) + 60)):
                await it.step()
            # Twice: the second is heard by nobody.
            await it.put(regs.CONTROL, abort=1)
            await it.put(regs.CONTROL, abort=1)
        cause = await it.ended()
        causes.add(cause)
        told = {
            "device": {Cause.PORT_ERROR},
            "memory": {Cause.MEMORY_ERROR},
            "window": {Cause.OUTSIDE_WINDOW},
            "crc": {Cause.WRONG_CRC},
            "nothing": {Cause.NONE},
            "abort": {Cause.ABORTED, Cause.NONE},
        }
        assert cause in told[what], what
        if cause is Cause.NONE:
            assert it.port.words == words
            assert (await it.get(regs.CRC_FOUND)) == (await it.get(regs.CRC))
        for _ in range(5000):
            if (await it.get(regs.STATUS))["memory_idle"]:
                break
        it.port.refuses = it.memory.error = None
        it.port.synced = False
    assert len(causes) == 6


@cocotb.test()
async def a_port_whose_clock_stops_ends_the_load(dut: Any) -> None:
    """It is told by the shell's side alone; none begins before the clock is back, and the first then cleans up."""
    it = await bench(dut, 380)
    words = image(it.rng, 300)
    for after in (0, 3, 45, 80, 120):
        aborts = it.port.aborts
        await it.ask(packed(words), words)
        for _ in range(after):
            await it.step()
        it.stop_port()
        assert await it.ended_closed_or_not() is Cause.PORT_STOPPED
        left = (await it.get(regs.LEFT))["words"]
        assert left == len(words) if after == 0 else left <= len(words)
        await it.quiet()
        await it.put(regs.CONTROL, start=1)
        assert await it.ended_closed_or_not() is Cause.BAD_REQUEST
        await it.go_port()
        it.port.words.clear()
        assert await it.load(packed(words), words) is Cause.NONE
        # The device was in the middle of a packet, or might have been: a word of ones, then the image.
        ordered = it.port.aborts - aborts
        assert it.port.words == [0xFFFFFFFF] * ordered + words
        assert ordered == 1 or after < 3
        await works_again(it)
    # Whoever waits for nothing is told nothing.
    it.stop_port()
    for _ in range(5000):
        await it.step()
    assert (await it.get(regs.STATUS))["ended"] == 0
    await it.go_port()
    await works_again(it)


@cocotb.test()
async def a_reset_in_the_middle_of_a_load_is_one_of_both_sides(dut: Any) -> None:
    """At any moment; whatever the device was left in, the load after it goes well."""
    it = await bench(dut, 390)
    it.memory.flow = Flow(take=0.9, give=0.8, latency=6)
    words = image(it.rng, 150)
    for after in range(1, 130, 6):
        await it.ask(packed(words), words)
        for _ in range(after):
            await it.step()
        await it.reset()
        assert (await it.get(regs.STATUS))["busy"] == 0
        assert (dut.csib_o.value, dut.rdwrb_o.value) == (1, 1)
        for _ in range(300):
            await it.step()
        assert not it.owed, "what memory owed has come"
        assert await it.load(packed(words), words) is Cause.NONE
        assert it.port.words[-len(words) :] == words
        assert it.port.words[: -len(words)] in ([], [0xFFFFFFFF])


@cocotb.test()
async def a_load_that_cleans_up_first_may_be_aborted_too(dut: Any) -> None:
    it = await bench(dut, 391)
    words = image(it.rng, 100)
    causes = set()
    for after in range(40):
        await it.ask(packed(words), words)
        for _ in range(60):
            await it.step()
        await it.reset()
        await it.quiet()
        await it.ask(packed(words), words)
        for _ in range(after):
            await it.step()
        await it.put(regs.CONTROL, abort=1)
        causes.add(await it.ended())
        await works_again(it)
    assert Cause.ABORTED in causes
