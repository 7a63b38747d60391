"""
Why the binomial test wins, and what PAC-Bayes is for
=====================================================

There are two ways to a certificate. If the vote is fixed before the rows are looked at, its errors
on them are counted, and the binomial test gives the smallest limit that a count can give. If the
weights shall be learned on the very rows that certify them, a bound is needed that holds for all
weights at once: that is what PAC-Bayes is for, and it costs.
"""

# %%
# The same table, two kinds of voters
# -----------------------------------
# Trees are good voters: with equal weights they vote well, and nothing has to be learned. Stumps,
# each a threshold of a single column, are bad ones, and half of them are worse than chance.
# ``heldout`` is the binomial test of equal weights; ``gibbs``, ``tandem`` and ``dirichlet`` learn
# weights on the rows that certify. ``best`` does both, sharing out the probability of being wrong.

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from certivote import MajorityVoteClassifier, format_up

X, y = load_breast_cancer(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=0)

ways = {
    "heldout": {"bound": "heldout"},
    "gibbs": {"bound": "gibbs"},
    "tandem": {"bound": "tandem"},
    "dirichlet": {"bound": "dirichlet"},
    "best": {"bound": "best"},
    "best, weights\nlearned on part A": {"bound": "best", "prior": "learned"},
}
figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharex=True, sharey=True, layout="constrained")
for ax, voters in zip(axes, ("trees", "stumps"), strict=True):
    for place, (name, settings) in enumerate(ways.items()):
        vote = MajorityVoteClassifier(voters, random_state=0, **settings).fit(X, y)
        error = 1 - vote.score(X_test, y_test)
        limit = vote.certificate_.risk_bound
        ax.barh(place, limit, color="C0" if "best" in name else "0.75")
        ax.plot(error, place, "k.", label="error on test rows" if place == 0 else None)
        ax.text(limit + 0.01, place, format_up(limit), va="center")
    ax.set(title=voters, xlabel="certificate, 95%", xlim=(0, 1))
axes[0].set_yticks(range(len(ways)), ways)
axes[0].invert_yaxis()
axes[0].legend(loc="lower right")
plt.show()

# %%
# What to take from it
# --------------------
# With trees the test of equal weights wins by far. With stumps equal weights are hopeless, and
# learned ones are needed. But even then it is better to learn them on part A, where the stumps come
# from, and to keep all of part B for the test: the last row. PAC-Bayes is for those who cannot
# spare rows: it lets one sample learn and certify, and the smallest number may be claimed.
