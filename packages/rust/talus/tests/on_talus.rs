// SPDX-License-Identifier: MIT
//! A program whose global allocator is Talus, from the crate's own interface.
use std::alloc::{alloc, dealloc, realloc, Layout};
use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::thread;

#[global_allocator]
static GLOBAL: talus::Talus = talus::Talus;

talus::options!("decay_ms=321");

fn name(text: &str) -> CString {
    CString::new(text).unwrap()
}

#[test]
fn containers_and_threads_are_on_talus() {
    // The other tests run beside this one. What they may free meanwhile is less than 10 MiB.
    let before = talus::stats().live_bytes;
    let held: Vec<u8> = vec![7; 50 << 20];
    assert!(talus::stats().live_bytes >= before + held.len() - (10 << 20));
    let threads: Vec<_> = (0..4)
        .map(|number| {
            thread::spawn(move || {
                let map: HashMap<u64, String> =
                    (0..10_000).map(|key| (key, format!("{number} {key}"))).collect();
                map
            })
        })
        .collect();
    for (number, thread) in threads.into_iter().enumerate() {
        assert_eq!(thread.join().unwrap()[&9_999], format!("{number} 9999"));
    }
    assert!(held.iter().all(|&byte| byte == 7));
    drop(held);
    talus::release(40 << 20);
    assert!(talus::stats().live_bytes < before + (50 << 20));
}

#[test]
fn alignments_are_kept_by_resizing() {
    for shift in 0..13 {
        let layout = Layout::from_size_align(100, 1 << shift).unwrap();
        unsafe {
            let block = alloc(layout);
            assert_eq!(block as usize % layout.align(), 0);
            block.write(42);
            let block = realloc(block, layout, 100_000);
            assert_eq!(block as usize % layout.align(), 0);
            assert_eq!(block.read(), 42);
            assert!(talus::usable_size(block) >= 100_000);
            dealloc(block, Layout::from_size_align(100_000, layout.align()).unwrap());
        }
    }
}

#[test]
fn options_of_the_program_act() {
    let mut text = [0; 64];
    let value = talus::get_option(&name("decay_ms"), &mut text).unwrap();
    assert_eq!(value.to_bytes(), b"321ms");
    assert!(talus::set_option(&name("no_such"), &name("1")).is_err());
    assert_eq!(talus::get(&name("no.such")), Err(talus::Error(2)));
}

#[test]
fn heaps_end_together() {
    let heap = talus::Heap::new(&name("rust"), 1 << 20).unwrap();
    let layout = Layout::from_size_align(100, 64).unwrap();
    let blocks: Vec<_> = (0..100).map(|_| heap.alloc(layout).unwrap()).collect();
    assert_eq!(heap.stats().live_blocks, 100);
    assert!(blocks.iter().all(|block| heap.contains(block.as_ptr())));
    unsafe { heap.dealloc(blocks[0]) };
    assert_eq!(heap.stats().live_blocks, 99);
    assert!(heap.alloc(Layout::from_size_align(2 << 20, 16).unwrap()).is_none());
    unsafe { heap.clear() };
    assert_eq!(heap.stats().live_blocks, 0);
}

#[test]
fn the_version_is_the_crates() {
    assert_eq!(talus::version(), env!("CARGO_PKG_VERSION"));
    let empty = CStr::from_bytes_with_nul(b"\0").unwrap();
    assert!(talus::get(empty).is_err());
}
