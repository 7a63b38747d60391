"""
Label shift: the same illness, rarer
====================================

A certificate speaks of examples like those of the sample. In a screening fewer people are ill than
in a hospital's table. If the ill look like the ill, and the healthy like the healthy, and only
their numbers change, the error there follows from the errors on the two classes.
"""

# %%
# From the hospital to the screening
# ----------------------------------
# The table has 37% malignant tumours, 36% where it certifies. The model is certified for three
# other mixes, and for each class; all lines hold at once.

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from certivote import certify_model
from certivote.claims import ClassFamily

data = load_breast_cancer()
X, X_new, y, y_new = train_test_split(
    data.data, data.target_names[data.target], test_size=0.5, random_state=1
)
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
mixes = [{"benign": 1 - share, "malignant": share} for share in (0.02, 0.1, 0.75)]
certificate = certify_model(model, X_new, y_new, claims=[ClassFamily(frequencies=tuple(mixes))])
for claim in certificate.claims:
    print(claim.statement)

# %%
# The picture
# -----------
# The limits on the classes are the two ends of a line, and every mix lies between them. Where
# malignant tumours are rare their limit hardly matters. The overall certificate is smaller at the
# mix of the table, as it is a test of its own, and says nothing about any other.

limits = {claim.about: claim for claim in certificate.claims}
ends = [1 - limits[f"recall of {name}"].lower for name in ("benign", "malignant")]
figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
ax.plot([0, 1], ends, "C0", label="certified for every mix")
for mix, claim in zip(mixes, certificate.claims[-3:], strict=True):
    ax.plot(mix["malignant"], claim.upper, "C0o")
wrong, malignant = model.predict(X_new) != y_new, y_new == "malignant"
seen = [wrong[~malignant].mean(), wrong[malignant].mean()]
ax.plot([0, 1], seen, "0.6", ls="--", label="observed")
ax.plot(malignant.mean(), certificate.risk_bound, "C3s", label="overall certificate, this mix only")
ax.set(xlabel="share of malignant tumours", ylabel="error", ylim=(0, None))
ax.legend()
plt.show()
