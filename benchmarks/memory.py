"""The memory of a process of its own, as it goes."""

import subprocess
import sys
import time
from pathlib import Path


def _gib(pid: int, field: str) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 2**20 for line in lines if line.startswith(field)), 0.0)


def peak(code: str, *arguments: str) -> dict[str, float]:
    """Run Python code, and return its largest anonymous and mapped memory in GiB."""
    peaks = {"RssAnon": 0.0, "RssFile": 0.0}
    process = subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.DEVNULL)
    while process.poll() is None:
        for field in peaks:
            peaks[field] = max(peaks[field], _gib(process.pid, field))
        time.sleep(0.002)
    if process.returncode:
        raise RuntimeError(f"the process failed with {process.returncode}")
    return peaks
