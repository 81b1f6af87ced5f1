//! The pipeline through the public API: order, isolation, cancellation, loops, closing.

mod channels;
mod closing;
mod edits;
mod ephemeral;
mod hooks;
mod identity;
mod intake;
mod lifecycle;
mod load;
mod loops;
mod parts;
mod races;
mod receipts;
mod reentry;
mod refusals;
mod resilience;
mod routing;
mod scripted_store;
mod sources;
mod streams;
mod support;
mod tenancy;
mod visibility;
