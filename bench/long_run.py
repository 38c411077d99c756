#!/usr/bin/env python3
"""A million steps of a small scene: memory, time per step and size of the output, in tenths of the run (Markdown).

    bench/long_run.py [--program target/release/signorini] [--steps 1000000]

A ball jumps on a plate that shakes, a motor turns a hinge, a spring swings: contacts come and go for ever. Every 100th step is
recorded. Seconds are those of the processor. The run fails if the memory of the last tenth exceeds that of the second by more than
5 % or 2 MB, if a step of the last tenth takes more than 1.2 times as long as one of the second, or if the bytes per recorded step
differ by more than 10 %.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

EVERY = 100
SCENE = """
[run]
dt = "1 ms"
t_end = "{end} s"
record_every = {every}
[materials.rubber]
restitution = 0.7
density = "1000 kg/m^3"
[contact]
material = "rubber"
[[body]]
name = "plate"
motion = {{ z = {{ sine = {{ amplitude = "20 mm", frequency = "6 Hz" }} }} }}
shape = {{ box = [1, 1, 0.1] }}
[[body]]
name = "ball"
shape = {{ sphere = 0.05 }}
position = [0, 0, 0.5]
[[body]]
name = "arm"
shape = {{ box = [0.3, 0.02, 0.02] }}
position = [3, 0, 1]
[[joint]]
name = "hinge"
kind = "revolute"
b = "arm"
position = [2.85, 0, 1]
axis = [0, 1, 0]
[[motor]]
name = "drive"
joint = "hinge"
angular_speed = 5
max_torque = 20
[[body]]
name = "weight"
mass = 1
shape = {{ sphere = 0.05 }}
position = [-3, 0, 1]
[[force]]
name = "spring"
spring = {{ b = "weight", stiffness = "100 N/m", length = "0.5 m", points = [[-3, 0, 2], [-3, 0, 1]] }}
"""


def seconds(pid):
    """Seconds of the processor so far."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(pid):
    """Memory in use, MB."""
    pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def size(folder):
    return sum(p.stat().st_size for p in folder.iterdir() if p.is_file())


def last_time(table):
    """Simulated time of the last complete line of a table; 0 if there is none."""
    with open(table, "rb") as file:
        file.seek(max(0, os.path.getsize(table) - 4000))
        lines = file.read().split(b"\n")[1:-1]
    try:
        return float(lines[-1].split(b",")[0])
    except (IndexError, ValueError):
        return 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="target/release/signorini")
    parser.add_argument("--steps", type=int, default=1_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        scene, out = place / "long.toml", place / "out"
        scene.write_text(SCENE.format(end=options.steps * 1e-3, every=EVERY))
        command = [options.program, "run", str(scene), "--threads", "1", "--out", str(out)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        rows = []
        while child.poll() is None:
            time.sleep(0.05)
            try:
                # Tables grow under this name and get their own at the end.
                steps = round(last_time(out / ".bodies.csv.partial") * 1e3)
                # After the last step the run writes its summary: that is no longer stepping.
                if (len(rows) + 1) * options.steps / 10 <= steps < options.steps:
                    rows.append((steps, seconds(child.pid), resident(child.pid), size(out)))
            except OSError:
                continue
        print(child.stdout.read().strip()[:300])
        whole = size(out)
    print("\n| steps | processor, us per step | memory, MB | output, bytes per recorded step |\n|---|---|---|---|")
    table, before = [], (0, 0.0, 0.0, 0)
    for row in rows:
        steps = row[0] - before[0]
        each = 1e6 * (row[1] - before[1]) / steps
        table.append((each, row[2], EVERY * (row[3] - before[3]) / steps))
        print(f"| {row[0]} | {each:.1f} | {row[2]:.1f} | {table[-1][2]:.0f} |")
        before = row
    print(f"\noutput in all: {whole / 1e6:.1f} MB")
    if child.returncode != 0 or len(table) < 9:
        sys.exit(f"long_run: the program ended with {child.returncode} after {before[0]} steps")
    (time0, memory0, bytes0), (time1, memory1, bytes1) = table[1], table[-1]
    faults = []
    if memory1 > max(1.05 * memory0, memory0 + 2):
        faults.append(f"memory grows from {memory0:.1f} to {memory1:.1f} MB")
    if time1 > 1.2 * time0:
        faults.append(f"a step takes {time1:.1f} us at the end, {time0:.1f} us at the beginning")
    if abs(bytes1 - bytes0) > 0.1 * bytes0:
        faults.append(f"a recorded step takes {bytes1:.0f} bytes at the end, {bytes0:.0f} at the beginning")
    if faults:
        sys.exit("long_run: " + "; ".join(faults))


main()
