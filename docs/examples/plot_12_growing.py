"""
A growing sample, watched at every step
=======================================

Rows keep coming, and somebody looks at the certificate after each one, and stops when it pleases.
Who looks a thousand times sees some day, by luck, a number that is too small. A confidence sequence
holds at all sizes at once, and may be watched.
"""

# %%
# A vote whose error is known
# ---------------------------
# It errs with probability 0.1. Two limits are computed at some fifty sizes from 5 to 2,000: the
# binomial test, which is made for one look, and the sequence, made for all.

import matplotlib.pyplot as plt
import numpy as np

from certivote.bounds import clopper_pearson, sequential_limit

RISK, DELTA = 0.1, 0.05
sizes = np.unique(np.geomspace(5, 2000, 60).astype(int))


def limits(rule, errors):
    """Return the limit after each of the sizes."""
    return np.array([rule(int(errors[m - 1]), int(m), DELTA) for m in sizes])


rng = np.random.default_rng(6)
errors = np.cumsum(rng.random(2000) < RISK)
once, always = limits(clopper_pearson, errors), limits(sequential_limit, errors)

# %%
# How often either is false at some look
# --------------------------------------
# 300 futures, with so many looks in each.

false = {"one look": 0, "all looks": 0}
for _ in range(300):
    errors_here = np.cumsum(rng.random(2000) < RISK)
    false["one look"] += bool(np.any(limits(clopper_pearson, errors_here) < RISK))
    false["all looks"] += bool(np.any(limits(sequential_limit, errors_here) < RISK))
for name, count in false.items():
    print(f"made for {name}: false at some look in {count / 300:.1%} of the futures")

# %%
# The picture
# -----------
# The price of watching is a wider limit. ``MajorityVoteClassifier(anytime=True)`` pays it, and
# every certificate of every ``partial_fit`` may then be claimed.

figure, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
ax.plot(sizes, errors[sizes - 1] / sizes, "0.5", label="observed error")
ax.plot(sizes, once, "C3", label="binomial test: one look")
ax.plot(sizes, always, "C0", label="confidence sequence: all looks")
ax.axhline(RISK, color="black", ls="--", lw=1, label="the true error")
ax.set(xscale="log", xlabel="examples so far", ylabel="error", ylim=(0, 0.7))
ax.legend()
plt.show()
