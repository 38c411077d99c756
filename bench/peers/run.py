# Reads a scene from stdin, steps it in each engine that is installed, prints a JSON array of runs
# in one line. Only the calls that step are timed, by the computing time of the process.
import json
import sys
import time


def measure(name, make, task):
    sim, samples, contacts, done, spent = make(), [], 0, 0, 0.0
    every = max(1, task["steps"] // task["samples"])
    while done < task["steps"] and spent < task["budget"]:
        count = min(every, task["steps"] - done)
        begun = time.process_time()
        sim.steps(count)
        spent += time.process_time() - begun
        done += count
        contacts += sim.contacts()
        samples.append((done * task["dt"], sim.moving()))
    return dict(engine=name, seconds=spent, steps=done, contacts=contacts / len(samples),
                samples=samples)


def main():
    task, runs = json.load(sys.stdin), []
    engines = [("mujoco:newton", lambda: MuJoCo(task, "Newton")),
               ("mujoco:cg", lambda: MuJoCo(task, "CG")), ("bullet", lambda: Bullet(task))]
    for name, make in engines:
        try:
            runs.append(measure(name, make, task))
        except Exception as reason:  # not installed, or the scene cannot be said in its words
            print(f"{name}: {reason}", file=sys.stderr)
    print(json.dumps(runs), flush=True)


main()
