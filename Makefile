# SPDX-License-Identifier: MIT
# The commands of Talus. `make demo` and `make test` install what they need on Debian and Ubuntu;
# the others use what these installed. Everything is built by CMake under build/, one folder for
# each preset of CMakePresets.json; this file only names the steps.
BUILD := build/release
JOBS := $(shell nproc)
PREFIX ?= /usr/local
PACKAGES := cmake ninja-build g++ python3 libfmt-dev libcli11-dev
TEST_PACKAGES := $(PACKAGES) binutils clang libgtest-dev googletest sqlite3 perl git redis-server \
  gdb make g++-aarch64-linux-gnu qemu-user-static libjemalloc2

.PHONY: demo test build install test-programs test-model bench-quick peers clean packages

# Builds Talus and shows a real program with and without it.
demo: build
	@tools/demo.sh $(BUILD)

build: packages
	@cmake --preset release -DTALUS_TESTS=OFF -DTALUS_BENCH=OFF >/dev/null
	@cmake --build $(BUILD) -j $(JOBS)

# Everything that fits in a quarter of an hour, on gcc, clang and the sanitizers.
test:
	@tools/install_packages.sh $(TEST_PACKAGES)
	@tools/test.sh

# All real programs, the long ones too (postgres, chromium, cargo ...); skips what is not installed.
test-programs: build
	@python3 -B tests/programs/run.py --talus-lib $(BUILD)/libtalus.so --set all

# Builds the peers from package registries and runs the benchmarks, interleaved.
peers:
	@bench/peers/build_peers.py build/peers
bench-quick: packages
	@cmake --preset release -DTALUS_TESTS=OFF -DTALUS_BENCH=ON >/dev/null
	@cmake --build $(BUILD) -j $(JOBS)
	@test -e build/peers/peers.json || bench/peers/build_peers.py build/peers
	@python3 -B -m bench --quick

install: build
	@cmake --install $(BUILD) --prefix $(PREFIX)

packages:
	@tools/install_packages.sh $(PACKAGES)

clean:
	rm -rf build
