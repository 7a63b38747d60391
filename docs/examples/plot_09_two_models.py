"""
Two models on the same rows
===========================

Is the new model better than the old one? Two certificates, one for each, seldom tell: their
intervals overlap. But both models answer on the same rows, and where both are right, or both are
wrong, there is nothing to decide. Only the rows on which they differ count.
"""

# %%
# Two classifiers of digits
# -------------------------
# The old one is a single tree of limited depth; the new one may grow deeper.

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import binomtest
from sklearn.datasets import load_digits
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import shuffle

from certivote import certify_difference

X, y = shuffle(*load_digits(return_X_y=True), random_state=0)
old = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X[:900], y[:900])
new = DecisionTreeClassifier(max_depth=7, random_state=0).fit(X[:900], y[:900])
before, after, truth = old.predict(X[900:]), new.predict(X[900:]), y[900:]
certificate = certify_difference(before, after, truth)
for claim in certificate.claims:
    print(claim.statement)

# %%
# The picture
# -----------
# Left: the error of each, with a 95% interval. They overlap. Right: what is behind the certificate
# of the difference, the rows on which just one of the two errs.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
wrong = {"old": before != truth, "new": after != truth}
for place, errs in enumerate(wrong.values()):
    interval = binomtest(int(errs.sum()), len(errs)).proportion_ci(0.95)
    left.plot([interval.low, interval.high], [place, place], f"C{place}", lw=6, alpha=0.4)
    left.plot(errs.mean(), place, f"C{place}o")
left.set(yticks=(0, 1), yticklabels=wrong, ylim=(-0.6, 1.6), xlabel="error, and its 95% interval")
only = [int(np.sum(wrong["old"] & ~wrong["new"])), int(np.sum(wrong["new"] & ~wrong["old"]))]
bars = right.barh([0, 1], only, color=["C0", "C1"])
right.bar_label(bars, padding=3)
right.margins(x=0.12)
right.set(yticks=(0, 1), yticklabels=["only the old errs", "only the new errs"])
right.set_xlabel(f"rows of {len(truth)}")
plt.show()
