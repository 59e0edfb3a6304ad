// SPDX-License-Identifier: MIT
//! Asks pkg-config where libsfid is.
use std::{env, process::exit, process::Command};

/// One sentence, and no backtrace: nothing is wrong with this program.
fn fail(why: &str) -> ! {
    eprintln!("libsfid is not found: {why}");
    exit(1)
}

fn main() {
    for name in ["PKG_CONFIG", "PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR", "PKG_CONFIG_SYSROOT_DIR"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    let program = env::var_os("PKG_CONFIG").unwrap_or_else(|| "pkg-config".into());
    let found = Command::new(&program)
        .args(["--libs", "sfid >= 0.1.0"])
        .output()
        .unwrap_or_else(|e| fail(&format!("{}: {e}; libsfid is found by pkg-config: install that", program.to_string_lossy())));
    if !found.status.success() {
        let why = String::from_utf8_lossy(&found.stderr);
        fail(&format!(
            "install libsfid, or name the directory of its sfid.pc in PKG_CONFIG_PATH; {}",
            why.lines().next().unwrap_or("")
        ));
    }
    for word in String::from_utf8(found.stdout).expect("pkg-config writes UTF-8").split_whitespace() {
        match word.get(..2) {
            Some("-L") => println!("cargo:rustc-link-search=native={}", &word[2..]),
            Some("-l") => println!("cargo:rustc-link-lib={}", &word[2..]),
            _ => println!("cargo:rustc-link-arg={word}"),
        }
    }
}
