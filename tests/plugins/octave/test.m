% SPDX-License-Identifier: BSD-3-Clause
% plugins/octave/metapack.cc: kinds of matrices, right-hand sides, and what goes wrong.
function fails (call, text)
  try
    call ();
  catch problem
    if (isempty (strfind (problem.message, text)))
      error ("the error says '%s', not '%s'", problem.message, text);
    end
    return;
  end
  error ("no error where one has '%s'", text);
end

K = sparse ([4 0 0 1 0; 0 3 0 1 1; 0 0 2 1 -1; 1 1 1 0 0; 0 1 -1 0 0]);
b = [0 0 0 6 -1]';
F = metapack (K);
x = F \ b;
assert (x, full (K) \ b, 1e-13);
assert (F.inertia, [3 2 0]);
assert (F.inertia(2), 2);
assert (F.certified);
assert (F.logdet, log (21), 1e-13);
assert (F.sign, 1, 1e-13);
assert (F.status, "ok");
assert (F.backward_error < 1e-15);
assert (F.inverse_diagonal, diag (inv (full (K))), 1e-13);
assert (F \ [b, 2*b], [x, 2*x], 1e-13);
assert (F \ (b * (1 + 2i)), x * (1 + 2i), 1e-13);       % a complex b for a real A
assert (F \ sparse (b), x, 1e-13);
assert (size (F \ zeros (5, 0)), [5 0]);
assert (size (F), [5 5]);
G = F.refactor (2 * K);
assert (G \ b, x / 2, 1e-13);
assert (F \ b, x, 1e-13);                               % the first one is as it was
clear F;
assert (G \ b, x / 2, 1e-13);

L = tril (K);
assert (metapack (L, "symmetry", "lower") \ b, x, 1e-13);
assert (metapack (K, "pivot_threshold", 0.5, "ordering", "amd") \ b, x, 1e-13);
A = sparse ([2 3; 1 4]);                                % L U
F = metapack (A);
assert (F \ [5; 5], [1; 1], 1e-14);
assert (F.solve ([5; 5], "T"), A' \ [5; 5], 1e-13);
H = sparse ([2, 1i; -1i, -1]);
F = metapack (H);
assert (F \ [1; 1i], full (H) \ [1; 1i], 1e-13);
assert (F.inertia, [1 1 0]);
S = sparse ([2, 1i; 1i, -1]);
F = metapack (S);
assert (F \ [1; 1i], full (S) \ [1; 1i], 1e-13);
assert (F.logdet + log (F.sign), log (det (full (S))), 1e-13);
assert (size (metapack (sparse (0, 0)) \ zeros (0, 1)), [0 1]);

warning ("off", "metapack:singular");
lastwarn ("");
F = metapack (sparse ([1 1; 1 1]));
assert (F.status, "singular");
assert (F.inertia, [1 0 1]);
assert (sum (F \ [1; 1]), 1, 1e-14);                    % consistent

fails (@() metapack (sparse (2, 3)), "square");
fails (@() metapack (sparse ([1 NaN; NaN 1])), "metapack:");
fails (@() metapack ("word"), "numbers");
fails (@() metapack (A, "symmetry", "symmetric"), "symmetric");
fails (@() metapack (A, "symmetry", "odd"), "odd");
fails (@() metapack (K, "pivot_treshold", 0.1), "pivot_treshold");
fails (@() G \ [1; 2], "rows");
fails (@() G.refactor (speye (5)), "pattern");
fails (@() G.nothing, "nothing");
fails (@() G (1), "elements");
disp ("ok");
