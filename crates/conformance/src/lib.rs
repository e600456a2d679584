//! Tests only: every stage crawls the same demo, hostile, real and simulated
//! servers, and has to report the same rows.
