// SPDX-License-Identifier: MIT
// Compiles the one C++ file. A packaged crate has talus.hpp beside it; in the source tree of Talus
// the script that makes it is called.
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn header_folder(crate_folder: &Path, out: &Path) -> PathBuf {
    if crate_folder.join("talus.hpp").is_file() {
        return crate_folder.to_path_buf();
    }
    let root = crate_folder.join("../../..");
    let script = root.join("tools/amalgamate.py");
    for part in ["src", "include", "tools/amalgamate.py"] {
        println!("cargo:rerun-if-changed={}", root.join(part).display());
    }
    let made = Command::new("python3")
        .arg("-B")
        .arg(&script)
        .arg("--alone")
        .arg(out.join("talus.hpp"))
        .status();
    match made {
        Ok(status) if status.success() => out.to_path_buf(),
        _ => panic!("there is no talus.hpp, and python3 {} failed", script.display()),
    }
}

fn main() {
    let crate_folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap());
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=talus_sys.cpp");
    println!("cargo:rerun-if-changed=talus.hpp");
    let headers = header_folder(&crate_folder, &out);
    let mut build = cc::Build::new();
    build
        .cpp(true)
        .std("c++17")
        .cpp_link_stdlib(None)
        .opt_level(2)
        .debug(false)
        .include(&headers)
        .file("talus_sys.cpp");
    for flag in [
        "-fno-exceptions",
        "-fno-rtti",
        "-fno-threadsafe-statics",
        "-fno-stack-protector",
        "-fvisibility=hidden",
        "-fvisibility-inlines-hidden",
    ] {
        build.flag_if_supported(flag);
    }
    build.compile("talus_sys");
    println!("cargo:include={}", headers.display());
}
