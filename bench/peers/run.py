# Reads an array of scenes from stdin, steps each in the engines that are asked for, and prints in one
# line a JSON array with, for each scene, runs and what could not be run. Only the calls that step are
# timed, by the computing time of the process.
import json
import math
import sys
import time

ENGINES = {"mujoco:newton": lambda task: MuJoCo(task, "Newton"),
           "mujoco:cg": lambda task: MuJoCo(task, "CG"),
           "mujoco": lambda task: MuJoCo(task, "Newton"),
           "mujoco:tuned": lambda task: MuJoCo(task, "Newton", tuned=True),
           "bullet": lambda task: Bullet(task),
           "bullet:tuned": lambda task: Bullet(task, tuned=True),
           "drake": lambda task: Drake(task),
           "drake:stiff": lambda task: Drake(task, stiff=True),
           "dart": lambda task: Dart(task)}


def measure(name, task):
    sim, samples, contacts, done, spent = ENGINES[name](task), [], 0, 0, 0.0
    every = max(1, task["steps"] // task["samples"])
    while done < task["steps"] and spent < task["budget"]:
        count = min(every, task["steps"] - done)
        begun = time.process_time()
        sim.steps(count)
        spent += time.process_time() - begun
        done += count
        contacts += sim.contacts()
        samples.append((done * task["dt"], sim.moving()))
        values = [x for body in samples[-1][1] for key in body for x in body[key]]
        if not all(map(math.isfinite, values)):
            raise ValueError(f"infinite numbers at {done * task['dt']:.3g} s")
    return dict(engine=name, version=sim.version(), seconds=spent, steps=done,
                contacts=contacts / len(samples), samples=samples)


def main():
    tasks, out = json.load(sys.stdin), []
    for task in tasks:
        runs, missing = [], []
        for name in task["engines"]:
            try:
                runs.append(measure(name, task))
            except Exception as reason:  # not installed, or the scene cannot be said in its words
                missing.append(dict(engine=name, reason=str(reason).split("\n")[0][:120]))
        out.append(dict(runs=runs, missing=missing))
    print(json.dumps(out), flush=True)


main()
