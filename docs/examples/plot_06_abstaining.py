"""
Abstaining: promise more where one is sure
==========================================

A classifier that answers everything may err too often. If it may say "I do not know", it can
promise less error where it does answer. How sure it has to be is found on the rows that certify,
and the promise holds all the same.
"""

# %%
# A forest that reads digits
# --------------------------
# The rows are shuffled. 300 of them train a forest, the rest certify. Wrong in at most three of a
# hundred answers is what we ask for.

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils import shuffle

from certivote import SelectiveClassifier
from certivote.plotting import RiskCoverageDisplay

X, y = shuffle(*load_digits(return_X_y=True), random_state=0)
forest = RandomForestClassifier(random_state=0).fit(X[:300], y[:300])
careful = SelectiveClassifier(forest, target=0.03)
certificate = careful.certify(X[300:], y[300:])
for claim in certificate.claims:
    print(claim.statement)

# %%
# The picture
# -----------
# To the left it answers only where it is very sure. Levels are tested from the left, one after the
# other, up to the first that cannot be shown to be good enough. As the order was fixed beforehand,
# their number costs nothing.

figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
RiskCoverageDisplay.from_certificate(certificate, ax=ax)
plt.show()

# %%
# Which rows it answers, ``accepts`` tells:

print(careful.accepts(X[300:310]))
