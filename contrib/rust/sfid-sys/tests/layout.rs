// SPDX-License-Identifier: MIT
//! Structs and defaults are those of the C headers, as a C compiler sees them.
use sfid_sys as sys;
use std::{env, fmt::Write, fs, process::Command, ptr};

/// Prints what a C program says about sfid.h.
fn c_says(name: &str, body: &str) -> String {
    let dir = env::temp_dir().join(format!("sfid-sys-{}-{name}", std::process::id()));
    fs::create_dir_all(&dir).unwrap();
    let (source, program) = (dir.join("c.c"), dir.join("c"));
    let head = "#include <sfid.h>\n#include <stddef.h>\n#include <stdio.h>\n#include <string.h>\n";
    fs::write(&source, format!("{head}int main(void) {{\n{body}    return 0;\n}}\n")).unwrap();
    let var = |name: &str, default: &str| env::var(name).unwrap_or_else(|_| default.into());
    let flags = Command::new(var("PKG_CONFIG", "pkg-config")).args(["--cflags", "--libs", "sfid"]).output().unwrap();
    assert!(flags.status.success(), "pkg-config finds no sfid");
    let compiler = var("CC", "cc");
    let mut compiler = compiler.split_whitespace();
    let built = Command::new(compiler.next().unwrap())
        .args(compiler)
        .arg("-o")
        .args([&program, &source])
        .args(String::from_utf8(flags.stdout).unwrap().split_whitespace())
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let said = Command::new(&program).output().unwrap();
    assert!(said.status.success());
    fs::remove_dir_all(&dir).unwrap();
    String::from_utf8(said.stdout).unwrap()
}

#[test]
fn structs_are_as_in_the_headers() {
    let (mut body, mut rust, mut count) = (String::new(), String::new(), 0);
    sys::layouts(&mut |name, size, fields| {
        writeln!(body, "    printf(\"{name} %zu\\n\", sizeof({name}));").unwrap();
        writeln!(rust, "{name} {size}").unwrap();
        for (field, offset, size) in fields {
            let place = format!("offsetof({name}, {field}), sizeof((({name} *)0)->{field})");
            writeln!(body, "    printf(\"{name}.{field} %zu %zu\\n\", {place});").unwrap();
            writeln!(rust, "{name}.{field} {offset} {size}").unwrap();
        }
        count += 1;
    });
    assert_eq!(rust, c_says("structs", &body));
    assert!(count >= 9);
}

/// Each field of the defaults has the same bytes.
#[test]
fn defaults_are_sfid_options_init() {
    let mut body = String::from("    const sfid_options o = SFID_OPTIONS_INIT;\n");
    let mut rust = String::new();
    let o = sys::SFID_OPTIONS_INIT;
    let start = ptr::addr_of!(o) as *const u8;
    sys::layouts(&mut |name, _, fields| {
        for (field, offset, size) in fields.iter().filter(|_| name == "sfid_options") {
            writeln!(body, "    for (size_t i = 0; i < {size}; i++) printf(\"%02x\", ((unsigned char *)&o.{field})[i]);").unwrap();
            // SAFETY: the bytes of a field, none of which is padding.
            unsafe { std::slice::from_raw_parts(start.add(*offset), *size) }.iter().for_each(|b| write!(rust, "{b:02x}").unwrap());
        }
    });
    assert_eq!(rust, c_says("defaults", &body));
}

/// Each function has the type that the header gives it: a C compiler compares declarations.
#[test]
fn functions_are_as_in_the_headers() {
    let rust = include_str!("../src/lib.rs");
    let list = &rust[rust.find("extern \"C\" {\n    pub fn").unwrap()..];
    let mut body = String::new();
    let mut count = 0;
    for line in list.lines().filter_map(|l| l.trim().strip_prefix("pub fn ")) {
        let (name, rest) = line.split_once('(').unwrap();
        let (args, result) = rest.rsplit_once(')').unwrap();
        let result = result.trim_end_matches(';').trim().strip_prefix("-> ").map_or("void".into(), c_type);
        let args: Vec<String> = args.split(", ").filter(|a| !a.is_empty()).map(|a| c_type(a.split_once(": ").unwrap().1)).collect();
        let args = if args.is_empty() { "void".into() } else { args.join(", ") };
        writeln!(body, "    {result} (*{name}_)({args}) = {name};\n    (void){name}_;").unwrap();
        count += 1;
    }
    assert!(count >= 30, "{count} functions are found");
    let body = format!("#pragma GCC diagnostic error \"-Wincompatible-pointer-types\"\n{body}");
    c_says("functions", &body);
}

fn c_type(rust: &str) -> String {
    if let Some(to) = rust.strip_prefix("*mut ") {
        return format!("{} *", c_type(to));
    }
    if let Some(to) = rust.strip_prefix("*const ") {
        return format!("const {} *", c_type(to));
    }
    match rust {
        "c_int" => "int",
        "c_uint" => "unsigned", // an enum is the same to the compiler
        "c_char" => "char",
        "c_void" => "void",
        "i64" => "int64_t",
        "u64" => "uint64_t",
        "usize" => "size_t",
        other => other,
    }
    .into()
}
