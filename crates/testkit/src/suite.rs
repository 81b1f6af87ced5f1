//! How the tests of a suite run in a crate that names it.

use std::future::Future;

/// Runs a test on a runtime of its own, so that the crate needs none.
#[doc(hidden)]
#[expect(clippy::expect_used, reason = "a test fails by panicking")]
pub fn block_on(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime for the test")
        .block_on(test);
}

/// One `#[test]` for each function of a suite.
#[doc(hidden)]
#[macro_export]
macro_rules! __suite {
    ($module:ident, $suite:path, $make:expr; $($test:ident)+) => {
        mod $module {
            #[allow(unused_imports, reason = "the function may be named by a path")]
            use super::*;
            use $suite as suite;
            $(
                #[test]
                fn $test() {
                    $crate::block_on(async { suite::$test($make().await).await });
                }
            )+
        }
    };
}
