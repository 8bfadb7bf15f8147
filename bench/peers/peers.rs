// Cargo requires a target in a package; this one is empty on purpose. The package exists only
// so that its lock file pins the source of the peer allocators (see build_peers.py).
//
// SPDX-License-Identifier: MIT
