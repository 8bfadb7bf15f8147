// SPDX-License-Identifier: MIT
#![doc = include_str!("../README.md")]
#![no_std]
#![warn(missing_docs)]

use core::alloc::{GlobalAlloc, Layout};
use core::ffi::{c_char, c_int, c_void, CStr};
use core::ptr::NonNull;
use talus_sys as sys;

/// Blocks are at multiples of this at least.
const ALIGNMENT: usize = 16;

/// The global allocator.
///
/// Blocks of Rust come from Talus; `malloc` of C libraries in the program stays as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Talus;

// Safety: the functions of talus.h are thread-safe and meet the contract of malloc for each
// alignment that is a power of two, as those of Layout are.
unsafe impl GlobalAlloc for Talus {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= ALIGNMENT {
            sys::talus_malloc(layout.size()).cast()
        } else {
            sys::talus_aligned_alloc(layout.align(), layout.size()).cast()
        }
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, _: Layout) {
        sys::talus_free(pointer.cast())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= ALIGNMENT {
            sys::talus_calloc(1, layout.size()).cast()
        } else {
            sys::talus_calloc_aligned(layout.align(), 1, layout.size()).cast()
        }
    }

    #[inline]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        if layout.align() <= ALIGNMENT {
            sys::talus_realloc(pointer.cast(), bytes).cast()
        } else {
            sys::talus_aligned_realloc(pointer.cast(), layout.align(), bytes).cast()
        }
    }
}

/// Why a call failed: an error number of the C library, as `talus.h` lists them for the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error(
    /// The number, such as `EINVAL`.
    pub i32,
);

impl core::fmt::Display for Error {
    fn fmt(&self, output: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(output, "Talus refused: error {}", self.0)
    }
}

fn checked(error: c_int) -> Result<(), Error> {
    match error {
        0 => Ok(()),
        number => Err(Error(number)),
    }
}

/// One statistic by its name, such as `c"heap.live_bytes"`; the page of statistics lists all.
pub fn get(name: &CStr) -> Result<u64, Error> {
    let mut value = 0;
    // Safety: the name ends with a zero, and the value is written on success alone.
    checked(unsafe { sys::talus_get(name.as_ptr(), &mut value) })?;
    Ok(value)
}

/// The most used statistics, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    /// What the program holds: `heap.live_bytes`.
    pub live_bytes: usize,
    /// What the process has resident in memory: `process.resident_bytes`.
    pub resident_bytes: usize,
}

/// Reads them. It asks the kernel for the resident memory, so it is not for hot loops.
pub fn stats() -> Stats {
    let read = |name: &[u8]| match CStr::from_bytes_with_nul(name) {
        Ok(name) => get(name).unwrap_or(0) as usize,
        Err(_) => 0,
    };
    Stats {
        live_bytes: read(b"heap.live_bytes\0"),
        resident_bytes: read(b"process.resident_bytes\0"),
    }
}

/// The form in which [`print_stats`] writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Text,
    /// One object on one line.
    Json,
    /// A header and one row.
    Csv,
    /// One exposition, ended by `# EOF`.
    OpenMetrics,
}

/// Writes all statistics to a file descriptor.
pub fn print_stats(descriptor: i32, format: Format) -> Result<(), Error> {
    let format = match format {
        Format::Text => sys::TALUS_STATS_TEXT,
        Format::Json => sys::TALUS_STATS_JSON,
        Format::Csv => sys::TALUS_STATS_CSV,
        Format::OpenMetrics => sys::TALUS_STATS_OPENMETRICS,
    };
    // Safety: any descriptor may be passed; a bad one is an error.
    checked(unsafe { sys::talus_stats_print(descriptor, format) })
}

/// Purges free memory of all threads, and keeps up to `keep_bytes`. Returns the bytes purged.
pub fn trim(keep_bytes: usize) -> usize {
    // Safety: it takes any number.
    unsafe { sys::talus_trim(keep_bytes) }
}

/// Purges at least `bytes` bytes of free memory, if they exist. Returns the bytes purged.
pub fn release(bytes: usize) -> usize {
    // Safety: it takes any number.
    unsafe { sys::talus_release(bytes) }
}

/// Limits the memory that Talus has from the kernel; 0: none.
pub fn set_limits(soft_bytes: usize, hard_bytes: usize) {
    // Safety: it takes any numbers.
    unsafe { sys::talus_set_limits(soft_bytes, hard_bytes) }
}

/// Changes an option that may change while the program runs.
pub fn set_option(name: &CStr, value: &CStr) -> Result<(), Error> {
    // Safety: both texts end with a zero, and are only read.
    checked(unsafe { sys::talus_set_option(name.as_ptr(), value.as_ptr()) })
}

/// The value of an option, as text in `text`.
pub fn get_option<'a>(name: &CStr, text: &'a mut [u8]) -> Result<&'a CStr, Error> {
    // Safety: the text has as many bytes as the call is told, and a zero ends it.
    checked(unsafe {
        sys::talus_get_option(name.as_ptr(), text.as_mut_ptr().cast::<c_char>(), text.len())
    })?;
    CStr::from_bytes_until_nul(text).map_err(|_| Error(0))
}

/// The version of Talus in use, such as `"1.2.3"`.
pub fn version() -> &'static str {
    // Safety: the text is part of the program.
    unsafe { CStr::from_ptr(sys::talus_version()) }.to_str().unwrap_or("")
}

/// The usable size of a block of Talus.
///
/// # Safety
/// `pointer` is null or a live block of Talus.
pub unsafe fn usable_size(pointer: *const u8) -> usize {
    sys::talus_usable_size(pointer.cast())
}

/// Options of Talus in the program itself: `talus::options!("preset=small; decay_ms=100");`
///
/// Files and the environment are stronger. Use it once in a program.
#[macro_export]
macro_rules! options {
    ($text:literal) => {
        #[no_mangle]
        #[used]
        #[allow(non_upper_case_globals)]
        pub static talus_options: $crate::OptionsText<
            { concat!($text, "\0").len() },
        > = $crate::OptionsText::of(concat!($text, "\0"));
    };
}

/// For [`options!`] alone.
#[doc(hidden)]
#[repr(transparent)]
pub struct OptionsText<const BYTES: usize>([u8; BYTES]);

impl<const BYTES: usize> OptionsText<BYTES> {
    #[doc(hidden)]
    pub const fn of(text: &str) -> Self {
        let mut bytes = [0; BYTES];
        let mut at = 0;
        while at < BYTES {
            bytes[at] = text.as_bytes()[at];
            at += 1;
        }
        Self(bytes)
    }
}

/// A heap of the program's own. Its end frees all blocks in it, in one step for each slab.
///
/// It does not drop the objects in its blocks. Blocks are raw pointers: they dangle after the heap.
#[derive(Debug)]
pub struct Heap(NonNull<sys::talus_heap>);

// Safety: all functions on one heap may run on any threads at the same time.
unsafe impl Send for Heap {}
unsafe impl Sync for Heap {}

impl Heap {
    /// A heap with a name of up to 31 characters, and a limit on its bytes; 0: none.
    pub fn new(name: &CStr, limit_bytes: usize) -> Option<Self> {
        // Safety: zero bytes are valid in each field, and the name is copied.
        let handle = unsafe {
            let mut options: sys::talus_heap_options = core::mem::zeroed();
            options.name = name.as_ptr();
            options.limit_bytes = limit_bytes;
            sys::talus_heap_new(&options)
        };
        NonNull::new(handle).map(Self)
    }

    /// A block; nothing at the limit.
    pub fn alloc(&self, layout: Layout) -> Option<NonNull<u8>> {
        // Safety: the heap lives, and the alignment is a power of two.
        let block = unsafe {
            if layout.align() <= ALIGNMENT {
                sys::talus_heap_malloc(self.0.as_ptr(), layout.size())
            } else {
                sys::talus_heap_aligned_alloc(self.0.as_ptr(), layout.align(), layout.size())
            }
        };
        NonNull::new(block.cast())
    }

    /// Frees a block.
    ///
    /// # Safety
    /// `block` is a live block of this heap. A block of another heap ends the process.
    pub unsafe fn dealloc(&self, block: NonNull<u8>) {
        sys::talus_heap_free(self.0.as_ptr(), block.as_ptr().cast())
    }

    /// Frees all blocks and keeps the heap.
    ///
    /// # Safety
    /// No other thread uses the heap or its blocks meanwhile, and no block is used afterwards.
    pub unsafe fn clear(&self) {
        sys::talus_heap_clear(self.0.as_ptr())
    }

    /// Whether `pointer` is the start of a live block of this heap. Takes any pointer.
    pub fn contains(&self, pointer: *const u8) -> bool {
        let pointer: *const c_void = pointer.cast();
        // Safety: it looks the address up, and does not use it.
        unsafe { sys::talus_heap_contains(self.0.as_ptr(), pointer) != 0 }
    }

    /// Where its memory is, all at one moment.
    pub fn stats(&self) -> HeapStats {
        // Safety: the heap lives.
        unsafe { sys::talus_heap_stats(self.0.as_ptr()) }
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        // Safety: this is the only owner, so nothing uses the heap any more.
        unsafe { sys::talus_heap_destroy(self.0.as_ptr()) }
    }
}

/// Numbers of one heap, in bytes and blocks.
pub use talus_sys::talus_heap_numbers as HeapStats;
