# SPDX-License-Identifier: BSD-3-Clause
"""Nonlinear programs for interior-point methods, written with CasADi from published formulas.

A problem is a Builder that returns (x, f, g, x0, lbx, ubx, lbg, ubg). PROBLEMS maps a name to (group, function).
Sources: Luksan and Vlcek, report V-767 (1999); Maurer and Mittelmann, Comput. Optim. Appl. 16 (2000) and 18 (2001);
Hock and Schittkowski, Test Examples for Nonlinear Programming Codes (1981); Dolan and More, COPS (2001); Zimmerman et
al., MATPOWER (2011) for the data of power networks; Waechter and Biegler, Math. Program. 88 (2000)."""
import casadi as ca
import numpy as np

INF = float("inf")
PROBLEMS = {}


def problem(group, name, *args):
    def register(function):
        PROBLEMS[name] = (group, lambda: function(*args))
        return function
    return register


class Builder:
    """Collects variables with bounds and start, constraints with bounds."""

    def __init__(self, kind=ca.MX):
        self.kind, self.x, self.g = kind, [], []
        self.x0, self.lbx, self.ubx, self.lbg, self.ubg = [], [], [], [], []

    def var(self, n=1, start=0.0, lower=-INF, upper=INF):
        v = self.kind.sym(f"v{len(self.x)}", n)
        self.x.append(v)
        for to, value in ((self.x0, start), (self.lbx, lower), (self.ubx, upper)):
            to.append(np.broadcast_to(np.asarray(value, float), (n,)))
        return v

    def subject(self, expression, lower=0.0, upper=None):
        expression = ca.vec(expression)
        n = expression.numel()
        self.g.append(expression)
        self.lbg.append(np.broadcast_to(np.asarray(lower, float), (n,)))
        self.ubg.append(np.broadcast_to(np.asarray(lower if upper is None else upper, float), (n,)))

    def minimise(self, f):
        def join(parts):
            return np.concatenate(parts) if parts else np.zeros(0)
        g = ca.vertcat(*self.g) if self.g else self.kind(0, 1)
        return (ca.vertcat(*self.x), f, g, join(self.x0), join(self.lbx), join(self.ubx),
                join(self.lbg), join(self.ubg))


def alternate(values, n):
    return np.resize(np.asarray(values, float), n)


# ---- Luksan and Vlcek: chains -------------------------------------------------------------------

@problem("luksan-vlcek", "lv1-10000", 10000)
@problem("luksan-vlcek", "lv1-200000", 200000)
def lv1(n):
    b = Builder()
    x = b.var(n, alternate([-1.2, 1], n))
    b.subject(3 * x[1:-1]**3 + 2 * x[2:] - 5 + ca.sin(x[1:-1] - x[2:]) * ca.sin(x[1:-1] + x[2:])
              + 4 * x[1:-1] - x[:-2] * ca.exp(x[:-2] - x[1:-1]) - 3)
    return b.minimise(ca.sum1(100 * (x[:-1]**2 - x[1:])**2 + (x[:-1] - 1)**2))


@problem("luksan-vlcek", "lv2-10000", 10000)
@problem("luksan-vlcek", "lv2-100000", 100000)
def lv2(n):
    b = Builder()
    x = b.var(n, alternate([-2, 1], n))
    p, q, r, s = x[0:n-3:2], x[1:n-2:2], x[2:n-1:2], x[3:n:2]
    band = 0
    for k in range(7):  # x_i (1 + x_i) for i = k .. k + 6 around the diagonal at k + 5
        band += x[k:n-6+k] * (1 + x[k:n-6+k])
    d = x[5:n-1]
    b.subject((2 + 5 * d**2) * d + 1 + band - d * (1 + d))
    return b.minimise(ca.sum1(100 * (p**2 - q)**2 + (p - 1)**2 + 90 * (r**2 - s)**2 + (r - 1)**2
                              + 10 * (q + s - 2)**2 + (q - s)**2 / 10))


@problem("luksan-vlcek", "lv3-10000", 10000)
def lv3(n):
    b = Builder()
    x = b.var(n, alternate([3, -1, 0, 1], n))
    p, q, r, s = x[0:n-3:2], x[1:n-2:2], x[2:n-1:2], x[3:n:2]
    b.subject(3 * x[0]**3 + 2 * x[1] - 5 + ca.sin(x[0] - x[1]) * ca.sin(x[0] + x[1]))
    b.subject(4 * x[n-1] - x[n-2] * ca.exp(x[n-2] - x[n-1]) - 3)
    return b.minimise(ca.sum1((p + 10 * q)**2 + 5 * (r - s)**2 + (q - 2 * r)**4 + 10 * (p - s)**4))


@problem("luksan-vlcek", "lv4-10000", 10000)
def lv4(n):
    b = Builder()
    x = b.var(n, alternate([1, 2, 2, 2], n))
    p, q, r, s = x[0:n-3:2], x[1:n-2:2], x[2:n-1:2], x[3:n:2]
    b.subject(8 * x[1:-1] * (x[1:-1]**2 - x[:-2]) - 2 * (1 - x[1:-1]) + 4 * (x[1:-1] - x[2:]**2))
    return b.minimise(ca.sum1((ca.exp(p) - q)**4 + 100 * (q - r)**6 + ca.tan(r - s)**4 + p**8 + (s - 1)**2))


@problem("luksan-vlcek", "lv5-10000", 10000)
def lv5(n):
    b = Builder()
    x = b.var(n, -1)
    left, right = ca.vertcat(0, x[:-1]), ca.vertcat(x[1:], 0)
    y, z = x[2:-2], x[3:-1]
    b.subject(8 * y * (y**2 - x[1:-3]) - 2 * (1 - y) + 4 * (y - z**2) + x[1:-3]**2 - x[:-4] + z - x[4:]**2)
    t = (3 - 2 * x) * x - left - right + 1
    return b.minimise(ca.sum1((t**2 + 1e-12)**(7 / 6)))


@problem("luksan-vlcek", "lv6-10000", 10000)
def lv6(n):
    b = Builder()
    x = b.var(n + 1, 3)
    p, q, r = x[0:n:2], x[1:n:2], x[2:n+1:2]
    b.subject(4 * q - (p - r) * ca.exp(p - q - r) - 3)
    padded = ca.vertcat(np.zeros(5), x, 0)
    band = 0
    for k in range(7):
        if k != 5:
            y = padded[k:k+n+1]
            band += y * (1 + y)
    t = (2 + 5 * x**2) * x + 1 + band
    return b.minimise(ca.sum1((t**2 + 1e-12)**(7 / 6)))


@problem("luksan-vlcek", "lv7-10000", 10000)
def lv7(n):
    b = Builder()
    x = b.var(n, 1)
    left, right = ca.vertcat(0, x[:-1]), ca.vertcat(x[1:], 0)
    m = n - 1
    b.subject(4 * (x[0] - x[1]**2) + x[1] - x[2]**2)
    b.subject(8 * x[1] * (x[1]**2 - x[0]) - 2 * (1 - x[1]) + 4 * (x[1] - x[2]**2) + x[0]**2 + x[2] - x[3]**2)
    b.subject(8 * x[m-1] * (x[m-1]**2 - x[m-2]) - 2 * (1 - x[m-1]) + 4 * (x[m-1] - x[m]**2)
              + x[m-2]**2 - x[m-3] + x[m-2] - x[m-3]**2)
    b.subject(8 * x[m] * (x[m]**2 - x[m-1]) - 2 * (1 - x[m]) + x[m-1]**2 - x[m-2] + x[m-1] - x[m-2]**2)
    weight = np.arange(1, n + 1)
    return b.minimise(ca.dot(weight, (1 - ca.cos(x)) + ca.sin(left) - ca.sin(right)))


# ---- Maurer and Mittelmann: control of elliptic and parabolic equations ---------------------------

def grid2(n):
    """Variables on an (n + 2)^2 grid, as a matrix of expressions, and the coordinates."""
    t = np.linspace(0, 1, n + 2)
    return t, np.meshgrid(t, t, indexing="ij")


def laplacian2(y):
    """-h^2 Laplace y at the inner points."""
    return 4 * y[1:-1, 1:-1] - y[:-2, 1:-1] - y[2:, 1:-1] - y[1:-1, :-2] - y[1:-1, 2:]


def boundary_control(n, neumann, target, upper, control, alpha, source):
    b = Builder()
    t, (s1, s2) = grid2(n)
    h = 1 / (n + 1)
    start = np.minimum(target(s1, s2), upper)
    y = ca.reshape(b.var((n + 2)**2, start.ravel(order="F"), -INF, upper), n + 2, n + 2)
    b.subject(laplacian2(y) + h**2 * source(y[1:-1, 1:-1]))
    edges = ((y[0, 1:-1].T, y[1, 1:-1].T), (y[-1, 1:-1].T, y[-2, 1:-1].T),
             (y[1:-1, 0], y[1:-1, 1]), (y[1:-1, -1], y[1:-1, -2]))
    cost = h**2 / 2 * ca.sumsqr(y[1:-1, 1:-1] - target(s1, s2)[1:-1, 1:-1])
    for outer, inner in edges:
        u = b.var(n, sum(control) / 2, control[0], control[1])
        if neumann:
            b.subject(outer - inner - h * (u - outer**2))
        else:
            b.subject(outer - u)
        cost += alpha * h / 2 * ca.sumsqr(u)
    for i, j in ((0, 0), (0, -1), (-1, 0), (-1, -1)):  # corners touch nothing
        b.subject(y[i, j] - y[i if i == 0 else i - 1, 1 if j == 0 else j - 1])
    return b.minimise(cost)


@problem("control", "boundary-dirichlet-60", 60, 0.01)
@problem("control", "boundary-dirichlet-bang-60", 60, 0.0)
@problem("control", "boundary-dirichlet-200", 200, 0.01)
def boundary_dirichlet(n, alpha):
    return boundary_control(n, False, lambda a, b: 3 + 5 * a * (a - 1) * b * (b - 1), 3.5, (0, 10), alpha,
                            lambda y: 20)


@problem("control", "boundary-neumann-60", 60, 0.01)
@problem("control", "boundary-neumann-200", 200, 0.01)
def boundary_neumann(n, alpha):
    return boundary_control(n, True, lambda a, b: 2 - 2 * (a * (a - 1) + b * (b - 1)), 2.071, (3.7, 4.5), alpha,
                            lambda y: 0)


@problem("control", "distributed-linear-60", 60, 0.001, False)
@problem("control", "distributed-exp-60", 60, 0.001, True)
@problem("control", "distributed-bang-60", 60, 0.0, True)
@problem("control", "distributed-exp-150", 150, 0.001, True)
def distributed(n, alpha, nonlinear):
    b = Builder()
    t, (s1, s2) = grid2(n)
    h = 1 / (n + 1)
    target = 1 + 2 * (s1 * (s1 - 1) + s2 * (s2 - 1))
    y = ca.reshape(b.var((n + 2)**2, 0, -INF, 0.371), n + 2, n + 2)
    u = ca.reshape(b.var(n * n, 0.5, -8, 9), n, n)
    inner = y[1:-1, 1:-1]
    b.subject(laplacian2(y) - h**2 * (u - (ca.exp(inner) - 1 if nonlinear else 0)))
    b.subject(ca.vertcat(y[0, :].T, y[-1, :].T, y[1:-1, 0], y[1:-1, -1]))
    return b.minimise(h**2 / 2 * ca.sumsqr(inner - target[1:-1, 1:-1]) + alpha * h**2 / 2 * ca.sumsqr(u))


@problem("control", "distributed-3d-14", 14)
@problem("control", "distributed-3d-20", 20)
def distributed_3d(n):
    b = Builder()
    h = 1 / (n + 1)
    m = n**3
    one = ca.DM.eye(n)
    second = 2 * one - ca.DM(ca.Sparsity.band(n, 1), 1) - ca.DM(ca.Sparsity.band(n, -1), 1)
    k = ca.kron(ca.kron(second, one), one) + ca.kron(ca.kron(one, second), one) + ca.kron(ca.kron(one, one), second)
    t = np.linspace(0, 1, n + 2)[1:-1]
    s = np.meshgrid(t, t, t, indexing="ij")
    target = sum(2 * c * (1 - c) for c in s).ravel()
    y = b.var(m, 0, -INF, 1.2)
    u = b.var(m, 0, -10, 20)
    b.subject(ca.mtimes(ca.sparsify(k), y) + h**2 * (y**3 - y) - h**2 * u)
    return b.minimise(h**3 / 2 * ca.sumsqr(y - target) + 0.005 * h**3 / 2 * ca.sumsqr(u))


@problem("control", "parabolic-80", 80, 80)
@problem("control", "parabolic-250", 250, 250)
def parabolic(n, m):
    """Heat in a rod with a nonlinear boundary condition, Crank and Nicolson's rule."""
    b = Builder()
    dx, dt = 1 / n, 1.58 / m
    y = ca.reshape(b.var((n + 1) * (m + 1), 0, -INF, 0.7), n + 1, m + 1)
    u = b.var(m + 1, 0.5, -1, 1)
    middle = (y[:-2, :] - 2 * y[1:-1, :] + y[2:, :]) / dx**2
    b.subject(dx * ((y[1:-1, 1:] - y[1:-1, :-1]) / dt - (middle[:, 1:] + middle[:, :-1]) / 2))
    b.subject(y[:, 0])
    b.subject((y[2, 1:] - 4 * y[1, 1:] + 3 * y[0, 1:]).T)
    last = y[n, 1:].T
    b.subject((y[n - 2, 1:] - 4 * y[n - 1, 1:] + 3 * y[n, 1:]).T / (2 * dx) - (u[1:] - last - last**2))
    b.subject(u[0] - u[1])
    target = 0.5 * (1 - np.linspace(0, 1, n + 1)**2)
    return b.minimise(dx / 2 * ca.sumsqr(y[:, m] - target) + 0.01 * dt / 2 * ca.sumsqr(u))


@problem("bounds", "obstacle-150", 150)
@problem("bounds", "obstacle-300", 300)
def obstacle(n):
    """Membrane over an obstacle: bounds, no constraints."""
    b = Builder()
    t, (s1, s2) = grid2(n)
    low = np.maximum(0, np.sin(9.2 * s1) * np.sin(9.3 * s2))**3
    low[0, :] = low[-1, :] = low[:, 0] = low[:, -1] = 0
    up = np.full_like(low, 2000.0)
    up[0, :] = up[-1, :] = up[:, 0] = up[:, -1] = 1e-9
    v = ca.reshape(b.var((n + 2)**2, low.ravel(order="F") + 1e-3, low.ravel(order="F"), up.ravel(order="F")),
                   n + 2, n + 2)
    h = 1 / (n + 1)
    return b.minimise((ca.sumsqr(v[1:, :] - v[:-1, :]) + ca.sumsqr(v[:, 1:] - v[:, :-1])) / 2
                      + h**2 * ca.sum1(ca.vec(v)))


# ---- optimal control of ordinary differential equations -------------------------------------------

def trapezoid(b, dynamics, states, controls, dt):
    """One constraint per interval: x+ - x = dt/2 (f+ + f); states and controls are columns by time."""
    f = dynamics(states, controls)
    b.subject(states[:, 1:] - states[:, :-1] - dt / 2 * (f[:, 1:] + f[:, :-1]))


def trajectory(b, n, starts, lowers, uppers):
    rows = [b.var(n + 1, s, lo, up).T for s, lo, up in zip(starts, lowers, uppers)]
    return ca.vertcat(*rows)


@problem("optimal control", "rocket-2000", 2000)
@problem("optimal control", "rocket-10000", 10000)
def rocket(n):
    """Goddard's: COPS 11."""
    b = Builder()
    line = np.linspace(0, 1, n + 1)
    x = trajectory(b, n, [1 + 0 * line, line * (1 - line), 1 - 0.4 * line], [1, 0, 0.6], [INF, INF, 1])
    u = b.var(n + 1, 3.5 / 2, 0, 3.5).T
    dt = b.var(1, 1 / n, 0)
    c, d = 0.5, 0.5 * 620

    def dynamics(x, u):
        h, v, m = x[0, :], x[1, :], x[2, :]
        drag = d * v**2 * ca.exp(-500 * (h - 1))
        return ca.vertcat(v, (u - drag) / m - 1 / h**2, -u / c)
    trapezoid(b, dynamics, x, u, dt)
    b.subject(x[:, 0], [1, 0, 1])
    b.subject(x[2, -1], 0.6)
    return b.minimise(-x[0, -1])


@problem("optimal control", "van-der-pol-1000", 1000)
def van_der_pol(n):
    b = Builder()
    x = trajectory(b, n, [0, 0, 0], [-0.25, -INF, -INF], [INF, INF, INF])
    u = b.var(n + 1, 0, -1, 1).T
    trapezoid(b, lambda x, u: ca.vertcat((1 - x[1, :]**2) * x[0, :] - x[1, :] + u, x[0, :],
                                         x[0, :]**2 + x[1, :]**2 + u**2), x, u, 10 / n)
    b.subject(x[:, 0], [0, 1, 0])
    return b.minimise(x[2, -1])


@problem("optimal control", "cart-pole-500", 500)
def cart_pole(n):
    b = Builder()
    line = np.linspace(0, 1, n + 1)
    x = trajectory(b, n, [line, np.pi * line, 0, 0], [-2, -INF, -INF, -INF], [2, INF, INF, INF])
    u = b.var(n + 1, 0, -20, 20).T
    m1, m2, l, g = 1.0, 0.3, 0.5, 9.81

    def dynamics(x, u):
        q, dq, dp = x[1, :], x[3, :], x[2, :]
        s, c = ca.sin(q), ca.cos(q)
        den = m1 + m2 * s**2
        return ca.vertcat(dp, dq, (l * m2 * s * dq**2 + u + m2 * g * c * s) / den,
                          -(l * m2 * c * s * dq**2 + u * c + (m1 + m2) * g * s) / (l * den))
    trapezoid(b, dynamics, x, u, 2 / n)
    b.subject(x[:, 0])
    b.subject(x[:, -1], [1, np.pi, 0, 0])
    return b.minimise(2 / n * ca.sumsqr(u))


@problem("optimal control", "robot-arm-500", 500)
def robot_arm(n):
    """COPS 8: turn and stretch in the least time."""
    b = Builder()
    line = np.linspace(0, 1, n + 1)
    length = 5.0
    x = trajectory(b, n, [4.5, 2 * np.pi / 3 * line**2, np.pi / 4, 0, 0, 0],
                   [0, -np.pi, 0, -INF, -INF, -INF], [length, np.pi, np.pi, INF, INF, INF])
    u = ca.vertcat(*[b.var(n + 1, 0, -1, 1).T for _ in range(3)])
    tf = b.var(1, 1, 0)

    def dynamics(x, u):
        rho, phi = x[0, :], x[2, :]
        i_phi = ((length - rho)**3 + rho**3) / 3
        i_theta = i_phi * ca.sin(phi)**2
        return ca.vertcat(x[3, :], x[4, :], x[5, :], u[0, :] / length, u[1, :] / i_theta, u[2, :] / i_phi)
    trapezoid(b, dynamics, x, u, tf / n)
    b.subject(x[:, 0], [4.5, 0, np.pi / 4, 0, 0, 0])
    b.subject(x[:, -1], [4.5, 2 * np.pi / 3, np.pi / 4, 0, 0, 0])
    return b.minimise(tf)


@problem("optimal control", "hang-glider-500", 500)
def hang_glider(n):
    """COPS 12, in thermal updraft: farthest flight."""
    b = Builder()
    line = np.linspace(0, 1, n + 1)
    x = trajectory(b, n, [1250 * line, 1000 - 100 * line, 13.23, -1.288], [0, -INF, 0, -INF], [INF] * 4)
    u = b.var(n + 1, 1, 0, 1.4).T
    tf = b.var(1, 100, 0)
    m, g, s, rho, c0, k, um, r = 100, 9.81, 14, 1.13, 0.034, 0.069662, 2.5, 100

    def dynamics(x, u):
        px, vx, vy = x[0, :], x[2, :], x[3, :]
        e = (px / r - 2.5)**2
        w = vy - um * (1 - e) * ca.exp(-e)
        v2 = vx**2 + w**2
        v = ca.sqrt(v2)
        drag, lift = (c0 + k * u**2) * rho * s * v2 / 2, u * rho * s * v2 / 2
        return ca.vertcat(vx, vy, (-lift * w / v - drag * vx / v) / m, (lift * vx / v - drag * w / v) / m - g)
    trapezoid(b, dynamics, x, u, tf / n)
    b.subject(x[:, 0], [0, 1000, 13.23, -1.288])
    b.subject(x[1:, -1], [900, 13.23, -1.288])
    return b.minimise(-x[0, -1] / 1000)


@problem("optimal control", "crane-collocation-300", 300)
def crane(n):
    """Loading bridge, Radau collocation with three points, dense blocks on the diagonal."""
    b = Builder()
    c, _, _ = ca.collocation_coeff(ca.collocation_points(3, "radau"))
    dt = 9 / n

    def dynamics(x, u):
        x1, x2, x3, x4, x5, x6 = [x[i, :] for i in range(6)]
        return ca.vertcat(x4, x5, x6, u[0, :] + 17.2656 * x3, u[1, :],
                          -(u[0, :] + 27.0756 * x3 + 2 * x5 * x6) / x2)
    lower, upper = [-INF, -INF, -INF, -2.5, -1, -INF], [INF, INF, INF, 2.5, 1, INF]
    first, last = [0, 22, 0, 0, -1, 0], [10, 14, 0, 2.5, 0, 0]
    line = np.linspace(0, 1, n + 1)
    x = trajectory(b, n, [a + (e - a) * line for a, e in zip(first, last)], lower, upper)
    u = ca.vertcat(b.var(n, 0, -2.83374, 2.83374).T, b.var(n, 0, -0.80865, 0.71265).T)
    mid = line[:-1]
    z = [trajectory(b, n - 1, [a + (e - a) * mid for a, e in zip(first, last)], lower, upper) for _ in range(3)]
    nodes = [x[:, :-1]] + z
    for k in range(3):
        slope = sum(float(c[j, k]) * nodes[j] for j in range(4))
        b.subject(slope - dt * dynamics(z[k], u))
    b.subject(x[:, 1:] - z[2])
    b.subject(x[:, 0], first)
    b.subject(x[:, -1], last)
    return b.minimise(dt / 2 * ca.sumsqr(ca.vertcat(x[2, :], x[5, :])) + 0.005 * dt * ca.sumsqr(u))


@problem("optimal control", "hanging-chain-2000", 2000)
def hanging_chain(n):
    """COPS 3: least potential energy of a chain of length 4."""
    b = Builder()
    t = np.linspace(0, 1, n + 1)
    h = 1 / n
    x = b.var(n + 1, 8 * (1 / 2 * t**2 - t / 4) + 1)
    u = b.var(n + 1, 8 * (t - 0.25))
    b.subject(x[1:] - x[:-1] - h / 2 * (u[1:] + u[:-1]))
    root = ca.sqrt(1 + u**2)
    b.subject(h / 2 * ca.sum1(root[1:] + root[:-1]), 4)
    b.subject(x[0], 1)
    b.subject(x[n], 3)
    weight = x * root
    return b.minimise(h / 2 * ca.sum1(weight[1:] + weight[:-1]))


# ---- COPS and other classics ------------------------------------------------------------------------

@problem("cops", "polygon-50", 50)
def polygon(n):
    """Largest polygon of unit diameter: all pairs, a dense Jacobian, many local solutions."""
    b = Builder()
    i = np.arange(1, n + 1)
    r = b.var(n, 4 * i * (n + 1 - i) / (n + 1)**2, 0, 1)
    theta = b.var(n, np.pi * i / n, 0, np.pi)
    first, second = np.triu_indices(n - 1, 1)
    first, second = [int(k) for k in first], [int(k) for k in second]
    b.subject(r[first]**2 + r[second]**2 - 2 * r[first] * r[second] * ca.cos(theta[second] - theta[first]), -INF, 1)
    b.subject(theta[1:] - theta[:-1], 0, INF)
    b.subject(r[n - 1])
    b.subject(theta[n - 1], np.pi)
    return b.minimise(-0.5 * ca.sum1(r[1:] * r[:-1] * ca.sin(theta[1:] - theta[:-1])))


@problem("cops", "electrons-60", 60)
def electrons(n):
    """Thomson's problem: a full Hessian."""
    b = Builder()
    rng = np.random.default_rng(1)
    p = rng.normal(size=(3, n))
    p /= np.linalg.norm(p, axis=0)
    x, y, z = (b.var(n, p[k]) for k in range(3))
    i, j = [[int(k) for k in a] for a in np.triu_indices(n, 1)]
    b.subject(x**2 + y**2 + z**2, 1)
    return b.minimise(ca.sum1(1 / ca.sqrt((x[i] - x[j])**2 + (y[i] - y[j])**2 + (z[i] - z[j])**2)))


@problem("cops", "camshape-800", 800)
def camshape(n):
    b = Builder()
    rmin, rmax, curve, alpha = 1.0, 2.0, 1.0, 1.5
    dt = 2 * np.pi / 5 / (n + 1)
    r = b.var(n, (rmin + rmax) / 2, rmin, rmax)
    e = ca.vertcat(rmin, rmin, r, rmax, rmax)
    b.subject(2 * e[:-2] * e[2:] * np.cos(dt) - e[1:-1] * (e[:-2] + e[2:]), -INF, 0)
    b.subject((r[1:] - r[:-1]) / dt, -alpha, alpha)
    b.subject(ca.vertcat(r[0] - rmin, rmax - r[n - 1]), -alpha * dt, alpha * dt)
    return b.minimise(-np.pi * rmin**2 * ca.sum1(r) / n)


@problem("cops", "portfolio-dense-300", 300)
def portfolio(n):
    """A quadratic program with a full Hessian and one dense row."""
    b = Builder()
    rng = np.random.default_rng(2)
    factor = rng.normal(size=(n, 12))
    cov = factor @ factor.T / n + np.diag(rng.uniform(0.01, 0.1, n))
    gain = rng.uniform(0, 0.2, n)
    w = b.var(n, 1 / n, 0, 0.1)
    b.subject(ca.sum1(w), 1)
    b.subject(ca.dot(gain, w), 0.12, INF)
    return b.minimise(ca.bilin(cov, w, w))


# ---- AC optimal power flow ----------------------------------------------------------------------------
# Buses: number, kind (3: reference), Pd, Qd, Gs, Bs. Generators: bus, Pmin, Pmax, Qmin, Qmax, c2, c1. Branches: from,
# to, r, x, b, rating (0: none), ratio (0: none). MW and MVAr on 100 MVA; facts of the WSCC and IEEE test systems.

CASE5 = dict(
    bus=[(1, 2, 0, 0, 0, 0), (2, 1, 300, 98.61, 0, 0), (3, 2, 300, 98.61, 0, 0), (4, 3, 400, 131.47, 0, 0),
         (5, 2, 0, 0, 0, 0)], v=(0.9, 1.1),
    gen=[(1, 0, 40, -30, 30, 0, 14), (1, 0, 170, -127.5, 127.5, 0, 15), (3, 0, 520, -390, 390, 0, 30),
         (4, 0, 200, -150, 150, 0, 40), (5, 0, 600, -450, 450, 0, 10)],
    branch=[(1, 2, 0.00281, 0.0281, 0.00712, 400, 0), (1, 4, 0.00304, 0.0304, 0.00658, 0, 0),
            (1, 5, 0.00064, 0.0064, 0.03126, 0, 0), (2, 3, 0.00108, 0.0108, 0.01852, 0, 0),
            (3, 4, 0.00297, 0.0297, 0.00674, 0, 0), (4, 5, 0.00297, 0.0297, 0.00674, 240, 0)])
CASE9 = dict(
    bus=[(1, 3, 0, 0, 0, 0), (2, 2, 0, 0, 0, 0), (3, 2, 0, 0, 0, 0), (4, 1, 0, 0, 0, 0), (5, 1, 90, 30, 0, 0),
         (6, 1, 0, 0, 0, 0), (7, 1, 100, 35, 0, 0), (8, 1, 0, 0, 0, 0), (9, 1, 125, 50, 0, 0)], v=(0.9, 1.1),
    gen=[(1, 10, 250, -300, 300, 0.11, 5), (2, 10, 300, -300, 300, 0.085, 1.2),
         (3, 10, 270, -300, 300, 0.1225, 1)],
    branch=[(1, 4, 0, 0.0576, 0, 250, 0), (4, 5, 0.017, 0.092, 0.158, 250, 0), (5, 6, 0.039, 0.17, 0.358, 150, 0),
            (3, 6, 0, 0.0586, 0, 300, 0), (6, 7, 0.0119, 0.1008, 0.209, 150, 0),
            (7, 8, 0.0085, 0.072, 0.149, 250, 0), (8, 2, 0, 0.0625, 0, 250, 0),
            (8, 9, 0.032, 0.161, 0.306, 250, 0), (9, 4, 0.01, 0.085, 0.176, 250, 0)])
CASE14 = dict(
    bus=[(1, 3, 0, 0, 0, 0), (2, 2, 21.7, 12.7, 0, 0), (3, 2, 94.2, 19, 0, 0), (4, 1, 47.8, -3.9, 0, 0),
         (5, 1, 7.6, 1.6, 0, 0), (6, 2, 11.2, 7.5, 0, 0), (7, 1, 0, 0, 0, 0), (8, 2, 0, 0, 0, 0),
         (9, 1, 29.5, 16.6, 0, 19), (10, 1, 9, 5.8, 0, 0), (11, 1, 3.5, 1.8, 0, 0), (12, 1, 6.1, 1.6, 0, 0),
         (13, 1, 13.5, 5.8, 0, 0), (14, 1, 14.9, 5, 0, 0)], v=(0.94, 1.06),
    gen=[(1, 0, 332.4, 0, 10, 0.0430292599, 20), (2, 0, 140, -40, 50, 0.25, 20), (3, 0, 100, 0, 40, 0.01, 40),
         (6, 0, 100, -6, 24, 0.01, 40), (8, 0, 100, -6, 24, 0.01, 40)],
    branch=[(1, 2, 0.01938, 0.05917, 0.0528, 0, 0), (1, 5, 0.05403, 0.22304, 0.0492, 0, 0),
            (2, 3, 0.04699, 0.19797, 0.0438, 0, 0), (2, 4, 0.05811, 0.17632, 0.034, 0, 0),
            (2, 5, 0.05695, 0.17388, 0.0346, 0, 0), (3, 4, 0.06701, 0.17103, 0.0128, 0, 0),
            (4, 5, 0.01335, 0.04211, 0, 0, 0), (4, 7, 0, 0.20912, 0, 0, 0.978), (4, 9, 0, 0.55618, 0, 0, 0.969),
            (5, 6, 0, 0.25202, 0, 0, 0.932), (6, 11, 0.09498, 0.1989, 0, 0, 0), (6, 12, 0.12291, 0.25581, 0, 0, 0),
            (6, 13, 0.06615, 0.13027, 0, 0, 0), (7, 8, 0, 0.17615, 0, 0, 0), (7, 9, 0, 0.11001, 0, 0, 0),
            (9, 10, 0.03181, 0.0845, 0, 0, 0), (9, 14, 0.12711, 0.27038, 0, 0, 0),
            (10, 11, 0.08205, 0.19207, 0, 0, 0), (12, 13, 0.22092, 0.19988, 0, 0, 0),
            (13, 14, 0.17093, 0.34802, 0, 0, 0)])


def copies(case, count):
    """`count` copies of a network in a ring, neighbours tied between two of their buses."""
    n = len(case["bus"])
    out = dict(bus=[], gen=[], branch=[], v=case["v"])
    for c in range(count):
        out["bus"] += [(bus[0] + c * n, bus[1] if c == 0 else min(bus[1], 2), bus[2] * (1 + 0.1 * (c % 5 - 2) / 2))
                       + bus[3:] for bus in case["bus"]]
        out["gen"] += [(g[0] + c * n,) + g[1:6] + (g[6] * (1 + 0.02 * (c % 7)),) for g in case["gen"]]
        out["branch"] += [(a + c * n, e + c * n) + rest for a, e, *rest in case["branch"] for rest in [tuple(rest)]]
        other = (c + 1) % count
        out["branch"] += [(4 + c * n, 5 + other * n, 0.01, 0.06, 0.02, 0, 0),
                          (9 + c * n, 4 + other * n, 0.02, 0.1, 0.02, 50, 0)]
    return out


@problem("power flow", "opf-5", CASE5, False)
@problem("power flow", "opf-9", CASE9, False)
@problem("power flow", "opf-14", CASE14, False)
@problem("power flow", "opf-9-rectangular", CASE9, True)
@problem("power flow", "opf-14-rectangular", CASE14, True)
@problem("power flow", "opf-14x100", copies(CASE14, 100), False)
@problem("power flow", "opf-14x1000", copies(CASE14, 1000), False)
def power_flow(case, rectangular):
    """Least cost of generation; voltages polar or rectangular; limits on apparent power."""
    b = Builder()
    n, base = len(case["bus"]), 100.0
    number = {bus[0]: k for k, bus in enumerate(case["bus"])}
    vmin, vmax = case["v"]
    if rectangular:
        re, im = b.var(n, 1), b.var(n, 0)
        b.subject(re**2 + im**2, vmin**2, vmax**2)
    else:
        vm, va = b.var(n, 1, vmin, vmax), b.var(n, 0)
    gen = np.array(case["gen"], float)
    pg = b.var(len(gen), (gen[:, 1] + gen[:, 2]) / 2 / base, gen[:, 1] / base, gen[:, 2] / base)
    qg = b.var(len(gen), 0, gen[:, 3] / base, gen[:, 4] / base)
    f = [number[e[0]] for e in case["branch"]]
    t = [number[e[1]] for e in case["branch"]]
    r, x, bc, rate, ratio = np.array([e[2:7] for e in case["branch"]], float).T
    y = 1 / (r + 1j * x)
    tap = np.where(ratio == 0, 1, ratio)
    gff, bff = y.real / tap**2, (y.imag + bc / 2) / tap**2
    gtt, btt = y.real, y.imag + bc / 2
    gft, bft = -y.real / tap, -y.imag / tap
    if rectangular:
        vf2, vt2 = re[f]**2 + im[f]**2, re[t]**2 + im[t]**2
        co, si = re[f] * re[t] + im[f] * im[t], im[f] * re[t] - re[f] * im[t]
    else:
        vf2, vt2 = vm[f]**2, vm[t]**2
        co, si = vm[f] * vm[t] * ca.cos(va[f] - va[t]), vm[f] * vm[t] * ca.sin(va[f] - va[t])
    pf, qf = gff * vf2 + gft * co + bft * si, -bff * vf2 - bft * co + gft * si
    pt, qt = gtt * vt2 + gft * co - bft * si, -btt * vt2 - bft * co - gft * si
    m = len(f)
    at = lambda rows: ca.DM(ca.Sparsity.triplet(n, len(rows), rows, list(range(len(rows)))), 1)
    cf, ct, cg = at(f), at(t), at([number[int(g[0])] for g in gen])
    bus = np.array(case["bus"], float)
    v2 = re**2 + im**2 if rectangular else vm**2
    b.subject(ca.mtimes(cg, pg) - bus[:, 2] / base - bus[:, 4] / base * v2 - ca.mtimes(cf, pf) - ca.mtimes(ct, pt))
    b.subject(ca.mtimes(cg, qg) - bus[:, 3] / base + bus[:, 5] / base * v2 - ca.mtimes(cf, qf) - ca.mtimes(ct, qt))
    rated = [k for k in range(m) if rate[k] > 0]
    if rated:
        limit = (rate[rated] / base)**2
        b.subject(pf[rated]**2 + qf[rated]**2, -INF, limit)
        b.subject(pt[rated]**2 + qt[rated]**2, -INF, limit)
    reference = next(k for k, row in enumerate(case["bus"]) if row[1] == 3)
    b.subject(im[reference] if rectangular else va[reference])
    return b.minimise(ca.dot(gen[:, 5] * base**2, pg**2) + ca.dot(gen[:, 6] * base, pg))


# ---- Hock and Schittkowski: n, start, bounds, f, constraints (expression, lower, upper) -----------------

def hs(number, start, f, constraints=(), lower=-INF, upper=INF):
    def build():
        b = Builder(ca.SX)
        n = len(start)
        x = b.var(n, start, lower, upper)
        v = [None] + [x[k] for k in range(n)]
        for c, lo, up in constraints:
            b.subject(c(v), lo, up)
        return b.minimise(f(v))
    PROBLEMS[f"hs{number}"] = ("hock-schittkowski", build)


E, sqrt, log, exp, sin = np.e, ca.sqrt, ca.log, ca.exp, ca.sin
hs(1, [-2, 1], lambda x: 100 * (x[2] - x[1]**2)**2 + (1 - x[1])**2, lower=[-INF, -1.5])
hs(6, [-1.2, 1], lambda x: (1 - x[1])**2, [(lambda x: 10 * (x[2] - x[1]**2), 0, 0)])
hs(7, [2, 2], lambda x: log(1 + x[1]**2) - x[2], [(lambda x: (1 + x[1]**2)**2 + x[2]**2, 4, 4)])
hs(10, [-10, 10], lambda x: x[1] - x[2], [(lambda x: -3 * x[1]**2 + 2 * x[1] * x[2] - x[2]**2 + 1, 0, INF)])
hs(12, [0, 0], lambda x: x[1]**2 / 2 + x[2]**2 - x[1] * x[2] - 7 * x[1] - 7 * x[2],
   [(lambda x: 25 - 4 * x[1]**2 - x[2]**2, 0, INF)])
hs(13, [-2, -2], lambda x: (x[1] - 2)**2 + x[2]**2, [(lambda x: (1 - x[1])**3 - x[2], 0, INF)], lower=[0, 0])
hs(14, [2, 2], lambda x: (x[1] - 2)**2 + (x[2] - 1)**2,
   [(lambda x: x[1] - 2 * x[2], -1, -1), (lambda x: -x[1]**2 / 4 - x[2]**2 + 1, 0, INF)])
hs(15, [-2, 1], lambda x: 100 * (x[2] - x[1]**2)**2 + (1 - x[1])**2,
   [(lambda x: x[1] * x[2], 1, INF), (lambda x: x[1] + x[2]**2, 0, INF)], upper=[0.5, INF])
hs(18, [2, 2], lambda x: x[1]**2 / 100 + x[2]**2,
   [(lambda x: x[1] * x[2], 25, INF), (lambda x: x[1]**2 + x[2]**2, 25, INF)], [2, 0], [50, 50])
hs(24, [1, 0.5], lambda x: ((x[1] - 3)**2 - 9) * x[2]**3 / (27 * sqrt(3)),
   [(lambda x: x[1] / sqrt(3) - x[2], 0, INF), (lambda x: x[1] + sqrt(3) * x[2], 0, 6)], [0, 0])
hs(26, [-2.6, 2, 2], lambda x: (x[1] - x[2])**2 + (x[2] - x[3])**4,
   [(lambda x: (1 + x[2]**2) * x[1] + x[3]**4, 3, 3)])
hs(27, [2, 2, 2], lambda x: (x[1] - 1)**2 / 100 + (x[2] - x[1]**2)**2, [(lambda x: x[1] + x[3]**2, -1, -1)])
hs(29, [1, 1, 1], lambda x: -x[1] * x[2] * x[3], [(lambda x: x[1]**2 + 2 * x[2]**2 + 4 * x[3]**2, -INF, 48)])
hs(33, [0, 0, 3], lambda x: (x[1] - 1) * (x[1] - 2) * (x[1] - 3) + x[3],
   [(lambda x: x[3]**2 - x[2]**2 - x[1]**2, 0, INF), (lambda x: x[1]**2 + x[2]**2 + x[3]**2, 4, INF)],
   [0, 0, 0], [INF, INF, 5])
hs(39, [2, 2, 2, 2], lambda x: -x[1],
   [(lambda x: x[2] - x[1]**3 - x[3]**2, 0, 0), (lambda x: x[1]**2 - x[2] - x[4]**2, 0, 0)])
hs(40, [0.8] * 4, lambda x: -x[1] * x[2] * x[3] * x[4],
   [(lambda x: x[1]**3 + x[2]**2, 1, 1), (lambda x: x[1]**2 * x[4] - x[3], 0, 0),
    (lambda x: x[4]**2 - x[2], 0, 0)])
hs(43, [0] * 4, lambda x: x[1]**2 + x[2]**2 + 2 * x[3]**2 + x[4]**2 - 5 * x[1] - 5 * x[2] - 21 * x[3] + 7 * x[4],
   [(lambda x: x[1]**2 + x[2]**2 + x[3]**2 + x[4]**2 + x[1] - x[2] + x[3] - x[4], -INF, 8),
    (lambda x: x[1]**2 + 2 * x[2]**2 + x[3]**2 + 2 * x[4]**2 - x[1] - x[4], -INF, 10),
    (lambda x: 2 * x[1]**2 + x[2]**2 + x[3]**2 + 2 * x[1] - x[2] - x[4], -INF, 5)])
hs(47, [2, 2**0.5, -1, 2 - 2**0.5, 0.5],
   lambda x: (x[1] - x[2])**2 + (x[2] - x[3])**3 + (x[3] - x[4])**4 + (x[4] - x[5])**4,
   [(lambda x: x[1] + x[2]**2 + x[3]**3, 3, 3), (lambda x: x[2] - x[3]**2 + x[4], 1, 1),
    (lambda x: x[1] * x[5], 1, 1)])
hs(61, [0, 0, 0], lambda x: 4 * x[1]**2 + 2 * x[2]**2 + 2 * x[3]**2 - 33 * x[1] + 16 * x[2] - 24 * x[3],
   [(lambda x: 3 * x[1] - 2 * x[2]**2, 7, 7), (lambda x: 4 * x[1] - x[3]**2, 11, 11)])
hs(63, [2, 2, 2], lambda x: 1000 - x[1]**2 - 2 * x[2]**2 - x[3]**2 - x[1] * x[2] - x[1] * x[3],
   [(lambda x: 8 * x[1] + 14 * x[2] + 7 * x[3], 56, 56), (lambda x: x[1]**2 + x[2]**2 + x[3]**2, 25, 25)], [0] * 3)
hs(71, [1, 5, 5, 1], lambda x: x[1] * x[4] * (x[1] + x[2] + x[3]) + x[3],
   [(lambda x: x[1] * x[2] * x[3] * x[4], 25, INF), (lambda x: x[1]**2 + x[2]**2 + x[3]**2 + x[4]**2, 40, 40)],
   [1] * 4, [5] * 4)
hs(77, [2] * 5, lambda x: (x[1] - 1)**2 + (x[1] - x[2])**2 + (x[3] - 1)**2 + (x[4] - 1)**4 + (x[5] - 1)**6,
   [(lambda x: x[1]**2 * x[4] + sin(x[4] - x[5]), 2 * 2**0.5, 2 * 2**0.5),
    (lambda x: x[2] + x[3]**4 * x[4]**2, 8 + 2**0.5, 8 + 2**0.5)])
hs(78, [-2, 1.5, 2, -1, -1], lambda x: x[1] * x[2] * x[3] * x[4] * x[5],
   [(lambda x: x[1]**2 + x[2]**2 + x[3]**2 + x[4]**2 + x[5]**2, 10, 10),
    (lambda x: x[2] * x[3] - 5 * x[4] * x[5], 0, 0), (lambda x: x[1]**3 + x[2]**3, -1, -1)])
hs(80, [-2, 2, 2, -1, -1], lambda x: exp(x[1] * x[2] * x[3] * x[4] * x[5]),
   [(lambda x: x[1]**2 + x[2]**2 + x[3]**2 + x[4]**2 + x[5]**2, 10, 10),
    (lambda x: x[2] * x[3] - 5 * x[4] * x[5], 0, 0), (lambda x: x[1]**3 + x[2]**3, -1, -1)],
   [-2.3, -2.3, -3.2, -3.2, -3.2], [2.3, 2.3, 3.2, 3.2, 3.2])
hs(100, [1, 2, 0, 4, 0, 1, 1],
   lambda x: (x[1] - 10)**2 + 5 * (x[2] - 12)**2 + x[3]**4 + 3 * (x[4] - 11)**2 + 10 * x[5]**6 + 7 * x[6]**2
   + x[7]**4 - 4 * x[6] * x[7] - 10 * x[6] - 8 * x[7],
   [(lambda x: 2 * x[1]**2 + 3 * x[2]**4 + x[3] + 4 * x[4]**2 + 5 * x[5], -INF, 127),
    (lambda x: 7 * x[1] + 3 * x[2] + 10 * x[3]**2 + x[4] - x[5], -INF, 282),
    (lambda x: 23 * x[1] + x[2]**2 + 6 * x[6]**2 - 8 * x[7], -INF, 196),
    (lambda x: 4 * x[1]**2 + x[2]**2 - 3 * x[1] * x[2] + 2 * x[3]**2 + 5 * x[6] - 11 * x[7], -INF, 0)])
hs(106, [5000, 5000, 5000, 200, 350, 150, 225, 425], lambda x: x[1] + x[2] + x[3],
   [(lambda x: 1 - 0.0025 * (x[4] + x[6]), 0, INF), (lambda x: 1 - 0.0025 * (x[5] + x[7] - x[4]), 0, INF),
    (lambda x: 1 - 0.01 * (x[8] - x[5]), 0, INF),
    (lambda x: x[1] * x[6] - 833.33252 * x[4] - 100 * x[1] + 83333.333, 0, INF),
    (lambda x: x[2] * x[7] - 1250 * x[5] - x[2] * x[4] + 1250 * x[4], 0, INF),
    (lambda x: x[3] * x[8] - 1250000 - x[3] * x[5] + 2500 * x[5], 0, INF)],
   [100, 1000, 1000] + [10] * 5, [10000] * 3 + [1000] * 5)

# ---- degenerate, infeasible, unbounded ------------------------------------------------------------------


@problem("degenerate", "rows-twice-2000", 2000)
def rows_twice(n):
    """Every constraint of a chain is given twice: no multiplier is unique."""
    b = Builder()
    x = b.var(n, alternate([-1.2, 1], n))
    c = x[:-2:3]**2 + x[2::3] - 2
    b.subject(c)
    b.subject(3 * c)
    return b.minimise(ca.sumsqr(x - 0.5))


@problem("degenerate", "rank-one-less-500", 500)
def rank_one_less(n):
    """Flows on a ring: the equations add up to zero."""
    b = Builder()
    x = b.var(n, 1)
    source = np.sin(2 * np.pi * np.arange(n) / n)
    b.subject(x - ca.vertcat(x[1:], x[0]) - source)
    return b.minimise(ca.sum1(ca.cosh(x / 10)))


@problem("degenerate", "complementarity-400", 400)
def complementarity(n):
    """x y <= 0 with x, y >= 0: no constraint qualification at any point."""
    b = Builder()
    rng = np.random.default_rng(3)
    x, y = b.var(n, 1, 0), b.var(n, 1, 0)
    b.subject(x * y, -INF, 0)
    p, q = rng.normal(size=n), rng.normal(size=n)
    return b.minimise(ca.sumsqr(x - p) + ca.sumsqr(y - q))


@problem("degenerate", "squared-constraints-200", 200)
def squared(n):
    """(x_i - x_i+1)^2 = 0: the Jacobian vanishes at every feasible point."""
    b = Builder()
    x = b.var(n, np.linspace(-1, 1, n))
    b.subject((x[1:] - x[:-1])**2)
    return b.minimise(ca.sumsqr(x - 1))


@problem("degenerate", "no-curvature-1000", 1000)
def no_curvature(n):
    """A linear program as a nonlinear one: the Hessian is zero throughout."""
    b = Builder()
    rng = np.random.default_rng(4)
    x = b.var(n, 1, 0)
    rows = n // 4
    a = ca.DM(ca.Sparsity.triplet(rows, n, [int(k) for k in rng.integers(0, rows, 4 * n)],
                                  [int(k) for k in np.repeat(np.arange(n), 4)]))
    a = ca.DM(a.sparsity(), rng.uniform(0.5, 1.5, a.nnz()))
    b.subject(ca.mtimes(a, x), np.asarray(ca.mtimes(a, np.ones(n))).ravel())
    return b.minimise(ca.dot(rng.uniform(0, 1, n), x))


@problem("degenerate", "concave-box-500", 500)
def concave(n):
    """Wrong inertia from the first iteration on."""
    b = Builder()
    x = b.var(n, 0.1 * np.cos(np.arange(n)), -1, 1)
    b.subject(ca.sum1(x), 0.3)
    return b.minimise(-ca.sumsqr(x) + 0.5 * ca.sumsqr(x[1:] - x[:-1]))


@problem("infeasible", "waechter-biegler")
def waechter_biegler():
    b = Builder()
    x = b.var(3, [-2, 3, 1], [-INF, 0, 0])
    b.subject(x[0]**2 - x[1] - 1)
    b.subject(x[0] - x[2] - 0.5)
    return b.minimise(x[0])


@problem("infeasible", "parallel-planes-300", 300)
def parallel(n):
    b = Builder()
    x = b.var(n, 0)
    b.subject(ca.sum1(x), 1)
    b.subject(ca.sum1(x), 2)
    return b.minimise(ca.sumsqr(x))


@problem("infeasible", "sphere-beyond-box-100", 100)
def sphere(n):
    b = Builder()
    x = b.var(n, 0.5, 0, 1)
    b.subject(ca.sumsqr(x), 2 * n)
    return b.minimise(ca.sum1(x))


@problem("infeasible", "boundary-out-of-reach-30")
def out_of_reach():
    """Boundary control that cannot hold the state under its bound."""
    return boundary_control(30, False, lambda a, b: 3 + 0 * a, 1.0, (2, 10), 0.01, lambda y: 20)


@problem("unbounded", "unbounded-line")
def unbounded():
    b = Builder()
    x = b.var(2, [1, 1])
    b.subject(x[0] - x[1], 0)
    return b.minimise(-x[0] - x[1])


@problem("unbounded", "unbounded-cubic-100", 100)
def cubic(n):
    b = Builder()
    x = b.var(n, alternate([1, -1], n))
    b.subject(x[1:] - x[:-1], -1, 1)
    return b.minimise(-ca.sum1(x**3) - 5 * ca.sum1(x))
