"""The shell's own registers: what was built, the cycle counter, the configuration port."""

from __future__ import annotations

from eddy_drivers.bank import Bank
from eddy_drivers.regs import shell as regs


class Shell(Bank):
    """Driver of the shell's bank (hw/regs/shell.rdl)."""

    bindto = ["eddy:ip:shell:1.0"]  # noqa: RUF012 - the form PYNQ reads
    block = 0xED01

    @property
    def slots(self) -> int:
        """How many slots this shell has."""
        return self._fields(regs.CONFIG)["slots"]

    def build(self) -> str:
        """Hash of the shell's sources and toolchain: 16 hex digits."""
        return f"{self._get(regs.BUILD_HI.offset):08x}{self._get(regs.BUILD_LO.offset):08x}"

    def cycles(self) -> int:
        """Shell-clock cycles since reset. Reading the low word latches the high one, so the order counts."""
        low = self._get(regs.CYCLES_LO.offset)
        return self._get(regs.CYCLES_HI.offset) << 32 | low

    def clear_configuration_status(self) -> None:
        """Forget the sticky events of the configuration port."""
        self._put(regs.CFG_STATUS.offset, regs.CFG_STATUS.encode(done_seen=1, error_seen=1))

    def configuration_error(self) -> bool:
        """Whether the port reported an error since the status was cleared."""
        return bool(self._fields(regs.CFG_STATUS)["error_seen"])

    def bad_access(self) -> int | None:
        """Byte offset of the first access nothing answered since this was last asked; None where all were fine."""
        if not self._fields(regs.BAD_ACCESS)["seen"]:
            return None
        offset = self._get(regs.BAD_ADDRESS.offset)
        self._put(regs.BAD_ACCESS.offset, regs.BAD_ACCESS.encode(seen=1))
        return offset
