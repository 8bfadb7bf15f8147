// SPDX-License-Identifier: MIT
//! The C interface of Talus, a memory allocator for Linux. `talus.h` is the contract of each
//! function here. The crate `talus` has the safe interface and the global allocator.
#![no_std]
#![allow(non_camel_case_types)]

use core::ffi::{c_char, c_int, c_uint, c_void};

/// A program's own heap: a value, never an address.
#[repr(C)]
pub struct talus_heap {
    _private: [u8; 0],
}

/// Options of [`talus_heap_new`]; zero bytes are their defaults.
#[repr(C)]
pub struct talus_heap_options {
    pub name: *const c_char,
    pub limit_bytes: usize,
    pub flags: c_uint,
    pub provider: *const c_void,
    pub numa_node: c_uint,
    pub mode: c_int,
}

/// Where the memory of a heap is, all at one moment.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct talus_heap_numbers {
    pub live_bytes: usize,
    pub live_blocks: usize,
    pub slab_bytes: usize,
    pub slabs: usize,
    pub large_bytes: usize,
    pub large_blocks: usize,
    pub peak_bytes: usize,
    pub limit_bytes: usize,
}

/// Formats of [`talus_stats_print`].
pub const TALUS_STATS_TEXT: c_int = 0;
pub const TALUS_STATS_JSON: c_int = 1;
pub const TALUS_STATS_CSV: c_int = 2;
pub const TALUS_STATS_OPENMETRICS: c_int = 3;

#[link(name = "talus_sys", kind = "static")]
extern "C" {
    #[link_name = "talus_sys_malloc"]
    pub fn talus_malloc(bytes: usize) -> *mut c_void;
    #[link_name = "talus_sys_calloc"]
    pub fn talus_calloc(count: usize, bytes: usize) -> *mut c_void;
    #[link_name = "talus_sys_calloc_aligned"]
    pub fn talus_calloc_aligned(alignment: usize, count: usize, bytes: usize) -> *mut c_void;
    #[link_name = "talus_sys_realloc"]
    pub fn talus_realloc(pointer: *mut c_void, bytes: usize) -> *mut c_void;
    #[link_name = "talus_sys_aligned_realloc"]
    pub fn talus_aligned_realloc(
        pointer: *mut c_void,
        alignment: usize,
        bytes: usize,
    ) -> *mut c_void;
    #[link_name = "talus_sys_aligned_alloc"]
    pub fn talus_aligned_alloc(alignment: usize, bytes: usize) -> *mut c_void;
    #[link_name = "talus_sys_expand"]
    pub fn talus_expand(pointer: *mut c_void, bytes: usize) -> *mut c_void;
    #[link_name = "talus_sys_free"]
    pub fn talus_free(pointer: *mut c_void);
    #[link_name = "talus_sys_usable_size"]
    pub fn talus_usable_size(pointer: *const c_void) -> usize;
    #[link_name = "talus_sys_good_size"]
    pub fn talus_good_size(bytes: usize) -> usize;
    #[link_name = "talus_sys_trim"]
    pub fn talus_trim(keep_bytes: usize) -> usize;
    #[link_name = "talus_sys_release"]
    pub fn talus_release(bytes: usize) -> usize;
    #[link_name = "talus_sys_set_limits"]
    pub fn talus_set_limits(soft_bytes: usize, hard_bytes: usize);
    #[link_name = "talus_sys_set_option"]
    pub fn talus_set_option(name: *const c_char, value: *const c_char) -> c_int;
    #[link_name = "talus_sys_get_option"]
    pub fn talus_get_option(name: *const c_char, text: *mut c_char, bytes: usize) -> c_int;
    #[link_name = "talus_sys_option_source"]
    pub fn talus_option_source(name: *const c_char, text: *mut c_char, bytes: usize) -> c_int;
    #[link_name = "talus_sys_get"]
    pub fn talus_get(name: *const c_char, value: *mut u64) -> c_int;
    #[link_name = "talus_sys_heap_new"]
    pub fn talus_heap_new(options: *const talus_heap_options) -> *mut talus_heap;
    #[link_name = "talus_sys_heap_malloc"]
    pub fn talus_heap_malloc(heap: *mut talus_heap, bytes: usize) -> *mut c_void;
    #[link_name = "talus_sys_heap_calloc"]
    pub fn talus_heap_calloc(heap: *mut talus_heap, count: usize, bytes: usize) -> *mut c_void;
    #[link_name = "talus_sys_heap_aligned_alloc"]
    pub fn talus_heap_aligned_alloc(
        heap: *mut talus_heap,
        alignment: usize,
        bytes: usize,
    ) -> *mut c_void;
    #[link_name = "talus_sys_heap_realloc"]
    pub fn talus_heap_realloc(
        heap: *mut talus_heap,
        pointer: *mut c_void,
        bytes: usize,
    ) -> *mut c_void;
    #[link_name = "talus_sys_heap_free"]
    pub fn talus_heap_free(heap: *mut talus_heap, pointer: *mut c_void);
    #[link_name = "talus_sys_heap_clear"]
    pub fn talus_heap_clear(heap: *mut talus_heap);
    #[link_name = "talus_sys_heap_destroy"]
    pub fn talus_heap_destroy(heap: *mut talus_heap);
    #[link_name = "talus_sys_heap_contains"]
    pub fn talus_heap_contains(heap: *mut talus_heap, pointer: *const c_void) -> c_int;
    #[link_name = "talus_sys_heap_stats"]
    pub fn talus_heap_stats(heap: *mut talus_heap) -> talus_heap_numbers;
    #[link_name = "talus_sys_version"]
    pub fn talus_version() -> *const c_char;
    #[link_name = "talus_sys_stats_print"]
    pub fn talus_stats_print(descriptor: c_int, format: c_int) -> c_int;
}
