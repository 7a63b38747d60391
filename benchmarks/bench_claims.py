"""How long 100 claims take, next to one."""

import time
from functools import partial

import numpy as np
from timing import Row, ratio

from certivote import certify

TITLE = "Time of `certify` of 1,000,000 predictions with 100 claims, over that of one claim"


def run() -> list[Row]:
    rng = np.random.default_rng(0)
    m = 1_000_000
    codes, others, sites = (rng.integers(high, size=m) for high in (50, 50, 99))
    answers = np.where(rng.random(m) < 0.1, others, codes)
    classes = np.array([f"class {j}" for j in range(50)])
    names = np.array([f"site {j}" for j in range(99)])
    kinds = {
        "whole numbers": (codes, answers, sites),
        "texts": (classes[codes], classes[answers], names[sites]),
    }
    rows = []
    for kind, (y, predicted, column) in kinds.items():
        one = partial(certify, predicted, y)
        claims = {
            "99 groups": partial(one, claims=["error by site"], by={"site": column}),
            "50 classes and 50 answers": partial(one, claims=["recall", "precision"]),
        }
        # The time of this process: another one must not count as a claim.
        rows += [
            Row(f"{what}, {kind}", ratio(function, one, time.process_time), 1.5)
            for what, function in claims.items()
        ]
    return rows
