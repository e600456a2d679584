//! Lists of values that are serialised as their texts.

use std::ops::RangeInclusive;

use regex::Regex;
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::Serializer;
use url::Url;
use web::http::Header;
use web::select::Selection;

pub(crate) trait Text: Sized {
    fn text(&self) -> String;
    fn parse(text: &str) -> Result<Self, String>;
}

impl Text for Url {
    fn text(&self) -> String {
        self.to_string()
    }

    fn parse(text: &str) -> Result<Self, String> {
        Self::parse(text).map_err(|error| error.to_string())
    }
}

impl Text for Regex {
    fn text(&self) -> String {
        self.to_string()
    }

    fn parse(text: &str) -> Result<Self, String> {
        Self::new(text).map_err(|error| error.to_string())
    }
}

impl Text for Header {
    fn text(&self) -> String {
        self.line()
    }

    fn parse(text: &str) -> Result<Self, String> {
        Self::parse(text).map_err(|error| error.to_string())
    }
}

impl Text for Selection {
    fn text(&self) -> String {
        self.as_str().to_owned()
    }

    fn parse(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

impl Text for RangeInclusive<u16> {
    fn text(&self) -> String {
        format!("{}..={}", self.start(), self.end())
    }

    fn parse(text: &str) -> Result<Self, String> {
        let (start, end) = text.split_once("..=").ok_or("a range has no ..=")?;
        let number = |text: &str| text.parse().map_err(|_| format!("{text} is not a status"));
        Ok(number(start)?..=number(end)?)
    }
}

pub(crate) fn serialize<S: Serializer, T: Text>(
    values: &[T],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter().map(Text::text))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>, T: Text>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    texts.iter().map(|text| T::parse(text).map_err(D::Error::custom)).collect()
}
