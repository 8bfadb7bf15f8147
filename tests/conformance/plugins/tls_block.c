/* A library that takes TLS_BYTES of the static thread-local space when it is loaded (N15).
 *
 * Built several times with different sizes. The initial-exec model makes the loader take the room
 * from the small reserve it keeps for libraries that come late.
 * SPDX-License-Identifier: MIT */
static _Thread_local char block[TLS_BYTES] __attribute__((tls_model("initial-exec")));

char* tls_block(void);
char* tls_block(void) { return block; }
