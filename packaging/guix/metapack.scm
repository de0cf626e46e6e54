;; SPDX-License-Identifier: BSD-3-Clause
(define-module (metapack)
  #:use-module (guix packages)
  #:use-module (guix download)
  #:use-module (guix gexp)
  #:use-module (guix build-system cmake)
  #:use-module ((guix licenses) #:prefix license:)
  #:use-module (gnu packages base)
  #:use-module (gnu packages compression)
  #:use-module (gnu packages maths)
  #:use-module (gnu packages pkg-config))

(define-public metapack
  (package
    (name "metapack")
    (version "@VERSION@")
    (source
     (origin
       (method url-fetch)
       (uri "@URL@")
       (sha256 (base16 "@SHA256@"))))
    (build-system cmake-build-system)
    (arguments
     (list #:configure-flags
           #~(list "-DMETAPACK_TESTS=OFF" "-DMETAPACK_BENCH=OFF"
                   "-DMETAPACK_PETSC=OFF" "-DMETAPACK_CUDA=OFF")
           #:tests? #f))
    (native-inputs (list pkg-config))
    (inputs (list metis scotch suitesparse xz zlib))
    (home-page "@URL@")
    (synopsis "Sparse and dense symmetric indefinite linear systems")
    (description
     "METAPACK factorizes symmetric matrices that are indefinite, sparse and
dense, counts the eigenvalues of each sign, and says whether the answer can be
relied on.")
    (license license:bsd-3)))
