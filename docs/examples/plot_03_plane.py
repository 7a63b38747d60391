"""
The plane of joint error and disagreement
=========================================

Two numbers tell a lot about a vote: how often two of its voters err together (the joint error e),
and how often exactly one of two errs (the disagreement d). Many bounds are functions of these two,
and can be seen in a plane.
"""

# %%
# One certificate, as a region
# ----------------------------
# The dot is what was counted. The truth is somewhere around it: with 95% confidence in the region
# that is drawn. The lines are levels of the C-bound, the largest error that a vote with such a pair
# (e, d) may have. The certificate is its largest value in the region, at the square.

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from certivote import MajorityVoteClassifier, format_up
from certivote.plotting import PlaneDisplay

X, y = load_breast_cancer(return_X_y=True)
figure, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
for ax, bound in zip(axes, ("lacasse", "tandem"), strict=True):
    vote = MajorityVoteClassifier("trees", bound=bound, random_state=0).fit(X, y)
    PlaneDisplay.from_estimator(vote, ax=ax)
    ax.set_title(f"{bound}: at most {format_up(vote.certificate_.risk_bound)}")
plt.show()

# %%
# Two shapes
# ----------
# ``lacasse`` looks at e and d together, and its region is a small oval. ``tandem`` looks at e
# alone: its region is everything to the left of a line, and its level lines are upright. More
# examples make both regions smaller, around a dot that stays where it is.
