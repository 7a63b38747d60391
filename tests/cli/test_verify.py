"""``certivote verify``: 0 if what was checked is right, 1 if not, 2 if it is no certificate."""

import copy
import json
from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from certivote import Certificate, MajorityVoteClassifier, certify_model
from certivote.bounds import get_bound
from certivote.certificate import Neighbours
from options import trees


@pytest.fixture
def tampered(certified, tmp_path, round_up):
    """Write a changed certificate, with a claim that fits its numbers, and return its path."""

    def write(change):
        fields = copy.deepcopy(certified.certificate)
        change(fields)
        percent = f"{100 * (1 - fields['bound_parameters']['delta']):g}%"
        fields["claim"] = (
            f"With {percent} confidence, the weighted majority vote of these {fields['n_voters']} "
            "voters errs on a new example with probability at most "
            f"{round_up(fields['risk_bound'])}."
        )
        path = tmp_path / "certificate.json"
        path.write_text(json.dumps(fields), encoding="utf-8")
        return path

    return write


# --- those that hold up --------------------------------------------------------------------------


ARITHMETIC = "The arithmetic is right. Votes, labels and voters were not checked."


def test_the_arithmetic_of_a_good_certificate_is_right(run, certified, tmp_path):
    done = run("verify", certified.certificate_path, cwd=tmp_path)
    lines = done.stdout.splitlines()
    assert ARITHMETIC in lines
    assert "holds up" not in done.stdout
    assert "It claims: " + certified.claim in lines
    assert sum(line.startswith("checked: ") for line in lines) == 1
    left = [line for line in lines if line.startswith("not checked: ")]
    assert "--model" in left[0]
    assert "voters" in left[1]
    assert done.stderr == ""


def test_a_good_certificate_holds_up_with_model_and_data(invoke, certified, tmp_path):
    everything = ("--model", certified.model_path, "--data", certified.data)
    done = invoke("verify", certified.certificate_path, *everything, cwd=tmp_path)
    lines = done.stdout.splitlines()
    assert lines[-1] == "The certificate holds up, if what it assumes is true."
    assert sum(line.startswith("checked: ") for line in lines) == 3
    assert "checked: the prior: it is uniform" in lines
    left = [line for line in lines if line.startswith("not checked: ")]
    assert left == ["not checked: that the voters were trained on part A only"]
    assert lines[0] == "It assumes:"
    assumed = [line for line in lines if line.startswith("  - ")]
    assert assumed == [f"  - {text}" for text in certified.certificate["assumptions"]]
    assert done.stderr.startswith("note: ")
    assert "runs code" in done.stderr


def test_rewriting_the_claim_changes_nothing_else(tampered, certified, invoke, tmp_path):
    path = tampered(lambda fields: None)
    assert json.loads(path.read_text()) == certified.certificate
    invoke("verify", path, cwd=tmp_path)


def test_a_claim_may_be_more_modest_than_the_evidence(tampered, invoke, tmp_path):
    path = tampered(lambda fields: fields.update(risk_bound=fields["risk_bound"] + 0.1))
    invoke("verify", path, cwd=tmp_path)


def test_quiet_and_json(invoke, certified, tampered, tmp_path):
    done = invoke("verify", certified.certificate_path, "--quiet", cwd=tmp_path)
    assert (done.stdout, done.stderr) == (f"{ARITHMETIC}\n", "")
    done = invoke("verify", certified.certificate_path, "--json", cwd=tmp_path)
    result = json.loads(done.stdout)
    assert result["holds"] is None  # nobody knows yet
    assert result["verdict"] == ARITHMETIC
    assert len(result["checked"]) == 1
    assert len(result["not_checked"]) == 3
    assert result["findings"] == []
    assert result["assumptions"] == certified.certificate["assumptions"]
    assert result["statement"] == certified.claim
    everything = ("--model", certified.model_path, "--data", certified.data, "--json")
    done = invoke("verify", certified.certificate_path, *everything, cwd=tmp_path)
    result = json.loads(done.stdout)
    assert result["holds"] is True
    assert len(result["checked"]) == 3
    assert len(result["not_checked"]) == 1
    path = tampered(lambda fields: fields.update(risk_bound=0.01))
    done = invoke("verify", path, "--json", cwd=tmp_path, status=1)
    result = json.loads(done.stdout)
    assert result["holds"] is False
    assert "0.01" in result["reason"]
    assert done.stderr == ""


# --- those that do not ---------------------------------------------------------------------------


def scale(fields, name, factor):
    fields["evidence"][name] *= factor


def even_out(fields):
    fields["weights"] = [1 / fields["n_voters"]] * fields["n_voters"]


def make_larger(fields):
    fields["n_samples"] *= 10


def make_all_larger(fields):
    fields["n_samples"] *= 10
    for name in ("gibbs_size", "joint_size"):
        fields["evidence"][name] *= 10


FLATTERY = {
    "risk_bound": lambda fields: fields.update(risk_bound=fields["risk_bound"] - 1e-4),
    "risk_bound a little": lambda fields: fields.update(risk_bound=fields["risk_bound"] - 1e-9),
    "weights": even_out,
    "kl": lambda fields: fields.update(kl=fields["kl"] / 2),
    "kl nothing": lambda fields: fields.update(kl=0.0),
    "prior": lambda fields: fields.update(prior=fields["weights"]),
    "n_samples": make_larger,
    "some sizes": make_all_larger,
    "gibbs_risk": lambda fields: scale(fields, "gibbs_risk", 0.9),
    "joint_error": lambda fields: scale(fields, "joint_error", 0.9),
    "disagreement": lambda fields: scale(fields, "disagreement", 1.1),
    "gibbs_size": lambda fields: scale(fields, "gibbs_size", 2),
    "joint_size": lambda fields: scale(fields, "joint_size", 2),
    "disagreement_size": lambda fields: scale(fields, "disagreement_size", 2),
    "delta": lambda fields: fields["bound_parameters"].update(delta=0.01),
    "assumptions": lambda fields: fields.update(assumptions=fields["assumptions"][1:]),
    "bound": lambda fields: fields.update(bound="mcallester"),
    "a field of one's own": lambda fields: fields.update(audited="yes"),
}


@pytest.mark.parametrize("what", FLATTERY)
def test_flattery_does_not_hold_up(what, tampered, invoke, tmp_path):
    done = invoke("verify", tampered(FLATTERY[what]), cwd=tmp_path, status=1)
    assert "holds up" not in done.stdout
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: the certificate does not hold up: ")


def test_a_claim_that_says_less_than_the_numbers(certified, invoke, tmp_path):
    fields = copy.deepcopy(certified.certificate)
    fields["claim"] = fields["claim"].replace("at most 0.", "at most 0.0")
    assert fields["claim"] != certified.certificate["claim"]
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(fields))
    done = invoke("verify", path, cwd=tmp_path, status=1)
    assert "claim must say what the numbers say" in done.stderr


def test_a_forgery_whose_arithmetic_is_right_needs_the_data(tampered, certified, invoke, tmp_path):
    def forge(fields):
        fields["n_samples"] *= 10
        evidence = fields["evidence"]
        for name in ("gibbs_size", "joint_size", "disagreement_size"):
            evidence[name] *= 10
        counts = {name: n * 10 for name, n in fields["class_counts"].items()}
        beside = {name: fields["neighbours"][name] for name in Neighbours.__dataclass_fields__}
        beside |= {name: 10 * n for name, n in beside.items() if type(n) is int}
        fields |= {"class_counts": counts, "neighbours": Neighbours(**beside).to_dict()}
        bound = get_bound("lacasse", **fields["bound_parameters"])
        fields["risk_bound"] = bound.from_evidence(evidence, fields["weights"], fields["prior"])

    path = tampered(forge)
    assert json.loads(path.read_text())["risk_bound"] < certified.certificate["risk_bound"]
    done = invoke("verify", path, cwd=tmp_path)
    assert ARITHMETIC in done.stdout.splitlines()
    assert "holds up" not in done.stdout
    everything = ("--model", certified.model_path, "--data", certified.data)
    invoke("verify", path, *everything, cwd=tmp_path, status=1)


# What each of these says is printed, or changes what is assumed; none is known to the model.
UNKNOWN = {
    "prior": {"prior": "given by the user"},
    "prior learned": {"prior": "learned on part A"},
    "look": {"look": 1, "delta_of_all_looks": 0.1},
    "added samples": {"added_samples": 10},
    "frozen parts": {"frozen_parts": 1},
    "fewer voters": {"fewest_within": 0.01, "fewest_by": "part A"},
    "other data": {"data": "audited.csv"},
    "other digest": {"data_sha256": "0" * 64},
    "other columns": {"dropped": "[]"},
    "other kinds": {"categorical": '["branch"]'},
    "no data": {"data": None, "data_sha256": None, "target": None, "dropped": None},
}


@pytest.mark.parametrize("change", UNKNOWN.values(), ids=UNKNOWN)
def test_provenance_that_the_model_does_not_know(change, certified, invoke, tmp_path):
    honest = Certificate.from_dict(certified.certificate)
    origin = {**honest.provenance, **change}
    origin = {name: value for name, value in origin.items() if value is not None}
    replace(honest, provenance=origin).to_json(tmp_path / "certificate.json")
    invoke("verify", "certificate.json", cwd=tmp_path)
    everything = ("--model", certified.model_path, "--data", certified.data)
    done = invoke("verify", "certificate.json", *everything, cwd=tmp_path, status=1)
    assert "is claimed to be" in done.stderr


def test_unlabelled_examples_that_were_not_used(tampered, invoke, tmp_path):
    path = tampered(lambda fields: fields["provenance"].update(unlabelled_samples=100))
    done = invoke("verify", path, cwd=tmp_path, status=1)
    assert "must not have unlabelled_samples" in done.stderr


def test_another_file_is_told_in_words(certified, loans, invoke, tmp_path):
    loans.to_csv(tmp_path / "copy.csv", index=False, lineterminator="\r\n")
    everything = ("--model", certified.model_path, "--data", "copy.csv")
    done = invoke("verify", certified.certificate_path, *everything, cwd=tmp_path)
    left = [line for line in done.stdout.splitlines() if line.startswith("not checked: ")]
    assert "its name is 'copy.csv', and the certificate says 'loans.csv'" in left[1]
    assert "it is not, byte for byte, but it gives the same counts" in left[2]
    assert len(left) == 3


def test_findings_are_repeated(certified, invoke, tmp_path):
    """By the arithmetic alone, and with the model; and a model does not let them be left out."""
    vote = copy.deepcopy(certified.vote)
    found = ("Half of the examples have a twin.",)
    vote.certificate_ = replace(vote.certificate_, findings=found)
    joblib.dump(vote, tmp_path / "model.joblib")
    vote.certificate_.to_json(tmp_path / "certificate.json")
    everything = ("--model", "model.joblib", "--data", certified.data)
    for options in ((), everything):
        done = invoke("verify", "certificate.json", *options, cwd=tmp_path)
        line = "found, and throws doubt on the claim: Half of the examples have a twin."
        assert line in done.stdout.splitlines()
        done = invoke("verify", "certificate.json", *options, "--quiet", cwd=tmp_path)
        assert done.stdout.splitlines()[:-1] == [line]
        done = invoke("verify", "certificate.json", *options, "--json", cwd=tmp_path)
        assert json.loads(done.stdout)["findings"] == list(found)
    replace(vote.certificate_, findings=()).to_json(tmp_path / "clean.json")
    done = invoke("verify", "clean.json", *everything, cwd=tmp_path, status=1)
    assert "leaves out a finding" in done.stderr


def test_a_prior_of_the_user_is_not_among_what_was_checked(numbers, invoke, tmp_path):
    numbers.to_csv(tmp_path / "numbers.csv", index=False)
    X, y = numbers.drop(columns="label"), numbers["label"].to_numpy()
    vote = MajorityVoteClassifier(
        "trees", n_voters=4, prior=[0.4, 0.2, 0.2, 0.2], random_state=0
    ).fit(X, y)
    joblib.dump(vote, tmp_path / "model.joblib")
    vote.certificate_.to_json(tmp_path / "certificate.json")
    everything = ("--model", "model.joblib", "--data", "numbers.csv")
    done = invoke("verify", "certificate.json", *everything, "--json", cwd=tmp_path)
    result = json.loads(done.stdout)
    assert result["holds"] is True
    assert not any("prior" in text for text in result["checked"])
    assert any("prior, which the user gave" in text for text in result["not_checked"])
    assert any("prior was given by the user" in text for text in result["assumptions"])
    # A model that was fitted in Python knows no file, and its certificate names none.
    assert any("the certificate says nothing" in text for text in result["not_checked"])


def test_what_is_checked_of_new_data(certified, loans, invoke, tmp_path):
    """The vote certified on rows that it has not seen, and the certificate verified there."""
    new = loans.assign(age=loans["age"] + 0.5)
    new.to_csv(tmp_path / "new.csv", index=False)
    arguments = ("--model", certified.model_path, "--drop", "id")
    invoke("certify", "new.csv", *arguments, "--out", "out", "--quiet", cwd=tmp_path)
    everything = ("--model", "out/model.joblib", "--data", "new.csv")
    done = invoke("verify", "out/certificate.json", *everything, "--json", cwd=tmp_path)
    result = json.loads(done.stdout)
    assert "the prior: it is the weights of the model" in result["checked"]
    (left,) = result["not_checked"]
    assert "neither the voters nor their weights have seen these examples" in left


def test_other_labels(certified, loans, run, tmp_path):
    other = loans.copy()
    other["repaid"] = np.where(loans["repaid"] == "yes", "no", "yes")
    other.to_csv(tmp_path / "loans.csv", index=False)
    everything = ("--model", certified.model_path, "--data", "loans.csv")
    arguments = ("verify", certified.certificate_path, *everything)
    done = run(*arguments, cwd=tmp_path, status=1)
    assert "error: the certificate does not hold up: the counts are not those" in done.stderr


def test_one_other_label_in_part_b(certified, loans, split, invoke, tmp_path):
    other = loans.copy()
    row = split(len(loans))[1][0]
    other.loc[row, "repaid"] = "no" if other.loc[row, "repaid"] == "yes" else "yes"
    other.to_csv(tmp_path / "loans.csv", index=False)
    everything = ("--model", certified.model_path, "--data", "loans.csv")
    invoke("verify", certified.certificate_path, *everything, cwd=tmp_path, status=1)


def test_rows_in_another_order(certified, loans, invoke, tmp_path):
    loans.iloc[::-1].to_csv(tmp_path / "loans.csv", index=False)
    everything = ("--model", certified.model_path, "--data", "loans.csv")
    invoke("verify", certified.certificate_path, *everything, cwd=tmp_path, status=1)


def test_another_model(certified, tampered, invoke, tmp_path):
    other = copy.deepcopy(certified.vote)
    # The same weights, but the voters in another order: another vote.
    (group,) = other.voters_.groups
    group.group.members = group.group.members[::-1]
    joblib.dump(other, tmp_path / "reversed.joblib")
    arguments = ("--seed", 3, *trees(10), "--drop", "id", "--out", "other", "--quiet")
    invoke("certify", certified.data, *arguments, cwd=tmp_path)
    # Also by its votes alone, where no digest tells.
    alone = tampered(lambda fields: fields.update(files={}))
    for model in ("other/model.joblib", "reversed.joblib"):
        everything = ("--model", model, "--data", certified.data)
        for certificate in (certified.certificate_path, alone):
            done = invoke("verify", certificate, *everything, cwd=tmp_path, status=1)
            assert "does not hold up" in done.stderr


def test_numbers_that_are_names_are_read_as_such_again(certified, invoke, tmp_path):
    arguments = ("--drop", "id", "--categorical", "branch", "--target", "repaid")
    invoke("certify", certified.data, *arguments, *trees(4), "--quiet", cwd=tmp_path)
    everything = ("--model", "loans-certificate/model.joblib", "--data", certified.data)
    invoke("verify", "loans-certificate/certificate.json", *everything, cwd=tmp_path)


# --- those that cannot be checked ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"not JSON", "not a JSON file"),
        (b"\xff\xfe\x00", "not a certificate, which is a file of text"),
        (b"", "not a JSON file"),
        (b'{"risk_bound": 0.1}', "format must be"),
        (b"[1, 2]", "must be a JSON object"),
        (b"null", "must be a JSON object"),
    ],
)
def test_what_is_no_certificate_cannot_be_checked(content, words, invoke, tmp_path):
    (tmp_path / "certificate.json").write_bytes(content)
    done = invoke("verify", "certificate.json", cwd=tmp_path, status=2)
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert words in line


def test_another_format_cannot_be_checked(tampered, invoke, tmp_path):
    path = tampered(lambda fields: fields.update(format_version=3))
    done = invoke("verify", path, cwd=tmp_path, status=2)
    assert "another version of certivote" in done.stderr


def test_a_missing_file_cannot_be_checked(invoke, tmp_path):
    done = invoke("verify", "certificate.json", cwd=tmp_path, status=2)
    assert done.stderr == "error: certificate.json: No such file or directory.\n"


def test_model_and_data_go_together(certified, invoke, tmp_path):
    for option in (("--model", certified.model_path), ("--data", certified.data)):
        done = invoke("verify", certified.certificate_path, *option, cwd=tmp_path, status=2)
        assert "must be given together" in done.stderr


def test_a_list_of_models_cannot_be_checked(certified, tampered, invoke, tmp_path):
    joblib.dump(list(certified.vote.voters_), tmp_path / "trees.joblib")
    everything = ("--model", "trees.joblib", "--data", certified.data)
    path = tampered(lambda fields: fields.update(files={}))
    done = invoke("verify", path, *everything, cwd=tmp_path, status=2)
    assert "error: trees.joblib holds several classifiers: give the model that" in done.stderr


# --- what unlabelled rows said -------------------------------------------------------------------


@pytest.fixture
def begun(tmp_path):
    """Write a model, a certificate whose abstaining began by others.csv, and these files."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=1200) > 0).astype(int)
    names = ["a", "b", "c"]

    def write(make=certify_model, named=True):
        table = pd.DataFrame(X, columns=names)
        rows = table if named else X
        model = LogisticRegression().fit(rows[:300], y[:300])
        certificate = make(model, rows[300:600], y[300:600], abstain=0.1, unlabelled=rows[600:900])
        replace(certificate, provenance=certificate.provenance | {"target": "y"}).to_json(
            tmp_path / "certificate.json"
        )
        joblib.dump(model, tmp_path / "model.joblib")
        table[300:600].assign(y=y[300:600]).to_csv(tmp_path / "new.csv", index=False)
        table[600:900].to_csv(tmp_path / "others.csv", index=False)
        # Answers are surer here: by these rows testing would begin elsewhere.
        (3 * table[900:]).to_csv(tmp_path / "surer.csv", index=False)

    write()
    return write


WITH_ALL = ("verify", "certificate.json", "--model", "model.joblib", "--data", "new.csv")


def test_a_start_that_unlabelled_rows_said_is_not_checked_and_that_is_said(begun, invoke, tmp_path):
    def without(*args, unlabelled, **options):
        return certify_model(*args, **options)

    for make, n_lines in ((without, 0), (certify_model, 1)):
        begun(make)
        done = invoke(*WITH_ALL, cwd=tmp_path)
        assert "The certificate holds up" in done.stdout
        assert done.stdout.count("not checked: at which level testing began") == n_lines
        assert done.stdout.count("with --unlabelled") == n_lines
        assert "level" not in done.stderr


@pytest.mark.parametrize("named", [True, False])
def test_a_start_is_found_again_on_the_unlabelled_rows(begun, invoke, tmp_path, named):
    begun(named=named)
    done = invoke(*WITH_ALL, "--unlabelled", "others.csv", cwd=tmp_path)
    assert "checked: at which level testing began: it was found again" in done.stdout
    assert "not checked: at which level" not in done.stdout
    assert "not checked: that the unlabelled rows were not chosen" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("The certificate holds up")


def test_unlabelled_rows_may_be_several_files_and_have_labels(begun, invoke, tmp_path):
    """A column of the name of the target is no feature, of a model without names neither."""
    begun(named=False)
    rows = pd.read_csv(tmp_path / "others.csv").assign(y=1)
    for part, name in ((rows[:100], "first.csv"), (rows[100:], "second.csv")):
        part.to_csv(tmp_path / name, index=False)
    files = ("--unlabelled", "first.csv", "--unlabelled", "second.csv")
    done = invoke(*WITH_ALL, *files, "--json", cwd=tmp_path)
    result = json.loads(done.stdout)
    assert result["holds"] is True
    assert any("it was found again on the unlabelled rows" in text for text in result["checked"])


def test_a_vote_finds_its_start_again_too(invoke, tmp_path):
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(900, 3)), columns=["a", "b", "c"])
    y = (X["a"] + 0.5 * rng.normal(size=900) > 0).astype(int)
    vote = MajorityVoteClassifier(n_voters=10, abstain=0.2, random_state=0)
    vote.fit(X[:600], y[:600], unlabelled=X[600:])
    vote.certificate_.to_json(tmp_path / "certificate.json")
    joblib.dump(vote, tmp_path / "model.joblib")
    X[:600].assign(y=y[:600]).to_csv(tmp_path / "new.csv", index=False)
    X[600:].to_csv(tmp_path / "others.csv", index=False)
    done = invoke(*WITH_ALL, "--unlabelled", "others.csv", cwd=tmp_path)
    assert "checked: at which level testing began: it was found again" in done.stdout


def test_a_start_by_other_rows_does_not_hold_up(begun, invoke, tmp_path):
    done = invoke(*WITH_ALL, "--unlabelled", "surer.csv", cwd=tmp_path, status=1)
    assert "error: the certificate does not hold up: " in done.stderr
    # Rows that certify are none that say where testing begins.
    done = invoke(*WITH_ALL, "--unlabelled", "new.csv", cwd=tmp_path, status=1)
    assert "Examples that certify are among the unlabelled ones" in done.stderr


def test_unlabelled_rows_that_cannot_be_read(begun, invoke, tmp_path):
    def said(name):
        return invoke(*WITH_ALL, "--unlabelled", name, cwd=tmp_path, status=2).stderr

    assert "error: there is no file lost.csv." in said("lost.csv")
    others = pd.read_csv(tmp_path / "others.csv")
    others.drop(columns="b").to_csv(tmp_path / "fewer.csv", index=False)
    message = said("fewer.csv")
    assert "fewer.csv" in message
    assert "'b'" in message
    others.assign(b="high").to_csv(tmp_path / "texts.csv", index=False)
    message = said("texts.csv")
    assert "the model cannot predict the rows of texts" in message
    begun(named=False)
    message = said("fewer.csv")
    assert "the model takes 3 columns, but fewer has 2" in message


def test_unlabelled_rows_where_there_is_nothing_to_do_with_them(begun, invoke, tmp_path):
    options = ("--unlabelled", "others.csv")
    done = invoke("verify", "certificate.json", *options, cwd=tmp_path, status=2)
    assert "error: --unlabelled needs --model and --data too" in done.stderr
    begun(lambda *args, unlabelled, **options: certify_model(*args, **options))
    done = invoke(*WITH_ALL, *options, cwd=tmp_path, status=2)
    assert "error: --unlabelled is for a certificate with a claim on abstaining" in done.stderr
