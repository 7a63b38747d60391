"""
The certificate against the size of the sample
==============================================

More rows make a certificate smaller, but not for ever: it falls towards what it bounds. For the
binomial test that is the error itself, for bounds on moments it is a number that may be far above.
"""

# %%
# The same vote on more and more rows
# -----------------------------------
# Twenty-five voters, each of which errs on a fifth of the examples, more often on hard ones.

import matplotlib.pyplot as plt
import numpy as np

from certivote import certify


def draw(n, rng):
    """Return which of 25 voters err on n examples, as votes for 1 where 0 is right."""
    difficulty = rng.beta(0.5, 2.0, size=n)
    return (rng.random((n, 25)) < difficulty[:, None]).astype(int), np.zeros(n, dtype=int)


votes, y = draw(400_000, np.random.default_rng(1))
truth = np.mean(votes.mean(axis=1) > 0.5)
sizes = np.geomspace(50, 50_000, 10).astype(int)
bounds = {"heldout": "C0", "best": "C2", "dirichlet": "C4", "tandem": "C1", "lacasse": "C3"}
limits = {name: [] for name in bounds}
for size in sizes:
    votes, y = draw(size, np.random.default_rng(2))
    for name in bounds:
        weights = np.full(25, 1 / 25)
        limits[name].append(certify(votes, y, weights=weights, bound=name).risk_bound)

# %%
# The picture
# -----------
# All five certify the same vote with equal weights. ``best`` is the binomial test at nine tenths of
# δ here: it costs next to nothing. The bounds on moments end above the truth, however many rows
# there are: Markov's and Cantelli's inequalities lose a factor.

figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for name, colour in bounds.items():
    style = ".--" if name == "best" else ".-"
    ax.plot(sizes, limits[name], style, color=colour, label=name)
ax.axhline(truth, color="black", lw=1, label="the true error")
ax.set(xscale="log", xlabel="certification rows", ylabel="certificate, 95%", ylim=(0, 1.02))
ax.legend(ncols=2)
plt.show()
