"""``certivote certify``: the claim, the files, the options, and what part B may not touch."""

import json
import re

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from certivote import Certificate, MajorityVoteClassifier, VoteStatistics
from certivote.bounds import get_bound
from certivote.voters.stumps import Stump
from options import trees
from reference import MOMENT_BOUNDS

CLAIM = re.compile(
    r"With (\S+)% confidence, the weighted majority vote of these \d+ voters errs on a new example "
    r"with probability at most (\d\.\d{4})\."
)
FILES = {"model.joblib", "model.skops", "certificate.json", "report.html"}

UNLIKE = {"files": {}, "made": {}}


def certificate_in(folder):
    return json.loads((folder / "certificate.json").read_text(encoding="utf-8"))


def pipeline_of(vote):
    """The fitted preprocessing, and the voters behind it."""
    (group,) = vote.voters_.groups
    return group.transformers["columns"], list(group.group)


# --- what is printed and written -----------------------------------------------------------------


def test_the_claim_and_its_neighbours_come_last(certified, round_up):
    certificate = Certificate.from_json(certified.certificate_path)
    *_, claim, observed, baseline = certified.stdout.splitlines()
    confidence, number = CLAIM.fullmatch(claim).groups()
    assert confidence == "95"
    assert number == round_up(certificate.risk_bound)
    assert 0 < float(number) < 1
    assert claim == certificate.claim
    # The weights were learned on these rows: no interval, and no test.
    assert re.fullmatch(
        r"Observed: \d+ errors on 150 examples, 0\.\d{4}, which the weights were learned from\.",
        observed,
    )
    assert baseline.startswith("Baseline: always ")


def test_the_neighbours_are_those_of_the_saved_vote(certified, loans, split, as_trained):
    rows_a, rows_b = (loans.iloc[part] for part in split(len(loans)))
    wrong = certified.vote.predict(as_trained(rows_b, certified.vote)) != rows_b["repaid"]
    frequent = rows_a["repaid"].value_counts().idxmax()
    others = rows_b["repaid"] != frequent
    neighbours = certified.certificate["neighbours"]
    assert neighbours["errors"] == wrong.sum() > 0
    assert (neighbours["baseline"], neighbours["baseline_from"]) == (frequent, "part A")
    assert neighbours["baseline_errors"] == others.sum()
    assert neighbours["only_vote_errs"] == (wrong & ~others).sum()
    assert neighbours["only_baseline_errs"] == (others & ~wrong).sum()
    assert certified.certificate["class_counts"] == rows_b["repaid"].value_counts().to_dict()


def test_four_files_are_written_and_named(certified, round_up):
    assert {path.name for path in certified.folder.iterdir()} == FILES
    start = "Written to loans-certificate: "
    (written,) = (line for line in certified.stdout.splitlines() if line.startswith(start))
    assert {*written.removeprefix(start).removesuffix(".").split(", ")} == FILES
    Certificate.from_json(certified.certificate_path).verify()
    page = (certified.folder / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert round_up(certified.certificate["risk_bound"]) in page
    assert "--data loans.csv" in page


def test_the_saved_vote_is_the_certified_one(certified):
    vote, fields = certified.vote, certified.certificate
    assert vote.weights_.tolist() == fields["weights"]
    # No file holds its own digest.
    assert vote.certificate_.to_dict() == fields | {"files": {}}
    assert vote.verbose == 0


def test_the_certificate_says_which_data_it_is_of(certified, loans):
    provenance = certified.certificate["provenance"]
    assert provenance["data"] == "loans.csv"
    assert provenance["target"] == "repaid"
    assert json.loads(provenance["dropped"]) == ["id"]
    assert provenance["seed"] == 0
    assert provenance["voter_samples"] + certified.certificate["n_samples"] == len(loans)
    assert any("whole file" in text for text in certified.certificate["assumptions"])


def test_assumptions_and_columns_are_printed_if_asked(certified, loans, invoke, tmp_path):
    assert "It assumes" not in certified.stdout
    options = ("--bound", "lacasse", "--drop", "id", *trees(10), "--out", "results")
    done = invoke("certify", certified.data, *options, "--explain", cwd=tmp_path)
    lines = done.stdout.splitlines()
    for text in certified.certificate["assumptions"]:
        assert f"  - {text}" in lines
    for topic, text in certified.certificate["checks"].items():
        assert f"  - {topic}: {text}" in lines
    kinds = {"id": "dropped", "income": "number", "age": "number", "branch": "number"}
    for name, kind in {**kinds, "city": "category", "repaid": "target"}.items():
        (line,) = (line for line in lines if line.startswith(f"  {name}  {kind}"))
        missing = int(loans[name].isna().sum())
        assert (f"{missing} missing" in line) is (missing > 0)
    assert lines[-3:] == certified.stdout.splitlines()[-3:]
    # What is asked for is printed, though what is not is left out.
    quiet = invoke("certify", certified.data, *options, "--explain", "--quiet", cwd=tmp_path)
    assert [line for line in quiet.stdout.splitlines() if line not in lines] == []
    assert "It assumes" in quiet.stdout


def test_the_number_is_that_of_the_trees_on_part_b(certified, loans, split, as_trained):
    columns, trees = pipeline_of(certified.vote)
    rows = loans.iloc[split(len(loans))[1]]
    X = columns.transform(as_trained(rows, certified.vote))
    votes = np.stack([tree.predict(X) for tree in trees], axis=1)
    statistics = VoteStatistics.from_votes(votes, rows["repaid"].to_numpy(dtype=str))
    bound = get_bound("lacasse", delta=0.05, constant="exact")
    expected = bound.value(statistics, certified.certificate["weights"])
    assert certified.certificate["risk_bound"] == expected
    assert certified.certificate["statistics_sha256"] == statistics.sha256


def test_a_vacuous_certificate_says_so(invoke, tmp_path):
    rng = np.random.default_rng(0)
    noise = pd.DataFrame({"x": rng.random(60), "y": rng.integers(2, size=60)})
    noise.to_csv(tmp_path / "noise.csv", index=False)
    done = invoke("certify", "noise.csv", "--bound", "lacasse", *trees(3), "-q", cwd=tmp_path)
    assert "at most 1.0000. That says nothing" in done.stdout
    assert certificate_in(tmp_path / "noise-certificate")["risk_bound"] == 1.0


# --- forms of data -------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["semicolon.csv", "tab.tsv", "bar.txt", "loans.parquet"])
def test_every_form_of_a_table_gives_the_same_vote(form, certified, invoke, loans, tmp_path):
    separator = {"semicolon.csv": ";", "tab.tsv": "\t", "bar.txt": "|"}.get(form)
    if separator is None:
        loans.to_parquet(tmp_path / form)
    else:
        loans.to_csv(tmp_path / form, sep=separator, index=False)
    arguments = ("--drop", "id", *trees(10), "--bound", "lacasse", "--quiet")
    invoke("certify", form, *arguments, cwd=tmp_path)
    fields = certificate_in(tmp_path / f"{form.split('.')[0]}-certificate")
    for name in ("risk_bound", "weights", "evidence", "statistics_sha256"):
        assert fields[name] == certified.certificate[name]


def test_no_data_at_all_is_breast_cancer(run, invoke, tmp_path):
    run("certify", *trees(10), cwd=tmp_path)
    fields = certificate_in(tmp_path / "breast-cancer-certificate")
    assert fields["n_samples"] == 285  # half of 569, rounded up
    assert fields["n_voters"] == 10
    named = invoke("certify", "breast-cancer", *trees(10), "--json", cwd=tmp_path)
    again = json.loads(named.stdout)["certificate"]
    # A certificate says when it was made, and the model holds it.
    assert again | UNLIKE == fields | UNLIKE


def test_a_task_of_the_paper_shows_its_test_error(invoke, task_data, tmp_path):
    done = invoke("certify", "glass", *trees(10), cwd=tmp_path)
    fields = certificate_in(tmp_path / "glass-certificate")
    assert fields["provenance"]["data"] == "glass"
    assert fields["n_samples"] == 54
    (line,) = (line for line in done.stdout.splitlines() if "test rows" in line)
    errors = 107 * float(re.search(r"(\d\.\d{4})\.", line)[1])
    assert errors == pytest.approx(round(errors), abs=0.006)


# --- options -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MOMENT_BOUNDS)
def test_bound_delta_and_constant(name, invoke, certified, exact, round_up, tmp_path):
    done = invoke(
        *("certify", certified.data, "--drop", "id", *trees(4), "--out", "results"),
        *("--bound", name, "--delta", 0.01, "--constant", "maurer", "--quiet"),
        cwd=tmp_path,
    )
    fields = certificate_in(tmp_path / "results")
    assert fields["bound"] == name
    parameters = fields["bound_parameters"]
    assert parameters.items() >= {"delta": 0.01, "constant": "maurer"}.items()
    confidence, number = CLAIM.match(done.stdout).groups()
    assert (confidence, number) == ("99", round_up(fields["risk_bound"]))
    evidence = fields["evidence"]
    computed = exact.from_moments(
        *(name, evidence["gibbs_risk"], evidence["joint_error"], fields["kl"]),
        *(fields["n_samples"], 0.01, "maurer"),
    )
    assert fields["risk_bound"] == pytest.approx(float(min(computed, 1)), abs=1e-9)


def test_target_drop_and_categorical(invoke, certified, loans, tmp_path):
    invoke(
        *("certify", certified.data, "--target", "city", "--drop", "id", "--drop", "repaid"),
        *("--categorical", "branch", *trees(4), "--quiet", "--out", "results"),
        cwd=tmp_path,
        status=2,  # some cities are missing
    )
    known = loans.dropna(subset=["city"])
    known.to_csv(tmp_path / "known.csv", index=False)
    invoke(
        *("certify", "known.csv", "--target", "city", "--drop", "id", "--drop", "repaid"),
        *("--categorical", "branch", *trees(4), "--quiet", "--out", "results"),
        cwd=tmp_path,
    )
    vote = joblib.load(tmp_path / "results" / "model.joblib")
    assert vote.classes_.tolist() == ["Lyon", "Metz", "Paris"]
    assert vote.feature_names_in_.tolist() == ["income", "age", "branch"]
    encoder = pipeline_of(vote)[0].encoder_
    (names,) = encoder.categories_
    assert set(names) <= {str(number) for number in range(101, 110)}
    provenance = certificate_in(tmp_path / "results")["provenance"]
    assert json.loads(provenance["dropped"]) == ["id", "repaid"]
    assert json.loads(provenance["categorical"]) == ["branch"]


def test_a_column_called_class_is_the_target_wherever_it_is(invoke, numbers, tmp_path):
    first = numbers.rename(columns={"label": "Class"})[["Class", *"abcde"]]
    first.to_csv(tmp_path / "first.csv", index=False)
    invoke("certify", "first.csv", *trees(2), "--quiet", cwd=tmp_path)
    assert certificate_in(tmp_path / "first-certificate")["provenance"]["target"] == "Class"


def test_certify_size_and_seed_draw_the_split(invoke, numbers, split, tmp_path):
    numbers.to_csv(tmp_path / "numbers.csv", index=False)
    invoke(
        *("certify", "numbers.csv", "--certify-size", 0.33, "--seed", 7, *trees(5)),
        *("--bound", "lacasse"),
        *("--quiet", "--out", "results"),
        cwd=tmp_path,
    )
    fields = certificate_in(tmp_path / "results")
    part_a, part_b = split(len(numbers), seed=7, part_b=0.33)
    assert fields["n_samples"] == len(part_b) == 132
    assert fields["provenance"]["voter_samples"] == len(part_a)
    assert fields["provenance"]["certify_size"] == 0.33
    grown = pipeline_of(joblib.load(tmp_path / "results" / "model.joblib"))[1]
    rows, labels = numbers.iloc[part_b], numbers["label"].to_numpy()[part_b]
    X = rows.drop(columns="label").to_numpy(dtype=np.float32)
    errors = [np.count_nonzero(tree.predict(X) != labels) for tree in grown]
    mean = np.average(errors, weights=fields["weights"]) / len(part_b)
    assert fields["evidence"]["gibbs_risk"] == pytest.approx(mean, abs=1e-12)
    # Trees that are grown to the end know their own rows.
    X_a = numbers.iloc[part_a].drop(columns="label").to_numpy(dtype=np.float32)
    for tree in grown:
        assert np.array_equal(tree.predict(X_a), numbers["label"].to_numpy()[part_a])


@pytest.mark.parametrize("kind", ["trees", "forest", "extra-trees", "stumps"])
def test_kinds_of_voters(kind, invoke, numbers, split, tmp_path):
    numbers.to_csv(tmp_path / "numbers.csv", index=False)
    size = () if kind == "stumps" else ("--n-voters", 6)
    invoke("certify", "numbers.csv", "--voters", kind, *size, "--quiet", cwd=tmp_path)
    folder = tmp_path / "numbers-certificate"
    voters = pipeline_of(joblib.load(folder / "model.joblib"))[1]
    fields = certificate_in(folder)
    assert fields["n_voters"] == len(voters)
    part_a = split(len(numbers))[0]
    if kind == "stumps":
        # Five columns, ten thresholds, two directions.
        assert len(voters) == 100
        assert all(isinstance(voter, Stump) for voter in voters)
        return
    assert len(voters) == 6
    expected = ExtraTreeClassifier if kind == "extra-trees" else DecisionTreeClassifier
    assert {type(voter) for voter in voters} == {expected}
    roots = {int(voter.tree_.n_node_samples[0]) for voter in voters}
    # A bag leaves out about a third of the rows.
    assert (max(roots) < 0.8 * len(part_a)) if kind == "forest" else (roots == {len(part_a)})


def test_three_tenths_of_many_rows_certify(invoke, tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=5000)
    pd.DataFrame({"x": y + rng.normal(size=5000), "y": y}).to_csv(tmp_path / "m.csv", index=False)
    invoke("certify", "m.csv", *trees(2), "--quiet", cwd=tmp_path)
    fields = certificate_in(tmp_path / "m-certificate")
    assert fields["n_samples"] == 1500
    assert fields["provenance"]["certify_size"] == 0.3


def test_mixed_voters_come_with_weights_that_part_b_tests(invoke, numbers, tmp_path):
    numbers.to_csv(tmp_path / "numbers.csv", index=False)
    command = ("certify", "numbers.csv", "--voters", "mixed", "--n-voters", 3, "--bound", "heldout")
    invoke(*command, "--quiet", cwd=tmp_path)
    folder = tmp_path / "numbers-certificate"
    fields = certificate_in(folder)
    assert fields["n_voters"] == 3 * 3 + 5
    assert fields["weights"] == fields["prior"]
    assert len(set(fields["prior"])) > 1
    assert fields["provenance"]["prior"] == "learned on part A"
    files = ("--model", folder / "model.joblib", "--data", "numbers.csv")
    again = invoke("verify", folder / "certificate.json", *files, cwd=tmp_path)
    assert "checked: the prior: it follows from the errors on part A" in again.stdout


def test_quiet_says_only_the_claim_and_jobs_change_nothing(run, certified, loans, tmp_path):
    loans.to_csv(tmp_path / "loans.csv", index=False)
    done = run(
        *("certify", "loans.csv", "--drop", "id", *trees(10), "--jobs", 2, "--quiet"),
        *("--bound", "lacasse"),
        *("--out", "elsewhere"),
        cwd=tmp_path,
    )
    assert done.stdout == f"{certified.claim}\n"
    assert done.stderr == ""
    assert {path.name for path in tmp_path.iterdir()} == {"loans.csv", "elsewhere"}
    # The same seed: the same certificate, to the last bit, but for when it was made.
    ours = certificate_in(tmp_path / "elsewhere")
    assert ours | UNLIKE == certified.certificate | UNLIKE


def test_json_and_another_seed(run, certified, loans, round_up, tmp_path):
    loans.to_csv(tmp_path / "loans.csv", index=False)
    done = run(
        *("certify", "loans.csv", "--drop", "id", *trees(10), "--seed", 1, "--json"),
        cwd=tmp_path,
    )
    result = json.loads(done.stdout)
    assert done.stderr == ""
    assert result["certificate"] == certificate_in(tmp_path / "loans-certificate")
    assert {path.split("/")[-1] for path in result["files"]} == FILES
    _, number = CLAIM.match(result["statement"]).groups()
    assert number == round_up(result["certificate"]["risk_bound"])
    assert min(result["seconds"].values()) >= 0
    assert result["certificate"]["statistics_sha256"] != certified.certificate["statistics_sha256"]
    assert result["certificate"]["risk_bound"] != certified.certificate["risk_bound"]


def test_quiet_is_quiet_about_a_category_that_is_new_in_part_b(invoke, loans, split, tmp_path):
    changed = loans.copy()
    changed.loc[split(len(loans))[1][0], "city"] = "Brest"
    changed.to_csv(tmp_path / "loans.csv", index=False)
    done = invoke("certify", "loans.csv", "--drop", "id", *trees(3), "-q", cwd=tmp_path)
    assert done.stderr == ""


# --- part B does not touch the preprocessing -----------------------------------------------------


@pytest.fixture(scope="module")
def two_fits(invoke, loans, split, tmp_path_factory):
    """The same table twice; the second has a new city and absurd incomes in part B."""
    folder = tmp_path_factory.mktemp("part_b")
    changed = loans.copy()
    part_b = split(len(loans))[1]
    changed.loc[part_b[:40], "income"] = 1e6
    changed.loc[part_b[40:60], "city"] = "Atlantis"
    changed.loc[part_b[60:70], "age"] = np.nan
    for name, frame in (("plain", loans), ("changed", changed)):
        frame.to_csv(folder / f"{name}.csv", index=False)
        invoke("certify", f"{name}.csv", "--drop", "id", *trees(5), "--quiet", cwd=folder)
    votes = [
        joblib.load(folder / f"{name}-certificate" / "model.joblib")
        for name in ("plain", "changed")
    ]
    return *votes, changed


def test_preprocessing_is_that_of_part_a(two_fits, split):
    _, vote, frame = two_fits
    part_a = frame.iloc[split(len(frame))[0]]
    columns = pipeline_of(vote)[0]
    imputer = columns.imputer_
    medians = part_a[["income", "age", "branch"]].median()
    assert imputer.statistics_.tolist() == medians.tolist()
    # All rows together would have said something else: the test can fail.
    assert frame["income"].median() > medians["income"]
    (cities,) = columns.encoder_.categories_
    assert list(cities[:-1]) == sorted(part_a["city"].dropna().unique())
    assert pd.isna(cities[-1])
    assert frame["city"].nunique() > len(cities[:-1])


def test_preprocessing_gives_what_pandas_gives_by_hand(two_fits, split, as_trained):
    _, vote, frame = two_fits
    part_a = frame.iloc[split(len(frame))[0]]
    given = pipeline_of(vote)[0].transform(as_trained(frame, vote))
    by_hand = np.column_stack(
        [
            *(frame[name].fillna(part_a[name].median()) for name in ("income", "age", "branch")),
            frame["income"].isna(),  # the only number that part A misses
            *(frame["city"] == city for city in ("Lyon", "Metz", "Paris")),
            frame["city"].isna(),
        ]
    ).astype(float)
    assert np.array_equal(given, by_hand)


def test_trees_do_not_feel_what_is_in_part_b(two_fits):
    before, after = (pipeline_of(vote)[1] for vote in two_fits[:2])
    for first, second in zip(before, after, strict=True):
        assert np.array_equal(first.tree_.threshold, second.tree_.threshold)
        assert np.array_equal(first.tree_.feature, second.tree_.feature)
        assert np.array_equal(first.tree_.value, second.tree_.value)


def test_many_categories_become_fifty(invoke, tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=400)
    frame = pd.DataFrame({"word": [f"w{i % 80}" for i in range(400)], "x": y + rng.random(400)})
    frame.assign(y=y).to_csv(tmp_path / "words.csv", index=False)
    invoke("certify", "words.csv", *trees(3), "--quiet", cwd=tmp_path)
    columns = pipeline_of(joblib.load(tmp_path / "words-certificate" / "model.joblib"))[0]
    assert columns.transform(frame.astype({"word": object})).shape == (400, 1 + 50)


@pytest.mark.parametrize("bound", [(), ("--bound", "heldout")], ids=["default", "heldout"])
def test_the_prior_vote_is_tested(bound, invoke, tmp_path):
    command = ("certify", "breast-cancer", *bound, "--voters", "stumps", "--json")
    done = invoke(*command, "--prior", "learned", "--out", "results", cwd=tmp_path)
    fields = json.loads(done.stdout)["certificate"]
    assert fields["weights"] == fields["prior"]
    assert fields["kl"] == 0.0
    assert fields["provenance"]["prior"] == "learned on part A"
    errors, m = fields["evidence"]["vote_errors"], fields["evidence"]["vote_size"]
    limit = binomtest(errors, m, alternative="less").proportion_ci(0.95, method="exact").high
    assert fields["risk_bound"] == pytest.approx(limit, rel=1e-9)
    saved = ("results/certificate.json", "--model", "results/model.joblib")
    invoke("verify", *saved, "--data", "breast-cancer", cwd=tmp_path)


def test_priors_that_cannot_be(invoke, certified, tmp_path):
    wrong = invoke("certify", "--prior", "guessed", cwd=tmp_path, status=2)
    assert "--prior must be uniform or learned" in wrong.stderr
    model = ("--model", certified.model_path, "--prior", "learned")
    without = invoke("certify", certified.data, *model, cwd=tmp_path, status=2)
    assert "--prior learned needs training rows" in without.stderr


@pytest.mark.parametrize("seed", [0, 7])
def test_python_gives_the_same_number(seed, invoke, numbers, tmp_path):
    """Of the same rows and seed, with what is the default in both."""
    numbers.to_csv(tmp_path / "numbers.csv", index=False)
    options = () if seed == 0 else ("--seed", seed)
    invoke("certify", "numbers.csv", "--quiet", *options, cwd=tmp_path)
    fields = certificate_in(tmp_path / "numbers-certificate")
    vote = MajorityVoteClassifier(random_state=seed)
    vote.fit(numbers.drop(columns="label").to_numpy(), numbers["label"].to_numpy())
    own = vote.certificate_.to_dict()
    assert 0.0 < fields["risk_bound"] < 1.0
    for name in ("risk_bound", "statistics_sha256", "bound", "bound_parameters", "evidence"):
        assert fields[name] == own[name]
    assert fields["weights"] == own["weights"]
    assert fields["provenance"].items() >= own["provenance"].items()


def test_up_to_ten_classes_are_listed(invoke, numbers, tmp_path):
    for n in (10, 11):
        labels = [f"c{i % n:02}" for i in range(400)]
        numbers.assign(label=labels).to_csv(tmp_path / "t.csv", index=False)
        done = invoke("certify", "t.csv", *trees(3), cwd=tmp_path)
        named = ", ".join(f"c{i:02} (40)" for i in range(10)) if n == 10 else "11 classes"
        assert f"; {named}.\n" in done.stdout
