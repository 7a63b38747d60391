"""A model file runs code when it is loaded: only those that the user names are."""

import json
import pickle

import pytest

from options import trees


class Trap:
    """What makes a folder when it is unpickled."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        import os

        return (os.mkdir, (self.path,))


@pytest.fixture
def trapped(tmp_path):
    """A folder whose every file with a usual name is a trap, and where the trap would show."""
    sprung = tmp_path / "sprung"
    folder = tmp_path / "work"
    folder.mkdir()
    payload = pickle.dumps(Trap(sprung))
    for name in ("model.joblib", "model.pkl", "certificate.joblib"):
        (folder / name).write_bytes(payload)
    return folder, sprung


def test_the_trap_works(trapped, invoke, numbers):
    folder, sprung = trapped
    numbers.to_csv(folder / "numbers.csv", index=False)
    done = invoke(
        "certify", "numbers.csv", "--model", "model.joblib", "--quiet", cwd=folder, status=2
    )
    assert sprung.is_dir()  # the user named it
    assert "has no predict: save a fitted classifier" in done.stderr


def test_no_model_is_loaded_that_is_not_named(trapped, run, invoke, certified, numbers):
    folder, sprung = trapped
    numbers.to_csv(folder / "numbers.csv", index=False)
    trap = (folder / "model.joblib").read_bytes()
    (folder / "results").mkdir()
    (folder / "results" / "model.joblib").write_bytes(trap)
    (folder / "certificate.json").write_text(json.dumps(certified.certificate))
    # Its digest is not the one in the certificate, and that is all that is looked at.
    done = run("verify", "certificate.json", cwd=folder, status=1)
    assert "model.joblib is not the file that was written with" in done.stderr
    invoke("verify", "model.joblib", cwd=folder, status=2)
    invoke("certify", "model.joblib", cwd=folder, status=2)
    invoke("predict", certified.model_path, "model.joblib", cwd=folder, status=2)
    invoke("plan", "--target", 0.3, "--pilot", "certificate.json", cwd=folder)
    invoke("plan", "--target", 0.3, "--pilot", "model.joblib", cwd=folder, status=2)
    # A trap where the results go is replaced unseen.
    arguments = (*trees(2), "--out", "results", "--quiet")
    invoke("certify", "numbers.csv", *arguments, cwd=folder)
    assert (folder / "results" / "model.joblib").read_bytes() != trap
    assert (folder / "model.joblib").read_bytes() == trap
    assert not sprung.exists()


def test_the_note_comes_before_the_code_runs(trapped, run, numbers):
    folder, _ = trapped
    script = "import sys; print('the model speaks', file=sys.stderr)"
    (folder / "model.joblib").write_bytes(pickle.dumps(Speaking(script)))
    numbers.to_csv(folder / "numbers.csv", index=False)
    for arguments in (
        ("certify", "numbers.csv", "--model", "model.joblib"),
        ("predict", "model.joblib", "numbers.csv"),
    ):
        *_, note, speech, error = run(*arguments, cwd=folder, status=2).stderr.splitlines()
        assert note.startswith("note: loading a .joblib file runs code that is in it")
        assert speech == "the model speaks"
        assert error.startswith("error: ")


class Speaking:
    """What runs a script when it is unpickled."""

    def __init__(self, script):
        self.script = script

    def __reduce__(self):
        return (exec, (self.script,))
