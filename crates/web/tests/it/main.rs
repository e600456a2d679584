//! Tests of the formats of the web.
#![allow(clippy::unwrap_used)]

mod address;
mod body_coding;
mod body_slicing;
mod body_text;
mod common;
mod content_type;
mod html5lib;
mod html_tokenizer;
mod http_request;
mod http_response;
mod http_slicing;
mod links_differences;
mod links_options;
mod links_properties;
mod links_table;
mod robots_properties;
mod robots_table;
mod select_limits;
mod sitemap_properties;
mod sitemap_table;
