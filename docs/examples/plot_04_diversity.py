"""
Why diversity helps
===================

A vote of voters that all err on the same examples is no better than one of them. A vote of
equally bad voters that err on *different* examples is much better. The bounds that know the
disagreement see the difference; the one that knows only the mean error does not.
"""

# %%
# Voters that are equally good, and more or less alike
# ----------------------------------------------------
# Each of 51 voters errs on 30% of the examples. How much they err together is turned by one number:
# each example has a difficulty, drawn from a beta distribution with mean 0.3, and its spread goes
# from none (they err independently) to the largest (all err, or none).

import matplotlib.pyplot as plt
import numpy as np

from certivote import VoteStatistics
from certivote.bounds import c_bound, first_order_bound, second_order_bound

rng = np.random.default_rng(0)
equal = np.full(51, 1 / 51)
rows = []
for spread in np.linspace(0.02, 0.98, 25):
    concentration = 1 / spread - 1
    difficulty = rng.beta(0.3 * concentration, 0.7 * concentration, size=20_000)
    wrong = rng.random((20_000, 51)) < difficulty[:, None]
    moments = VoteStatistics.from_losses(wrong).moments(equal)
    r, e, d = moments.gibbs_risk, moments.joint_error, moments.disagreement
    error = np.mean(wrong.mean(axis=1) > 0.5)
    rows.append((d, error, first_order_bound(r), second_order_bound(e), c_bound(r, d)))
d, error, twice, four, c = np.array(rows).T

# %%
# The picture
# -----------
# To the left all voters are alike, and the vote is as bad as each of them. To the right they
# differ, and it is nearly perfect. Twice the mean error does not move. (The bounds are shown at
# moments counted on 20,000 examples; a certificate also pays for the sample.)

figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
ax.plot(d, twice, color="0.6", label="2r: knows the mean error")
ax.plot(d, np.minimum(four, 1.2), "C1", label="4e: knows how often two err together")
ax.plot(d, c, "C0", label="C-bound: knows both")
ax.plot(d, error, "k", lw=2, label="error of the vote")
ax.axhline(0.3, color="0.8", ls=":", label="error of each voter")
ax.set(xlabel="disagreement d of two voters", ylabel="error", ylim=(0, 1.25))
ax.legend()
plt.show()
