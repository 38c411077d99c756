"""The first picture after `pip install signorini`, as in the README: numpy alone is there, and no display."""

import sys
import time

begun = time.perf_counter()
import signorini as sg  # noqa: E402

imported = time.perf_counter() - begun
sim = sg.load("arch").simulate()
sim.run(0.2)
assert sim.verdict is not None and sim.verdict.accepted, sim.verdict
png = sim.picture(sys.argv[1], forces=True)
assert png.startswith(b"\x89PNG")
assert not {"scipy", "pandas", "numba", "gymnasium", "distributed"} & set(sys.modules)
print(f"import {imported:.3f} s, first picture {time.perf_counter() - begun:.2f} s")
