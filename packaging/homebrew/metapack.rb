# SPDX-License-Identifier: BSD-3-Clause
class Metapack < Formula
  desc "Sparse and dense symmetric indefinite linear systems"
  homepage "@URL@"
  url "@URL@"
  version "@VERSION@"
  sha256 "@SHA256@"
  license "BSD-3-Clause"

  depends_on "cmake" => :build
  depends_on "ninja" => :build
  depends_on "pkgconf" => :build
  depends_on :linux
  depends_on "metis"
  depends_on "scotch"
  depends_on "suite-sparse"
  depends_on "xz"
  depends_on "zlib-ng-compat"

  def install
    args = %w[-DMETAPACK_TESTS=OFF -DMETAPACK_BENCH=OFF -DMETAPACK_PETSC=OFF -DMETAPACK_CUDA=OFF]
    system "cmake", "-S", ".", "-B", "build", "-G", "Ninja", *args, *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  test do
    system bin/"metapack", "generate", "nlpkkt 4", "-o", "k.mtx"
    assert_match "Inertia", shell_output("#{bin}/metapack solve k.mtx")
  end
end
