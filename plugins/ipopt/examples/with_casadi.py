# SPDX-License-Identifier: BSD-3-Clause
"""CasADi: the farthest a car comes to rest from where it started, in ten seconds. Run: python with_casadi.py [METAPACK],
METAPACK the command where it is not on the path."""
import json, subprocess, sys

import casadi as ca

command = sys.argv[1] if len(sys.argv) > 1 else "metapack"
hsllib = json.loads(subprocess.check_output([command, "ipopt-env", "--json"]))["hsllib"]

n, dt = 200, 10 / 200
position, speed, force = ca.MX.sym("position", n + 1), ca.MX.sym("speed", n + 1), ca.MX.sym("force", n)
motion = ca.vertcat(position[1:] - position[:-1] - dt * (speed[1:] + speed[:-1]) / 2,
                    speed[1:] - speed[:-1] - dt * (force - 0.02 * speed[:-1]**2),
                    position[0], speed[0], speed[-1])
nlp = {"x": ca.vertcat(position, speed, force), "f": -position[-1], "g": motion}
solver = ca.nlpsol("solver", "ipopt", nlp, {
    "ipopt.linear_solver": "ma57", "ipopt.hsllib": hsllib, "ipopt.print_level": 0, "print_time": False})
bounds = [ca.inf] * (2 * n + 2) + [1] * n
result = solver(x0=0, lbx=[-b for b in bounds], ubx=bounds, lbg=0, ubg=0)
print(f"{solver.stats()['return_status']} after {solver.stats()['iter_count']} iterations: {-float(result['f']):.4f} m")
assert solver.stats()["return_status"] == "Solve_Succeeded" and abs(-float(result["f"]) - 24.6463) < 1e-3
