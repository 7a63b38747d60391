"""``certivote compare``: every bound and learner on one split, and what may be claimed after."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from certivote import certify
from certivote.bounds import bound_at, get_bound, list_bounds
from certivote.learners import cb_boost
from certivote.statistics import VoteStatistics
from options import trees

LEARNERS = ["cb-boost", "mincq", "cqboost"]
COMMON = ("numbers.csv", *trees(8), "--seed", 5, "--certify-size", 0.6, "--test-size", 0.2)


@pytest.fixture(scope="module")
def compared(run, numbers, tmp_path_factory):
    """One run on two classes."""
    pytest.importorskip("clarabel")
    folder = tmp_path_factory.mktemp("compared")
    numbers.to_csv(folder / "numbers.csv", index=False)
    done = run("compare", *COMMON, "--out", "results", cwd=folder)
    lines = done.stdout.splitlines()
    rows = [line.split("\t") for line in lines if "\t" in line]
    return SimpleNamespace(
        folder=folder,
        lines=lines,
        headings=rows[0],
        rows={row[0]: row[1:] for row in rows[1:-1]},
        baseline=rows[-1],
        table=pd.read_csv(folder / "results" / "comparison.csv"),
    )


@pytest.fixture(scope="module")
def shared(invoke, compared):
    """The same with delta shared out, as JSON."""
    done = invoke(
        "compare", *COMMON, "--share-delta", "--json", "--out", "shared", cwd=compared.folder
    )
    assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def votes(numbers):
    """The same split and trees by hand: votes and labels of the rows that certify and test."""
    rng = np.random.RandomState(5)
    order = rng.permutation(len(numbers))
    train, part_b, test = np.split(order, [128, 320])  # 400 rows: 80 test, 0.6 of 320 certify
    X, y = numbers[list("abcde")].to_numpy(), numbers["label"].to_numpy()
    trees = [
        DecisionTreeClassifier(max_features="sqrt", random_state=seed).fit(X[train], y[train])
        for seed in rng.randint(np.iinfo(np.int32).max, size=8)
    ]

    def of(rows):
        return np.stack([tree.predict(X[rows]) for tree in trees], axis=1)

    return SimpleNamespace(
        certify=of(part_b), y=y[part_b], test=of(test), y_test=y[test], y_train=y[train]
    )


def test_every_bound_and_learner_has_a_row(compared):
    headings = ["learner", "test risk", "certificate", "kind", "by the bound"]
    assert compared.headings == headings
    assert sorted(compared.rows) == sorted(list_bounds() + LEARNERS)
    (sizes,) = (line for line in compared.lines if line.startswith("8 voters"))
    assert sizes == ("8 voters, trained on 128 examples, certified on 192, tested on 80.")


def test_the_smallest_certificate_comes_first(compared, shared):
    for numbers in (
        [float(number) for _, number, *_ in compared.rows.values()],
        compared.table.certificate[:-1].tolist(),
        [row["risk_bound"] for row in shared["votes"].values()][:-1],
    ):
        assert numbers == sorted(numbers)
        assert len(set(numbers)) > 5


def test_rows_say_whether_they_are_certificates_and_by_which_bound(compared):
    for name, (_, number, kind, bound) in compared.rows.items():
        assert kind == ("certificate" if float(number) < 1.0 else "says nothing")
        assert bound == ("lacasse" if name in LEARNERS else name)
    kinds = {kind for *_, kind, _ in compared.rows.values()}
    assert kinds == {"certificate", "says nothing"}


def test_the_baseline_is_the_last_row_and_no_certificate(compared, shared, votes):
    usual = int(np.bincount(votes.y_train).argmax())
    risk = float(np.mean(votes.y_test != usual))
    name = f"always {usual}"
    assert compared.baseline == [name, f"{risk:.4f}", "", "no certificate", ""]
    last = compared.table.iloc[-1]
    assert (last.learner, last.test_risk, last.kind) == (name, risk, "no certificate")
    assert last[["certificate", "delta", "bound"]].isna().all()
    nothing = {"risk_bound": None, "delta": None, "bound": None, "kind": "no certificate"}
    assert shared["votes"][name] == {**nothing, "test_risk": risk}
    assert list(shared["votes"])[-1] == name


@pytest.mark.parametrize("name", list_bounds())
def test_certificates_are_those_of_votes_by_hand(name, compared, votes, round_up):
    certificate = certify(votes.certify, votes.y, bound=bound_at(name, 0.05))
    test_risk, number, *_ = compared.rows[name]
    assert number == round_up(certificate.risk_bound)
    shares = (votes.test == 1) @ certificate.weights
    wrong = (shares > 0.5 + 1e-12) != votes.y_test
    assert test_risk == f"{wrong.mean():.4f}"


def test_learners_are_certified_like_the_bounds(compared, votes, round_up):
    # The same delta and the same constant, or the rows could not be compared.
    weights, _ = cb_boost(VoteStatistics.from_votes(votes.certify, votes.y))
    both = np.hstack([votes.certify, 1 - votes.certify])
    bound = get_bound("lacasse", delta=0.05, constant="exact")
    certificate = certify(both, votes.y, weights=weights, bound=bound)
    assert compared.rows["cb-boost"][1] == round_up(certificate.risk_bound)


def test_the_warning_against_picking_the_smallest(compared):
    (line,) = (line for line in compared.lines if "Picking the smallest" in line)
    assert "95% confidence by itself" in line
    assert "--share-delta" in line


def test_the_csv_is_the_printed_table(compared):
    table = compared.table.set_index("learner")
    assert list(table.index) == [*compared.rows, compared.baseline[0]]
    for name, (risk, number, kind, bound) in compared.rows.items():
        assert (table.kind[name], table.bound[name]) == (kind, bound)
        assert f"{table.test_risk[name]:.4f}" == risk
        # Both are rounded up, at 6 and at 4 digits.
        assert 0 <= float(number) - table.certificate[name] < 1e-4
        assert table.delta[name] == 0.05


def test_the_plot_is_a_picture(compared):
    path = compared.folder / "results" / "comparison.png"
    assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    picture = imread(path)
    assert min(picture.shape[:2]) > 300
    assert np.ptp(picture[..., :3]) > 0.5  # not a blank page


def test_sharing_delta_out(shared, compared, votes, round_up):
    names = list_bounds() + LEARNERS
    certified = dict(list(shared["votes"].items())[:-1])
    assert sorted(certified) == sorted(names)
    assert shared["delta"] == 0.05
    for name, row in certified.items():
        assert row["delta"] == pytest.approx(0.05 / len(names), rel=1e-12)
        # A smaller delta never gives a smaller certificate.
        assert float(round_up(row["risk_bound"])) >= float(compared.rows[name][1])
        if name in list_bounds():
            bound = bound_at(name, row["delta"])
            by_hand = certify(votes.certify, votes.y, bound=bound)
            assert row["risk_bound"] == pytest.approx(by_hand.risk_bound, abs=1e-9)
    best = min(certified, key=lambda name: certified[name]["risk_bound"])
    number = round_up(certified[best]["risk_bound"])
    assert shared["warning"] == (
        "All of these hold at once with 95% confidence, so that the smallest may be claimed: "
        f"{best}, at most {number}."
    )


def test_json_has_the_sizes_and_files_are_written(shared, compared, votes):
    assert shared["n_voters"] == 8
    assert shared["training_examples"] == len(votes.y_train)
    assert shared["certification_examples"] == len(votes.y)
    assert shared["test_examples"] == len(votes.y_test)
    written = {path.name for path in (compared.folder / "shared").iterdir()}
    assert written == {"comparison.csv", "comparison.png"}
    path = compared.folder / "shared" / "comparison.csv"
    # Older versions of pandas read numbers less exactly than Python.
    table = pd.read_csv(path, converters={"test_risk": float}).set_index("learner")
    assert list(table.index) == list(shared["votes"])
    for name, row in shared["votes"].items():
        assert table.test_risk[name] == row["test_risk"]
        assert table.kind[name] == row["kind"]
        if row["risk_bound"] is not None:
            assert 0 <= table.certificate[name] - row["risk_bound"] < 1e-6


def test_three_classes_have_bounds_only(invoke, tmp_path):
    rng = np.random.default_rng(2)
    y = rng.integers(3, size=240)
    frame = pd.DataFrame(
        np.round(rng.normal(0, 0.6, (240, 3)) + y[:, None], 3), columns=list("abc")
    )
    frame.assign(kind=np.array(["ant", "bee", "fly"])[y]).to_csv(tmp_path / "i.csv", index=False)
    done = invoke("compare", "i.csv", *trees(5), "--quiet", cwd=tmp_path)
    assert done.stderr == ""
    heading, *rows, baseline = [line.split("\t")[0] for line in done.stdout.splitlines()]
    assert heading == "learner"
    assert sorted(rows) == sorted(list_bounds())
    assert baseline in {"always ant", "always bee", "always fly"}
    assert (tmp_path / "i-comparison" / "comparison.csv").is_file()


def test_what_throws_doubt_on_the_rows_is_said(invoke, numbers, tmp_path):
    numbers.assign(patient=np.repeat(np.arange(100), 4)).to_csv(tmp_path / "n.csv", index=False)
    few = ("n.csv", "--target", "label", "--drop", "patient", *trees(2))
    done = invoke("compare", *few, "--quiet", cwd=tmp_path)
    line, hint = done.stdout.splitlines()[-2:]
    assert "(--group, --time) are for certify" in hint
    words = "Column 'patient' looks like an identifier and repeats: 400 rows of 100 values."
    assert line.startswith(f"found, and throws doubt on each claim: {words}")
    result = json.loads(invoke("compare", *few, "--json", cwd=tmp_path).stdout)
    assert [text[: len(words)] for text in result["findings"]] == [words]


def test_what_only_certify_looks_for_is_not_left_unsaid(invoke, numbers, tmp_path):
    """Rows beside each other that are alike are found by certify only."""
    each = numbers.iloc[::4].reset_index(drop=True)
    rows = each.iloc[np.arange(400) // 4] + np.random.default_rng(0).normal(0, 0.01, (400, 1))
    rows["label"] = np.random.default_rng(1).integers(2, size=400)
    rows.to_csv(tmp_path / "n.csv", index=False)
    few = ("n.csv", "--target", "label", *trees(2))
    made = json.loads(invoke("certify", *few, "--json", cwd=tmp_path).stdout)
    assert any("rows beside each other" in text for text in made["certificate"]["findings"])
    done = invoke("compare", *few, cwd=tmp_path)
    assert "rows beside each other" not in done.stdout
    assert "certify looks at rows and votes too" in " ".join(done.stdout.split())


def test_what_is_unusual_is_said(invoke, numbers, tmp_path):
    numbers.assign(a=1).to_csv(tmp_path / "n.csv", index=False)
    done = invoke("compare", "n.csv", *trees(2), cwd=tmp_path)
    notes = [line for line in done.stderr.splitlines() if line.startswith("note: ")]
    assert notes == [
        "note: column 'a': one value only",
        "note: column 'label': taken as the target, by its name; --target names another",
    ]


def test_a_task_keeps_its_own_test_rows(invoke, task_data, tmp_path):
    done = invoke("compare", "glass", *trees(5), "--json", cwd=tmp_path)
    result = json.loads(done.stdout)
    assert result["test_examples"] == 107
    assert result["training_examples"] + result["certification_examples"] == 107


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--test-size", 0), "--test-size must be a share between 0 and 1, got 0.0."),
        (("--test-size", 1), "--test-size must be a share between 0 and 1, got 1.0."),
        (("--certify-size", "nan"), "--certify-size must be a share between 0 and 1, got nan."),
        (("--test-size", 0.999), "has too few rows"),
        (("--delta", 0), "delta must be a number strictly between 0 and 1"),
        (("--voters", "oaks"), "--voters must be one of"),
    ],
)
def test_bad_options(arguments, words, invoke, numbers, tmp_path):
    numbers.to_csv(tmp_path / "numbers.csv", index=False)
    done = invoke("compare", "numbers.csv", "--quiet", *arguments, cwd=tmp_path, status=2)
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert words in line
    assert [path.name for path in tmp_path.iterdir()] == ["numbers.csv"]


def test_mixed_voters_are_tested_with_their_own_weights(invoke, numbers, tmp_path):
    numbers.to_csv(tmp_path / "numbers.csv", index=False)
    command = ("compare", "numbers.csv", "--voters", "mixed", "--n-voters", 3, "--json")
    own, learned, uniform = (
        json.loads(invoke(*command, *prior, "--out", "results", cwd=tmp_path).stdout)["votes"]
        for prior in ((), ("--prior", "learned"), ("--prior", "uniform"))
    )
    assert own == learned
    assert own["gibbs"]["risk_bound"] < uniform["gibbs"]["risk_bound"]


def test_a_learned_prior_helps_weak_voters(invoke, tmp_path):
    X, y = make_classification(600, 4, n_informative=4, n_redundant=0, random_state=0)
    pd.DataFrame(X).assign(y=y).to_csv(tmp_path / "weak.csv", index=False)
    command = ("compare", "weak.csv", "--voters", "stumps", "--json", "--out", "results")
    uniform, learned = (
        json.loads(invoke(*command, "--prior", prior, cwd=tmp_path).stdout)["votes"]["heldout"]
        for prior in ("uniform", "learned")
    )
    assert learned["risk_bound"] < 0.8 * uniform["risk_bound"]
    assert learned["test_risk"] < uniform["test_risk"]


def test_all_of_delta_tests_a_prior_that_was_learned(invoke, numbers, tmp_path):
    """As in `certify`: the best bound is the test of it."""
    numbers.to_csv(tmp_path / "numbers.csv", index=False)
    command = ("compare", "numbers.csv", "--voters", "stumps", "--json", "--out", "results")
    uniform, learned = (
        json.loads(invoke(*command, "--prior", prior, cwd=tmp_path).stdout)["votes"]
        for prior in ("uniform", "learned")
    )
    assert learned["best"]["risk_bound"] == learned["heldout"]["risk_bound"]
    assert uniform["best"]["risk_bound"] != uniform["heldout"]["risk_bound"]
