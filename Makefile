# SPDX-License-Identifier: MIT
# The commands of Talus. `make demo` and `make test` install what they need on Debian and Ubuntu;
# the others use what these installed. Everything is built by CMake under build/, one folder for
# each preset of CMakePresets.json; this file only names the steps.
BUILD := build/release
JOBS := $(shell nproc)
PREFIX ?= /usr/local
PACKAGES := cmake ninja-build g++ python3 libfmt-dev libcli11-dev nlohmann-json3-dev libelf-dev \
  zlib1g-dev libncurses-dev libevent-dev libdw-dev libiberty-dev
PORT_PACKAGES := cmake ninja-build python3 googletest qemu-user-static --optional \
  g++-aarch64-linux-gnu g++-riscv64-linux-gnu g++-powerpc64le-linux-gnu g++-s390x-linux-gnu
MANUAL_PACKAGES := python3-sphinx python3-myst-parser furo
# Behind --optional: what not every release of the system has, and what is done without.
TEST_PACKAGES := $(PACKAGES) binutils clang 'libclang-rt-dev|clang' libgtest-dev googletest \
  sqlite3 perl git make pkg-config --optional redis-server gdb g++-aarch64-linux-gnu \
  qemu-user-static libjemalloc2 debootstrap python3-jinja2 valgrind musl-tools faketime torsocks \
  mold lld clang-format iwyu clang-tidy abigail-tools python3-numpy
PEER_PACKAGES := gcc g++ clang cmake make binutils \
  --optional libjemalloc2 libtcmalloc-minimal4 libtbbmalloc2 libclang-rt-14-dev
# A cargo from elsewhere (rustup) is as good as the package.
CARGO := $(if $(shell command -v cargo),,cargo)
PEER_PACKAGES += $(CARGO)
QUICK_PACKAGES := gcc --optional libjemalloc2 $(CARGO)
# The real programs of the benchmarks; each that is missing is skipped.
BENCH_PACKAGES := g++ --optional valgrind redis-server lua5.4 sqlite3 nodejs z3 glpk-utils clang \
  make perl gawk ruby php-cli jq xsltproc graphviz poppler-utils librsvg2-bin groff gnuplot-nox
VENV := build/bench-venv
BENCH_PYTHON = $(if $(wildcard $(VENV)/bin/python3),$(VENV)/bin/python3,python3)

.PHONY: demo test test-long test-one test-packages test-fresh test-ports soak fuzz build install \
  test-programs test-model mistakes bench-quick bench-full bench-check bench-setup bench-build \
  peers clean packages manual dist

# Builds Talus and shows a real program with and without it.
demo: packages
	@python3 -B tools/demo.py --build $(BUILD) --jobs $(JOBS)

build: packages
	@cmake --preset release -DTALUS_TESTS=OFF -DTALUS_BENCH=OFF >/dev/null
	@cmake --build $(BUILD) -j $(JOBS)

# What each change must pass, in half an hour: on gcc, clang and the sanitizers.
test: test-packages
	@tools/test.sh

# One test, after building what it needs: make test-one TEST=unit.paths.resize FILTER='Resize.M*'
# TEST is a name of `ctest -N`, or a regular expression; FILTER chooses cases of GoogleTest.
test-one:
	@$(if $(TEST),,echo "make test-one: say TEST=NAME" >&2; exit 2)
	@mkdir -p build
	@cmake --preset release >build/test-one.log || { tail -20 build/test-one.log; exit 1; }
	@python3 -B tools/test_one.py --build $(BUILD) --jobs $(JOBS) \
	  $(if $(FILTER),--filter '$(FILTER)') '$(TEST)'

# What takes longer, for each release: sources in each standard, real programs in more modes, faults
# that the conformance suite must notice, the manual, and README's steps on all fresh systems.
test-long: test-packages
	@tools/install_packages.sh $(MANUAL_PACKAGES)
	@cmake --preset release >/dev/null
	@cmake --build $(BUILD) -j $(JOBS)
	@ctest --test-dir $(BUILD) -C long -L long --output-on-failure -j $(JOBS)
	@$(MAKE) --no-print-directory test-fresh

test-packages:
	@tools/install_packages.sh $(TEST_PACKAGES)

# Other processors, in emulators: half an hour. PORTS="riscv64 s390x" chooses some of them.
test-ports:
	@tools/install_packages.sh $(PORT_PACKAGES)
	@tools/test_ports.sh $(PORTS)

# What README says, on fresh systems (debootstrap): the demo, the packages of the tests and one
# test, as root and as a user with sudo. It needs root, and the network. WHOLE=1: all of make test.
test-fresh:
	@tools/install_packages.sh debootstrap git python3
	@python3 -B tools/fresh/run.py $(if $(WHOLE),--whole) $(if $(TREES),--trees "$(TREES)")

# The promises on retained memory in full: half an hour, of which the drifting trace takes 20 min.
# For an idle machine of one's own; as root it changes settings of the kernel for a minute each.
soak: packages
	@cmake --preset release >/dev/null
	@cmake --build $(BUILD) -j $(JOBS)
	@ctest --test-dir $(BUILD) -C soak -L soak --output-on-failure

# Random calls of the whole interface, beside a shadow of the heap: make fuzz SECONDS=1800 SEED=7.
# Ten minutes by default, with seeds from the time on; tests/fuzz/README.md tells the rest.
fuzz: packages
	@cmake --preset release -UTALUS_TEST_PARTS >/dev/null
	@cmake --build $(BUILD) -j $(JOBS) --target fuzz_calls
	@python3 -B tests/fuzz/run.py --program $(BUILD)/tests/fuzz/fuzz_calls \
	  $(if $(SECONDS),--seconds $(SECONDS)) $(if $(SEED),--seed $(SEED))

# The models of the protocols, and that they find each of fifty planted mistakes: two minutes.
test-model: packages
	@tools/install_packages.sh $(TEST_PACKAGES)
	@cmake --preset release -DTALUS_MODEL_MUTANTS=ON >/dev/null
	@cmake --build $(BUILD) -j $(JOBS)
	@ctest --test-dir $(BUILD) -L model --output-on-failure -j $(JOBS)

# The equations of the core's counters, and that each notices its planted mistakes: three minutes.
# COPY is the folder of the copy in which they are planted; NUMBERS chooses some of them.
mistakes: packages
	@tools/install_packages.sh libgtest-dev
	@python3 -B tests/mistakes/plant.py --jobs $(JOBS) $(if $(COPY),--copy "$(COPY)") $(NUMBERS)

# All real programs, the long ones too (postgres, chromium, cargo ...); skips what is not installed.
test-programs: build
	@python3 -B tests/programs/run.py --talus-lib $(BUILD)/libtalus.so --set all

# Builds the peers from package registries; what cannot be had is left out, with its reason.
peers:
	@tools/install_packages.sh $(PEER_PACKAGES)
	@bench/peers/build_peers.py build/peers

# The manual as one site with a search, build/manual/html/index.html, and libtalus(3) and
# talus.conf(5) in build/manual/man. The pages of the command are the command's own.
manual:
	@tools/install_packages.sh $(MANUAL_PACKAGES)
	@for kind in html man; do \
	  /usr/bin/python3 -B -m sphinx -q -W --keep-going -c docs/site -d build/manual/doctrees \
	    -b $$kind . build/manual/$$kind || exit 1; done
	@echo build/manual/html/index.html

# What the runner can do without: a progress bar, in a virtual environment of its own.
bench-setup:
	@tools/install_packages.sh python3-venv
	@python3 -m venv $(VENV)
	@$(VENV)/bin/pip install -q --require-hashes -r bench/requirements.lock

bench-build: packages
	@cmake --preset release -DTALUS_TESTS=OFF -DTALUS_BENCH=ON >/dev/null
	@cmake --build $(BUILD) -j $(JOBS)

# Four allocators on the first set, interleaved, in less than five minutes.
bench-quick: bench-build
	@test -e build/peers/peers.json || { tools/install_packages.sh $(QUICK_PACKAGES) && \
	  bench/peers/build_peers.py build/peers --only jemalloc,mimalloc3; }
	@$(BENCH_PYTHON) -B -m bench --quick

# All workloads, real programs too, all peers, and the instruction counts: a night's work.
bench-full: bench-build peers
	@tools/install_packages.sh $(BENCH_PACKAGES)
	@$(BENCH_PYTHON) -B -m bench --full

# Fails if Talus got slower by 10 % or larger by 5 %, beyond the noise measured: against another
# build (make bench-check BASE_LIB=path), or else against the newest run of bench/results.
bench-check: bench-build
	@tools/install_packages.sh libjemalloc2
	@test -e build/peers/peers.json || bench/peers/build_peers.py build/peers --only jemalloc
	@$(BENCH_PYTHON) -B -m bench.gate $(if $(BASE_LIB),--base-lib "$(BASE_LIB)")

install: build
	@cmake --install $(BUILD) --prefix "$(PREFIX)"

# Everything that a release delivers, in dist/: docs/releasing.md. What needs a tool that is missing
# here is left out, with one line.
dist: packages
	@tools/install_packages.sh zstd --optional dpkg-dev rpm
	@python3 -B tools/dist/dist.py --jobs $(JOBS)

packages:
	@tools/install_packages.sh $(PACKAGES)

clean:
	rm -rf build
