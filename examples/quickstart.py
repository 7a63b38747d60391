"""Learn and certify a majority vote of 100 trees on the breast-cancer data of scikit-learn."""

from sklearn.datasets import load_breast_cancer

from certivote import MajorityVoteClassifier

X, y = load_breast_cancer(return_X_y=True)
vote = MajorityVoteClassifier(random_state=0, verbose=1).fit(X, y)
print(vote.certificate_)
