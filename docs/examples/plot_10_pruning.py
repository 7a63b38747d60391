"""
Pruning: fewer voters, a certificate still
==========================================

A vote of hundreds of voters is slow to ask. Voters of little weight can be left out, and the
smaller vote has a certificate of its own on the same sample, because bounds for learned weights
hold for all weights at once.
"""

# %%
# A vote of stumps
# ----------------
# The weights are learned by minimising the bound ``tandem``. Most of the stumps get next to none.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from certivote import MajorityVoteClassifier

X, y = load_breast_cancer(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
vote = MajorityVoteClassifier("stumps", bound="tandem", random_state=0).fit(X, y)

rows = []
for least in np.geomspace(1e-6, 0.03, 12):
    smaller = vote.prune(least)
    kept = np.count_nonzero(smaller.weights_)
    rows.append((kept, smaller.certificate_.risk_bound, 1 - smaller.score(X_test, y_test)))
kept, limit, error = np.array(rows).T
print(f"{len(vote.weights_)} stumps; {int(kept[-1])} of them have a weight of 0.03 or more.")

# %%
# The picture
# -----------
# From right to left more and more voters go. For a long way nothing changes; then the weights that
# are left are far from the prior, and those that are left out are missed.

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.plot(kept, limit, ".-", label="certificate of the smaller vote, 95%")
ax.plot(kept, error, ".-", color="0.4", label="error on test rows")
full = vote.certificate_.risk_bound
ax.axhline(full, color="C0", ls=":", label="certificate of the whole vote")
ax.set(xscale="log", xlabel="voters left", ylabel="error", ylim=(0, None))
ax.legend()
plt.show()
