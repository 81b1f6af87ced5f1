//! The pipeline through the public API: order, isolation, cancellation, loops, closing.

mod bans;
mod changes;
mod channels;
mod closing;
mod edits;
mod hooks;
mod identity;
mod load;
mod loops;
mod members;
mod parts;
mod races;
mod reading;
mod reentry;
mod refusals;
mod resilience;
mod routing;
mod scripted_store;
mod streams;
mod support;
mod tenancy;
mod threads;
mod visibility;
