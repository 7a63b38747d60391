"""
What a certificate promises
===========================

A certificate says: *with 95% confidence, this vote errs on a new example with probability at most
x*. The 95% are about the sample. Draw a hundred samples, certify on each: about 95 of the numbers
x, or more, are at least the true error. Here the truth is known, because the examples are
simulated, and so the promise can be looked at.
"""

# %%
# A world in which the truth is known
# -----------------------------------
# Eleven voters look at an example and name one of two classes. Three examples in ten are hard. On
# these each voter is wrong with probability 0.42, on the others with probability 0.15,
# independently of the others. What the vote of all eleven does in the long run is counted on a
# million examples.

import matplotlib.pyplot as plt
import numpy as np

from certivote import certify


def draw(n, rng):
    """Return the votes of eleven voters on n new examples, and the true labels."""
    y = rng.integers(2, size=n)
    rate = np.where(rng.random(n) < 0.3, 0.42, 0.15)
    wrong = rng.random((n, 11)) < rate[:, None]
    return np.where(wrong, 1 - y[:, None], y[:, None]), y


votes, y = draw(1_000_000, np.random.default_rng(0))
truth = np.mean((votes.mean(axis=1) > 0.5) != y)
print(f"The vote errs with probability {truth:.4f}.")

# %%
# A hundred futures
# -----------------
# Each of them is a sample of 500 examples. The vote is the same in all: equal weights, fixed
# beforehand.

limits, observed = [], []
for seed in range(1, 101):
    votes, y = draw(500, np.random.default_rng(seed))
    prediction = (votes.mean(axis=1) > 0.5).astype(int)
    limits.append(certify(prediction, y).risk_bound)
    observed.append(np.mean(prediction != y))
limits, observed = np.array(limits), np.array(observed)
false = limits < truth
print(f"Below the truth: {false.sum()} of 100 certificates,")
print(f"and {np.sum(observed < truth)} of 100 observed error rates.")

# %%
# The picture
# -----------
# Each line is one future: the dot is the error rate that was observed, the other end is the
# certificate. The observed rate is below the truth about every second time: it is no claim. The
# certificate is, and it may fail five times in a hundred.

figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
order = np.argsort(limits)
for place, i in enumerate(order):
    ax.plot([place, place], [observed[i], limits[i]], color="C3" if false[i] else "C0", lw=1.5)
ax.plot(observed[order], ".", color="0.25", ms=4, label="observed error")
ax.plot(limits[order], "_", color="C0", ms=5, label="certificate, 95%")
ax.axhline(truth, color="black", ls="--", lw=1, label="the true error")
ax.plot([], [], color="C3", label="a certificate that is false")
ax.set(xlabel="a hundred samples, by their certificate", ylabel="error", ylim=(0, None))
ax.legend(loc="upper left", ncols=2)
plt.show()
