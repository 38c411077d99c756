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

[[body]]
name = "ball"
shape = { sphere = "10 cm" }
density = "240 kg/m^3"
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
    # Their rows were still there: nothing was computed again. Without them, it is.
    for path in (tmp_path / "out" / "runs").glob("*.json"):
        path.unlink()
    manifest.unlink()
    assert sg.sweep(scene, grid, measure=measure, out=tmp_path / "out").rows == rows.rows
    assert {json.loads(line)["key"] for line in kept} == {row["key"] for row in rows}


def test_a_run_that_fails_is_a_row(tmp_path):
    scene = tmp_path / "ball.toml"
    scene.write_text(SCENE)
    rows = sg.sweep(scene, samples=[{"speed": 1.0}, {"sped": 1.0}], measure=["time"])
    assert [row["status"] for row in rows] == ["done", "failed"]
    assert "sped" in rows[1]["message"] and np.isnan(rows.column("time")[1])


def command(*arguments):
    return subprocess.run([sys.executable, "-m", "signorini", *map(str, arguments)], capture_output=True, text=True)


def test_the_command_line_makes_the_same_sweep(tmp_path):
    scene = tmp_path / "ball.toml"
    scene.write_text(SCENE)
    arguments = ["sweep", scene, "--grid", "speed=0:2:5", "--measure", "body.ball.position", "--out", tmp_path / "cli"]
    # One task alone, then the rest.
    one = command(*arguments, "--task", 3)
    assert one.returncode == 0 and json.loads(one.stdout)["params"] == {"speed": 1.5}, one.stderr
    assert command(*arguments, "--task", 5).returncode == 2
    assert command(*arguments, "--count").stdout == "5\n"
    before = sorted(p.name for p in (tmp_path / "cli" / "runs").iterdir())
    assert [name.split(".")[1] for name in before] == ["json", "npz"]
    stamp = (tmp_path / "cli" / "runs" / before[0]).stat().st_mtime_ns
    done = command(*arguments)
    assert done.returncode == 0 and "5 of 5 runs done" in done.stderr, done.stderr
    assert (tmp_path / "cli" / "runs" / before[0]).stat().st_mtime_ns == stamp
    again = command(*arguments)
    assert again.returncode == 2 and "--resume" in again.stderr
    assert command(*arguments, "--resume").returncode == 0
    rows = [json.loads(line) for line in (tmp_path / "cli" / "manifest.jsonl").read_text().splitlines()]
    assert len(rows) == 5
    here = sg.sweep(scene, {"speed": np.linspace(0, 2, 5)}, measure=["body.ball.position"], out=tmp_path / "py")
    by_speed = {row["params"]["speed"]: row for row in rows}
    for row in here:
        other = by_speed[row["params"]["speed"]]
        assert other["values"] == row["values"] and other["hash"] == row["hash"]
    # The trajectory of a run is there for numpy, to the same bytes.
    trajectory = here.trajectory(4)
    np.testing.assert_allclose(trajectory["body.ball.position"][:, 0], 2.0 * trajectory["time"], atol=1e-12)
    assert trajectory["poses"].shape[2] == 7 and len(trajectory["poses"]) == len(trajectory["time"]) and trajectory["time"][-1] == pytest.approx(0.05)
    bytes_here = (tmp_path / "py" / "runs" / f"{here[4]['key']}.npz").read_bytes()
    assert bytes_here == (tmp_path / "cli" / "runs" / f"{by_speed[2.0]['key']}.npz").read_bytes()
    table = (tmp_path / "cli" / "table.csv").read_text().splitlines()
    assert table[0].startswith("speed,body.ball.position.0,") and len(table) == 6


def test_samples_are_those_of_the_command_line(tmp_path):
    scene = tmp_path / "ball.toml"
    scene.write_text(SCENE)
    arguments = ["sweep", scene, "--samples", 4, "--seed", 9, "--json", "--t-end", "2 ms"]
    said = command(*arguments, "--latin", "speed=1:3", "--out", tmp_path / "a")
    assert [json.loads(x)["params"] for x in said.stdout.splitlines()] == sg.latin_hypercube({"speed": (1, 3)}, 4, seed=9)
    said = command(*arguments, "--random", "speed=normal(1,0.1)", "--out", tmp_path / "b")
    assert [json.loads(x)["params"] for x in said.stdout.splitlines()] == sg.monte_carlo({"speed": ("normal", 1, 0.1)}, 4, seed=9)
    assert "wants NAME=FROM:TO" in command(*arguments, "--latin", "speed=normal(1,1)", "--out", tmp_path / "c").stderr


def test_an_interrupted_sweep_goes_on_from_its_checkpoint(tmp_path):
    import os
    import signal
    import time

    scene = tmp_path / "ball.toml"
    # Half a second per run or more: an interrupt a tenth of a second after the first checkpoint finds a run that goes on.
    scene.write_text(SCENE.replace("dt = 1e-3", "dt = 2e-7"))
    arguments = [sys.executable, "-m", "signorini", "sweep", scene, "--grid", "speed=1,2", "--out", tmp_path / "out", "--threads", 1]
    arguments = [*map(str, arguments), "--checkpoint", "0.05"]
    running = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)
    runs = tmp_path / "out" / "runs"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and running.poll() is None and not (runs.is_dir() and list(runs.glob("*.checkpoint"))):
        time.sleep(0.02)
    if os.name == "posix" and running.poll() is None:
        running.send_signal(signal.SIGINT)
        said = running.communicate(timeout=60)[1]
        assert running.returncode == 130 and "--resume" in said, said
        # On a machine that hesitates the interrupt may meet the moment between two runs: then one of them has its row.
        manifest = tmp_path / "out" / "manifest.jsonl"
        assert list(runs.glob("*.checkpoint")) or (manifest.exists() and manifest.read_text())
    running.wait(timeout=120)
    done = subprocess.run([*arguments, "--resume"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(x) for x in (tmp_path / "out" / "manifest.jsonl").read_text().splitlines()]
    assert [row["steps"] for row in rows] == [250000, 250000] and not list(runs.glob("*.checkpoint"))
    alone = sg.load(scene, set={"speed": 1.0}).simulate()
    alone.run()
    poses = np.load(next(runs.glob(f"{next(r['key'] for r in rows if r['params']['speed'] == 1.0)}.npz")))["poses"]
    assert np.array_equal(poses[-1], alone.poses)


def test_an_event_that_stops_a_run_stops_it_in_sweeps_and_in_run(tmp_path):
    scene = tmp_path / "ball.toml"
    scene.write_text(SCENE + '[[event]]\nname = "seen"\nwhen = "ball.x > 20.5 mm"\nactions = [{ stop = true }]\n')
    rows = sg.sweep(scene, {"speed": [1.0, 2.0]}, measure=["body.ball.position"])
    # Free flight: 20.5 mm are passed in the steps that end at 21 ms and 11 ms.
    assert [row["steps"] for row in rows] == [21, 11]
    sim = sg.load(scene, set={"speed": 2.0}).simulate()
    assert sim.run(0.05).steps == 11 and sim.time == pytest.approx(0.011)


def test_a_scene_made_in_code_is_swept_by_a_function():
    def build(mu):
        return crate(mu=mu, velocity=[1, 0, 0])

    def stopped(sim):
        return sim.body("crate").position[0]

    rows = sg.sweep(build, {"mu": [0.4, 0.8]}, measure=[stopped, "energy.friction"], t_end=0.4, dt=1e-3)
    np.testing.assert_allclose(rows.column("stopped"), 1 / (2 * 9.81 * rows.column("mu")), atol=1e-3)
    with pytest.raises(sg.InputError, match="no lambda"):
        sg.sweep(build, {"mu": [0.4]}, measure=[lambda sim: 1.0], t_end=0.1)
    with pytest.raises(sg.InputError, match="a function of the parameters"):
        sg.sweep(crate(), {"mu": [0.4]})


def test_processes_sweep_too(tmp_path):
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    scene = tmp_path / "ball.toml"
    scene.write_text(SCENE)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        rows = sg.sweep(scene, {"speed": [1.0, 2.0]}, executor=executor)
    assert [r["hash"] for r in rows] == [r["hash"] for r in sg.sweep(scene, {"speed": [1.0, 2.0]})]


def test_samples_come_from_their_seed():
    a = sg.latin_hypercube({"mu": (0.1, 1.0), "v": (0, 2)}, 10, seed=3)
    assert a == sg.latin_hypercube({"mu": (0.1, 1.0), "v": (0, 2)}, 10, seed=3)
    assert sorted(int((x["mu"] - 0.1) / 0.09) for x in a) == list(range(10))


def test_the_command_is_installed():
    said = subprocess.run([sys.executable, "-m", "signorini", "--version"], capture_output=True, text=True)
    assert said.returncode == 0 and sg.__version__ in said.stdout
    wrong = subprocess.run([sys.executable, "-m", "signorini", "run", "nothing"], capture_output=True, text=True)
    assert wrong.returncode == 2 and "no file and no scene" in wrong.stderr
