;; SPDX-License-Identifier: MIT
;; Talus for Guix, of this source tree: guix build -f packages/guix/talus.scm
(use-modules (gnu packages compression)
             (gnu packages cpp)
             (gnu packages elf)
             (gnu packages libevent)
             (gnu packages ncurses)
             (gnu packages ninja)
             (gnu packages pretty-print)
             (gnu packages python)
             (guix build-system cmake)
             (guix gexp)
             ((guix licenses) #:prefix license:)
             (guix packages))

(package
  (name "talus")
  (version "0.2.0")
  (source (local-file "../.." "talus-checkout" #:recursive? #t))
  (build-system cmake-build-system)
  (arguments
   (list #:tests? #f
         #:configure-flags #~(list "-DTALUS_TESTS=OFF" "-DTALUS_BENCH=OFF")))
  (native-inputs (list python))
  (inputs (list cli11 elfutils fmt libevent ncurses nlohmann-json zlib))
  (supported-systems '("x86_64-linux" "aarch64-linux"))
  (synopsis "Memory allocator for Linux that is fast and small at once")
  (description
   "Talus is a replacement for malloc: one library is preloaded, or linked,
or included as one C++ header.  Programs need no rebuild.")
  (home-page "https://localhost.localdomain")
  (license license:expat))
