//! Tells the source that it is compiled for the checker.

fn main() {
    println!("cargo::rustc-cfg=roomkit_shuttle");
}
