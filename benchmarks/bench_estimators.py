"""What certifying adds to training, for 100 trees on 10,000 examples."""

import numpy as np
from sklearn.datasets import make_classification
from timing import Row, ratio

from certivote import VoteStatistics, certify
from certivote.classifiers._fingerprints import row_fingerprints
from certivote.voters import fit_voters

TITLE = "Time of all that follows the votes, over that of training 100 trees (10,000 examples)"


def run() -> list[Row]:
    X, y = make_classification(10_000, 20, n_informative=10, flip_y=0.05, random_state=0)
    X_a, X_b, y_a, y_b = X[:5000], X[5000:], y[:5000], y[5000:]
    classes = np.unique(y)

    def train() -> object:
        return fit_voters("trees", X_a, y_a, 100, np.random.RandomState(0))

    ballots = train().votes(X_b, classes)
    rows = []
    for bound in ("lacasse", "tandem"):

        def learn(bound=bound) -> None:
            row_fingerprints(X)
            statistics = VoteStatistics.from_votes(ballots.codes, ballots.truth(y_b))
            certify(statistics, bound=bound)

        rows.append(Row(f"statistics, weights and certificate, {bound}", ratio(learn, train), 0.05))
    return rows
