"""What Python costs: python bench.py [WHEEL]. Install the wheel first (`SIGNORINI_WHEEL=release python/check`).

Every figure is the least of several repetitions, against its limit; exit code 1 if one is missed.
"""

import os
import subprocess
import sys
import time

import numpy as np
import signorini as sg

missed = []


def say(what, found, unit, limit, at_least=False):
    good = found >= limit if at_least else found <= limit
    missed.extend([] if good else [what])
    print(f"{'good  ' if good else 'MISSED'}  {what:58} {found:8.3f} {unit}   wanted {'≥' if at_least else '≤'} {limit}")


def least(f, repetitions=7):
    return min(f() for _ in range(repetitions))


def child(code, **environment):
    said = subprocess.run([sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, check=True)
    return float(said.stdout)


def ball():
    scene = sg.Scene("ball")
    scene.add_body("ball", sg.Sphere(0.1), mass=1.0, position=[0, 0, 5])
    return scene


def step_overhead():
    """Seconds of the process per step: a loop in Python against the loop in Rust, in turns."""
    sim, n, dt = ball().simulate(dt=1e-6), 20000, 1e-6

    def python():
        begun = time.process_time()
        for _ in range(n):
            sim.step()
        return (time.process_time() - begun) / n

    def rust():
        begun = time.process_time()
        sim._advance(sim.time + n * dt, 1e9)
        return (time.process_time() - begun) / n

    pairs = [(python(), rust()) for _ in range(9)]
    return min(p for p, _ in pairs), min(r for _, r in pairs)


def view():
    sim, n = sg.load("balls_1190").simulate(), 10000
    assert sim.poses.shape[0] >= 1190

    def once():
        begun = time.process_time()
        for _ in range(n):
            sim.poses
        return (time.process_time() - begun) / n

    return least(once)


BATCH = """
import time, numpy as np, signorini as sg
scene = sg.Scene("boxes")
scene.add_material("wood", mu=0.5)
scene.add_collider("ground", sg.HalfSpace(), material="wood")
for i in range(3):
    scene.add_body(f"box_{i}", sg.Box([1, 1, 1]), mass=1.0, position=[0.1 * i, 0, 0.5 + i], material="wood")
batch = sg.batch(scene, 64, dt=2e-3)
x = batch.bind("body.box_2.position")
batch.expand("material.wood.mu")[:] = np.linspace(0.1, 1, 64)
batch.step(20)
best = 1e9
for _ in range(7):
    begun = time.perf_counter()
    for _ in range(10):
        batch.step()
    best = min(best, time.perf_counter() - begun)
print(best)
"""

IMPORT = "import time; t = time.perf_counter(); import signorini; print(time.perf_counter() - t)"
NUMPY = "import time; t = time.perf_counter(); import numpy; print(time.perf_counter() - t)"


def main():
    python, rust = step_overhead()
    say(f"overhead of sim.step() ({1e6 * python:.2f} µs, Rust {1e6 * rust:.2f} µs)", 1e6 * (python - rust), "µs", 2.0)
    say("all poses of 1190 bodies (a view)", 1e6 * view(), "µs", 2.0)
    one = least(lambda: child(BATCH, RAYON_NUM_THREADS="1"), 3)
    two = least(lambda: child(BATCH, RAYON_NUM_THREADS="2"), 3)
    say(f"batch of 64 on two cores ({1e3 * one:.1f} ms, {1e3 * two:.1f} ms)", one / two, "×", 1.8, at_least=True)
    numpy = least(lambda: child(NUMPY))
    say(f"import signorini (numpy alone {numpy:.3f} s)", least(lambda: child(IMPORT)), "s", 0.15)
    if len(sys.argv) > 1:
        say("wheel", os.path.getsize(sys.argv[1]) / 1e6, "MB", 15.0)
    print(f"numpy {np.__version__}, Python {sys.version.split()[0]}, {os.cpu_count()} cores")
    sys.exit(1 if missed else 0)


main()
