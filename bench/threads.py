#!/usr/bin/env python3
"""Runs every scene of a folder on 1, 2, 3, 4 and 8 threads and compares all bits (Markdown).

    bench/threads.py [--program target/release/signorini] [--t-end "0.1 s"] [FOLDER]

FOLDER is `scenes` without this. Compared are the hash of the final state, and bodies.csv, contacts.csv and motors.csv byte by byte.
The exit code is 1 if a scene differs.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

THREADS = [1, 2, 3, 4, 8]
TABLES = ["bodies.csv", "contacts.csv", "motors.csv"]


def run(program, scene, threads, end):
    """What a run leaves: its hash, its steps, its tables."""
    with tempfile.TemporaryDirectory() as out:
        command = [program, "run", str(scene), "--threads", str(threads), "--t-end", end, "--json", "--out", out]
        done = subprocess.run(command, capture_output=True, text=True)
        # Facts that are stated for a later time cannot hold in a short run: 1 is no fault here.
        if done.returncode not in (0, 1):
            sys.exit(f"threads: {scene} on {threads} threads: {done.stderr.strip()[:300]}")
        summary = json.loads(done.stdout)
        tables = [(pathlib.Path(out) / name) for name in TABLES]
        return summary["hash"], summary["steps"], [t.read_bytes() if t.exists() else b"" for t in tables]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="target/release/signorini")
    parser.add_argument("--t-end", default="0.1 s")
    parser.add_argument("folder", nargs="?", default="scenes")
    options = parser.parse_args()
    scenes = sorted(pathlib.Path(options.folder).glob("*.toml"))
    different = []
    print(f"| scene | steps | hash | threads {', '.join(map(str, THREADS))} |\n|---|---|---|---|", flush=True)
    for scene in scenes:
        found = [run(options.program, scene, threads, options.t_end) for threads in THREADS]
        same = all(one == found[0] for one in found)
        if not same:
            different.append(scene.stem)
        word = "same" if same else "DIFFERENT"
        print(f"| {scene.stem} | {found[0][1]} | {found[0][0]} | {word} |", flush=True)
    print(f"\n{len(scenes)} scenes, {len(different)} different")
    sys.exit(1 if different or not scenes else 0)


main()
