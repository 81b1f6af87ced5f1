//! Sources against real servers on the loopback interface. Time is the kit's, and turned by hand.
#![cfg(test)]

mod sse;
mod support;
mod websocket;
