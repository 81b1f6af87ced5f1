//! Every integration test of `roomkit-testkit`, linked once.
