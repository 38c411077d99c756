#!/usr/bin/env python3
"""Loads every URDF file of two packages, lets each stand on a floor for a second, and prints a table (Markdown).

    bench/robots.py [--program target/release/signorini] [--limit 60] [--only NAME] [FOLDER]

FOLDER gets the packages (`pip download example-robot-data pybullet`) and their files; those that are there already are used again.
Every joint without a motor is held (`--hold`), steps are 2 ms. A file counts as well-formed if an XML parser reads it and its
root is <robot> with a link in it. Seconds are those of the processor, reading the file included; `--limit` is the most for one file.
The thousand single objects of `random_urdfs` share a line: the slowest of them.
"""

import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as tree
import zipfile

PACKAGES = ["example-robot-data", "pybullet"]


def files(folder):
    """The URDF files of the packages, unpacked below `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for package in PACKAGES:
        stem = package.replace("-", "_")
        if not any(p.name.startswith((package, stem)) and p.is_file() for p in folder.iterdir()):
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", package, "-d", str(folder)]
            subprocess.run(command, check=True)
    for archive in [p for p in folder.iterdir() if p.is_file()]:
        place = folder / ("files-" + archive.name)
        if place.exists():
            continue
        if zipfile.is_zipfile(archive):
            zipfile.ZipFile(archive).extractall(place)
        elif tarfile.is_tarfile(archive):
            tarfile.open(archive).extractall(place, filter="data")
    return sorted(folder.rglob("*.urdf"))


def well_formed(path):
    try:
        root = tree.parse(path).getroot()
        return root.tag == "robot" and root.find("link") is not None
    except (tree.ParseError, OSError):
        return False


def spent():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(program, path, limit):
    """What became of a file: its row of the table."""
    command = [program, "run", str(path), "--floor", "--hold", "--dt", "2 ms", "--t-end", "1 s", "--json"]
    bound = lambda: resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit)))
    before = spent()
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=bound)
    seconds = spent() - before
    if done.returncode < 0:
        return {"outcome": f"more than {limit} s"}
    try:
        said = json.loads(done.stdout)
    except json.JSONDecodeError:
        return {"outcome": "refused: " + (done.stderr.strip().splitlines() or ["?"])[0][:90]}
    row = {"bodies": said["bodies"], "joints": said["joints"], "steps": said["steps"], "refused": said["not_accepted"]}
    return {**row, "factor": 1.0 / seconds, "outcome": "runs" if said["t_end"] > 0.999 else "ended early"}


def line(name, row, good):
    """A row as Markdown."""
    cells = [str(row.get(key, "")) for key in ("bodies", "joints", "steps", "refused")]
    factor = f"{row['factor']:.2f}" if "factor" in row else ""
    note = "" if good else " (not well-formed)"
    print(f"| {name} | {' | '.join(cells)} | {factor} | {row['outcome']}{note} |", flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", nargs="?", default="target/robots", type=pathlib.Path)
    arguments.add_argument("--program", default="signorini")
    arguments.add_argument("--limit", default=60, type=int)
    arguments.add_argument("--only", default="")
    given = arguments.parse_args()
    print("| file | bodies | joints | steps | not accepted | × real time | outcome |")
    print("|---|---|---|---|---|---|---|")
    total = loaded = clean = real = 0
    objects = []
    for path in files(given.folder):
        name = "/".join(path.parts[-3:]).removeprefix(path.parts[-3] + "/" if "files-" in path.parts[-3] else "")
        if given.only not in name:
            continue
        good = well_formed(path)
        row = run(given.program, path, given.limit)
        total += good
        loaded += good and "steps" in row
        clean += good and row.get("refused") == 0 and row["outcome"] == "runs"
        real += good and row.get("factor", 0.0) >= 0.25
        if "random_urdfs" in path.parts and row.get("refused") == 0:
            objects.append(row)
        else:
            line(name, row, good)
    if objects:
        line(f"random_urdfs ({len(objects)} files)", min(objects, key=lambda row: row["factor"]), True)
    print(f"\n{total} well-formed files: {loaded} run, {clean} with every step accepted, {real} at a quarter of real time or faster.")


if __name__ == "__main__":
    main()
