# SPDX-License-Identifier: BSD-3-Clause
{ lib, stdenv, fetchurl, cmake, ninja, pkg-config, zlib, xz, suitesparse, metis, scotch }:

stdenv.mkDerivation rec {
  pname = "metapack";
  version = "@VERSION@";

  src = fetchurl {
    url = "@URL@";
    sha256 = "@SHA256@";
  };

  nativeBuildInputs = [ cmake ninja pkg-config ];
  buildInputs = [ zlib xz suitesparse metis scotch ];
  cmakeFlags = [
    "-DMETAPACK_TESTS=OFF"
    "-DMETAPACK_BENCH=OFF"
    "-DMETAPACK_PETSC=OFF"
    "-DMETAPACK_CUDA=OFF"
  ];

  doInstallCheck = true;
  installCheckPhase = ''
    $out/bin/metapack generate "nlpkkt 4" -o k.mtx
    $out/bin/metapack solve k.mtx
  '';

  meta = {
    description = "Sparse and dense symmetric indefinite linear systems";
    license = lib.licenses.bsd3;
    platforms = lib.platforms.linux;
    mainProgram = "metapack";
  };
}
