% SPDX-License-Identifier: BSD-3-Clause
% A saddle point problem [H B'; B 0] on a grid, by METAPACK and by Octave's backslash; then other values.
%     octave --path FOLDER_OF_metapack.oct saddle.m
k = 60;
n = k^2;
m = floor (n / 4);
e = ones (k, 1);
T = spdiags ([-e, 2*e, -e], -1:1, k, k);
H = kron (speye (k), T) + kron (T, speye (k));
B = sparse (repmat (1:m, 1, 3), [4*(1:m)-3, 4*(1:m)-2, 4*(1:m)-1], [ones(1, m), 0.5*ones(1, m), 0.25*ones(1, m)], m, n);
K = [H, B'; B, sparse(m, m)];
b = linspace (-1, 1, n + m)';

t = cputime; F = metapack (K); x = F \ b; ours = cputime - t;
t = cputime; y = K \ b; octaves = cputime - t;
printf ("n = %d, inertia %d+ %d-, residual %.1e, %.1e from backslash\n", n + m, F.inertia(1), F.inertia(2), ...
        norm (K*x - b) / norm (b), norm (x - y) / norm (y));
printf ("METAPACK %.3f s of CPU, backslash %.3f s\n", ours, octaves);
assert (F.inertia, [n, m, 0]);
assert (norm (x - y) <= 1e-10 * norm (y));

K(1, 1) = 7; % the same pattern: no new analysis
G = F.refactor (K);
assert (norm (K * (G \ b) - b) <= 1e-12 * norm (b));
