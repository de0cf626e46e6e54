# SPDX-License-Identifier: BSD-3-Clause
"""cyipopt: problem 71 of Hock and Schittkowski. Run: python with_cyipopt.py [METAPACK], METAPACK the command where it
is not on the path."""
import json, subprocess, sys

import cyipopt
import numpy as np


class Problem71:
    def objective(self, x):
        return x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2]

    def gradient(self, x):
        return np.array([x[3] * (2 * x[0] + x[1] + x[2]), x[0] * x[3], x[0] * x[3] + 1, x[0] * (x[0] + x[1] + x[2])])

    def constraints(self, x):
        return np.array([np.prod(x), x @ x])

    def jacobian(self, x):
        return np.concatenate([np.prod(x) / x, 2 * x])

    def hessianstructure(self):
        return np.tril_indices(4)

    def hessian(self, x, lagrange, factor):
        h = np.zeros((4, 4))
        h[3, :3] = factor * np.array([2 * x[0] + x[1] + x[2], x[0], x[0]])
        h[0, 0], h[1, 0], h[2, 0] = 2 * factor * x[3], factor * x[3], factor * x[3]
        for i in range(4):
            h[i, i] += 2 * lagrange[1]
            for j in range(i):
                h[i, j] += lagrange[0] * np.prod(np.delete(x, [i, j]))
        return h[np.tril_indices(4)]


command = sys.argv[1] if len(sys.argv) > 1 else "metapack"
hsllib = json.loads(subprocess.check_output([command, "ipopt-env", "--json"]))["hsllib"]
for hessian in ("exact", "limited-memory"):
    nlp = cyipopt.Problem(n=4, m=2, problem_obj=Problem71(), lb=np.ones(4), ub=5 * np.ones(4), cl=[25, 40],
                          cu=[2e19, 40])
    for option in (("linear_solver", "ma57"), ("hsllib", hsllib), ("hessian_approximation", hessian), ("print_level", 0)):
        nlp.add_option(*option)
    x, info = nlp.solve(np.array([1.0, 5.0, 5.0, 1.0]))
    print(f"{hessian}: status {info['status']}, objective {info['obj_val']:.6f}, x = {np.round(x, 4)}")
    assert info["status"] == 0 and abs(info["obj_val"] - 17.0140173) < 1e-6
