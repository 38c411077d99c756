"""Batches and sweeps: the same bits as single runs."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import signorini as sg

from test_simulation import crate, pendulum


def test_a_batch_is_its_single_runs():
    mu = np.linspace(0.1, 1.0, 6)
    batch = sg.batch(crate(velocity=[1, 0, 0]), 6, dt=1e-3)
    x = batch.bind("body.crate.position")
    batch.expand("material.wood.mu")[:] = mu
    for _ in range(30):
        verdicts = batch.step()
    batch.step(20)
    assert x.shape == (6, 3) and len(verdicts) == 6 and all(v.accepted for v in verdicts)
    for i, value in enumerate(mu):
        single = crate(velocity=[1, 0, 0]).simulate(dt=1e-3)
        single.material("wood").mu = value
        for _ in range(50):
            single.step()
        assert np.array_equal(x[i], single.body("crate").position)
    assert len(set(x[:, 0])) == 6


def test_motors_of_a_batch_are_driven_by_arrays():
    batch = sg.batch(pendulum(), 3, dt=1e-3)
    angle, torque = batch.bind("joint.shoulder.angle"), batch.bind("motor.shoulder.torque")
    torque[:] = [1.0, 0.0, -1.0]
    batch.step(5)
    assert angle[0] > 0 and angle[1] == pytest.approx(0, abs=1e-12) and angle[2] == pytest.approx(-angle[0])
    with pytest.raises(sg.InputError, match="names nothing"):
        batch.bind("body.arm.colour")


SCENE = """
[parameters]
speed = "1 m/s"

[bodies.ball]
shape = "sphere"
radius = 0.1
mass = 1.0
position = [0, 0, 5]
velocity = ["speed", 0, 0]

[run]
dt = 1e-3
t_end = 0.05
"""


def test_a_sweep_keeps_what_is_done(tmp_path):
    scene = tmp_path / "ball.toml"
    scene.write_text(SCENE)
    grid = {"speed": [0.0, 1.0, 2.0, 3.0]}
    measure = ["body.ball.position", "time"]
    rows = sg.sweep(scene, grid, measure=measure, out=tmp_path / "out")
    assert not rows.failed, rows.failed
    # Free flight along x is exact in every step.
    np.testing.assert_allclose(rows.column("body.ball.position")[:, 0], 0.05 * rows.column("speed"), atol=1e-12)
    manifest = tmp_path / "out" / "manifest.jsonl"
    lines = manifest.read_text().splitlines()
    assert len(lines) == 4
    # Two runs are lost, one of them in the middle of its line: only these are computed again.
    manifest.write_text("\n".join(lines[:2]) + "\n" + lines[2][:20])
    with ThreadPoolExecutor(2) as executor:
        again = sg.sweep(scene, grid, measure=measure, out=tmp_path / "out", executor=executor)
    assert [row["values"] for row in again] == [row["values"] for row in rows]
    kept = [line for line in manifest.read_text().splitlines() if line.endswith("}")]
    assert kept[:2] == lines[:2] and len(kept) == 4
    assert {json.loads(line)["key"] for line in kept} == {row["key"] for row in rows}


def test_a_run_that_fails_is_a_row(tmp_path):
    scene = tmp_path / "ball.toml"
    scene.write_text(SCENE)
    rows = sg.sweep(scene, samples=[{"speed": 1.0}, {"sped": 1.0}], measure=["time"])
    assert [row["status"] for row in rows] == ["done", "failed"]
    assert "sped" in rows[1]["message"] and np.isnan(rows.column("time")[1])


def test_samples_come_from_their_seed():
    a = sg.latin_hypercube({"mu": (0.1, 1.0), "v": (0, 2)}, 10, seed=3)
    assert a == sg.latin_hypercube({"mu": (0.1, 1.0), "v": (0, 2)}, 10, seed=3)
    assert sorted(int((x["mu"] - 0.1) / 0.09) for x in a) == list(range(10))


def test_the_command_is_installed():
    said = subprocess.run([sys.executable, "-m", "signorini", "--version"], capture_output=True, text=True)
    assert said.returncode == 0 and sg.__version__ in said.stdout
    wrong = subprocess.run([sys.executable, "-m", "signorini", "run", "nothing"], capture_output=True, text=True)
    assert wrong.returncode == 2 and "no file and no scene" in wrong.stderr
