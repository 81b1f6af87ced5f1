//! Sources against real servers on the loopback interface. Time is the kit's, and turned by hand.

mod sse;
mod support;
mod websocket;
