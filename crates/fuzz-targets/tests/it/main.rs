//! Tests of the fuzz targets.
#![allow(clippy::unwrap_used)]

mod corpus;
