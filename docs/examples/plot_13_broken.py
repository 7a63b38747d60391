"""
Three ways to break a certificate
=================================

A certificate at 95% may be false in one of twenty samples. It is false far more often where an
assumption does not hold. Here the three that matter are broken on purpose, in a world where the
truth is known, and the false certificates are counted.
"""

# %%
# As it should be
# ---------------
# A classifier that errs with probability 0.2, certified on 300 independent rows.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.tree import DecisionTreeClassifier

from certivote.bounds import clopper_pearson

TIMES, RISK, M = 200, 0.2, 300
rng = np.random.default_rng(0)


def limit(wrong):
    """Return what ``certify`` gives for a classifier that is wrong on these rows, only faster."""
    return clopper_pearson(int(np.sum(wrong)), len(wrong), 0.05)


false = {}
false["as it should be"] = [limit(rng.random(M) < RISK) < RISK for _ in range(TIMES)]

# %%
# 1. Rows that are not independent
# --------------------------------
# Each row is there five times, as by oversampling, or because a patient came five times.

copies = [np.repeat(rng.random(M // 5) < RISK, 5) for _ in range(TIMES)]
false["each row five times"] = [limit(wrong) < RISK for wrong in copies]

# %%
# 2. Rows that the classifier has seen
# ------------------------------------
# A tree is trained on the rows that certify it. The labels are those of one column, a fifth of them
# flipped; the tree's true error is counted on 5,000 other rows.


def draw(n):
    """Return n examples of five columns, and labels that follow the first, with noise."""
    X = rng.normal(size=(n, 5))
    return X, ((X[:, 0] > 0) ^ (rng.random(n) < RISK)).astype(int)


X_test, y_test = draw(5000)
seen = []
for _ in range(TIMES):
    X, y = draw(M)
    tree = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y)
    seen.append(limit(tree.predict(X) != y) < np.mean(tree.predict(X_test) != y_test))
false["rows that trained it"] = seen

# %%
# 3. Asked many times, the smallest kept
# --------------------------------------
# Twenty classifiers, all of which err with probability 0.2, on the same number of rows each.

many = [min(limit(rng.random(M) < RISK) for _ in range(20)) < RISK for _ in range(TIMES)]
false["the best of twenty"] = many

# %%
# The picture
# -----------
# The number looks as good as ever in all four cases. Only the first is a certificate.

shares = {name: np.mean(values) for name, values in false.items()}
for name, share in shares.items():
    print(f"{name}: false in {share:.1%} of {TIMES} samples")
figure, ax = plt.subplots(figsize=(7.5, 3), layout="constrained")
bars = ax.barh(list(shares), list(shares.values()), color=["C0", "C3", "C3", "C3"])
ax.bar_label(bars, [f"{share:.1%}" for share in shares.values()], padding=12)
ax.axvline(0.05, color="black", ls="--", lw=1, label="promised: at most 5%")
ax.invert_yaxis()
ax.set(xlim=(0, 1.1), xlabel="share of the samples with a false certificate")
ax.legend(loc="lower right")
plt.show()
