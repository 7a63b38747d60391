"""Where the time goes."""

import time

__all__ = ["Stopwatch"]


class Stopwatch:
    """Seconds by stage: each lap adds the time since the last one to its stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, stage: str) -> None:
        """Give the time since the last lap to a stage."""
        now = time.perf_counter()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self._last
        self._last = now
