"""What is written while an estimator is fitted."""

import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from certivote import MajorityVoteClassifier


def test_nothing_is_written_unless_asked(data, capfd, small):
    X, y, X_new, _ = data
    small(MajorityVoteClassifier, verbose=0).fit(X, y).predict(X_new)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("voters", [None, [GaussianNB(), DecisionTreeClassifier(random_state=0)]])
def test_progress_by_rich(voters, data, capsys, small):
    X, y, *_ = data
    small(MajorityVoteClassifier, voters=voters, verbose=1).fit(X, y)
    out, err = capsys.readouterr()
    assert out == ""
    for what in ("training", "voting"):
        line = next(line for line in err.splitlines() if what in line)
        assert "100%" in line
        assert "━" in line


def test_progress_in_plain_text(data, capsys, monkeypatch, small):
    X, y, *_ = data
    monkeypatch.setattr("certivote._utils.progress.find_spec", lambda name: None)
    small(MajorityVoteClassifier, n_voters=4, verbose=1).fit(X, y)
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "training: 4/4\nvoting: 4/4\n"  # no terminal: one line each


def test_progress_in_plain_text_on_a_terminal(data, capsys, monkeypatch, small):
    X, y, *_ = data
    monkeypatch.setattr("certivote._utils.progress.find_spec", lambda name: None)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    small(MajorityVoteClassifier, n_voters=4, verbose=1).fit(X, y)
    steps = [f"\r{what}: {k}/4" for what in ("training", "voting") for k in range(1, 5)]
    assert capsys.readouterr().err == "".join([*steps[:4], "\n", *steps[4:], "\n"])
