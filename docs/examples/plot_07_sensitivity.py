"""
Certified sensitivity on a medical table
========================================

"At most 10% errors" can hide that most of the ill are missed. A certificate can speak of each
class: how many of the ill are found (the sensitivity), and how many of the healthy are left in
peace (the specificity). All its lines hold at once, with 95% confidence.
"""

# %%
# Tumours, benign or malignant
# ----------------------------
# The vote is fitted as always; ``claims`` names what else shall be certified. ``"recall"`` is the
# error on each true class, ``"precision"`` that of each answer.

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from certivote import MajorityVoteClassifier
from certivote.plotting import ClaimsDisplay

data = load_breast_cancer()
X, y = data.data, data.target_names[data.target]
vote = MajorityVoteClassifier("trees", claims=["recall", "precision"], random_state=0).fit(X, y)
for claim in vote.certificate_.claims:
    print(claim.statement)

# %%
# The picture
# -----------
# An interval covers what a claim leaves possible. The malignant tumours fare worse than the overall
# number says: there are fewer of them, so less is known, and the vote does miss more of them.

figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
ClaimsDisplay.from_certificate(vote.certificate_, ax=ax)
plt.show()

# %%
# The claims share δ, the probability that any of them is false. Half of it is for the overall
# error; who cares most about the classes says so:

careful = MajorityVoteClassifier(
    "trees", claims=["recall"], shares={"error": 0.1, "recall": 0.9}, random_state=0
).fit(X, y)
for claim in careful.certificate_.claims:
    print(claim.statement)
