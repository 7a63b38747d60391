"""
The sharp bound
===============

If all that is known of a vote is how often a voter errs (r) and how often two err together (e),
what is the smallest valid bound on the error of the vote? It is the smaller of two: the C-bound,
and r + d, where d is the disagreement.
"""

# %%
# Why r + d
# ---------
# Let W be the weight of the voters that err on an example. The vote errs only where W is at least a
# half. The parabola 3w − 2w² is at least 1 there and at least 0 elsewhere, so its mean, 3r − 2e =
# r + d, is at least the error. The simpler bounds are such curves too: 2w, and 4w². They are on the
# left.
#
# On the right is where it helps. At a mean error of r = 0.1 the disagreement may be anything
# between 0 and 2r(1 − r). Where voters hardly disagree, r + d is far below the C-bound; where they
# disagree much, the C-bound is smaller.

import matplotlib.pyplot as plt
import numpy as np

from certivote import certify, format_up
from certivote.bounds import c_bound, first_order_bound, second_order_bound, sharp_bound

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4), layout="constrained")
w = np.linspace(0, 1, 201)
left.fill_between(w, np.where(w >= 0.5, 1, 0), color="0.88", step="mid", label="the vote errs")
left.plot(w, 2 * w, "0.5", label="2w: 2r")
left.plot(w, 4 * w**2, "C1", label="4w²: 4e")
left.plot(w, 3 * w - 2 * w**2, "C2", label="3w − 2w²: r + d")
left.set(xlabel="weight w of the voters that err", ylim=(0, 2), title="curves above a step")
left.legend()

r = 0.1
d = np.linspace(0, 2 * r * (1 - r), 200)
right.axhline(first_order_bound(r), color="0.5", label="2r")
right.plot(d, [second_order_bound(r - x / 2) for x in d], "C1", label="4e")
right.plot(d, [c_bound(r, x) for x in d], "C0", label="C-bound")
right.plot(d, [sharp_bound(r, x) for x in d], "k", ls=(0, (2, 2)), lw=2.5, label="sharp")
right.set(xlabel="disagreement d", ylabel="bound on the error, r = 0.1", ylim=(0, 0.5))
right.legend()
plt.show()

# %%
# As a certificate
# ----------------
# Voters that are nearly alike, on 4,000 examples, with equal weights:

rng = np.random.default_rng(0)
y = rng.integers(2, size=4000)
hard = rng.random(4000) < 0.1
wrong = rng.random((4000, 15)) < np.where(hard, 0.95, 0.005)[:, None]
votes = np.where(wrong, 1 - y[:, None], y[:, None])
for bound in ("gibbs", "tandem", "lacasse", "sharp"):
    certificate = certify(votes, y, weights=np.full(15, 1 / 15), bound=bound)
    print(f"{bound:8} {format_up(certificate.risk_bound)}")
