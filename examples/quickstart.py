"""Certify a majority vote of 100 trees on the breast-cancer data of scikit-learn."""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import train_test_split

from certivote import certify

X, y = load_breast_cancer(return_X_y=True)
# The voters see one half of the data, the certificate comes from the other half. A random split,
# not a stratified one: the certification examples must be drawn like the examples to come.
X_train, X_certify, y_train, y_certify = train_test_split(X, y, test_size=0.5, random_state=0)
forest = ExtraTreesClassifier(n_estimators=100, random_state=0).fit(X_train, y_train)
votes = [forest.classes_[tree.predict(X_certify).astype(int)] for tree in forest.estimators_]
print(certify(np.column_stack(votes), y_certify))
