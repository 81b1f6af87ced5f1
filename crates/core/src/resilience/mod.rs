//! What keeps a failing or overloaded provider from harming the rest: retries, circuit breakers, rates.

mod breaker;
mod bucket;
mod retry;
mod window;

pub use breaker::{BreakerTransition, CircuitBreaker, CircuitBreakerConfig};
pub use bucket::TokenBucket;
pub use retry::backoff;
pub(crate) use retry::may_retry;
pub use window::ReplayWindow;
