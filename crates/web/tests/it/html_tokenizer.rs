//! The html5lib tests of the tokenizer, which browsers use as well (in
//! `html5lib/`, with their licence).
//!
//! The tokenizer does not report comments and doctypes, so they are left out of
//! the expected tokens; the texts around them are joined.

use serde_json::Value as Json;
use web::html::{Name, StartTag, Text, TokenSink, Tokenizer, Value, decode_attribute, decode_text};

use crate::html5lib;

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Start(Name, Vec<(Name, String)>, bool),
    End(Name),
    Text(String),
}

/// Token sink that keeps all tokens.
#[derive(Default)]
struct AllTokens {
    tokens: Vec<Token>,
    attributes: Vec<(Name, String)>,
    text: Vec<u8>,
    kind: Text,
}

impl AllTokens {
    fn end_text(&mut self) {
        let text = std::mem::take(&mut self.text);
        let text = match self.kind {
            Text::WithReferences => {
                let mut decoded = String::new();
                decode_text(&text, &mut decoded);
                decoded
            }
            Text::Raw => String::from_utf8_lossy(&text).replace("\r\n", "\n").replace('\r', "\n"),
        };
        if !text.is_empty() {
            self.tokens.push(Token::Text(text));
        }
    }
}

impl TokenSink for AllTokens {
    fn wants_any(&mut self, _: Name) -> bool {
        true
    }

    fn wants(&mut self, _: Name, attribute: Name) -> bool {
        !self.attributes.iter().any(|(name, _)| *name == attribute)
    }

    fn attribute(&mut self, attribute: Name, value: Value<'_>) {
        let Value::Whole(value) = value else { panic!("no test has such a long value") };
        let mut decoded = String::new();
        decode_attribute(value, &mut decoded);
        self.attributes.push((attribute, decoded));
    }

    fn start_tag(&mut self, tag: StartTag) {
        self.end_text();
        let attributes = std::mem::take(&mut self.attributes);
        self.tokens.push(Token::Start(tag.name, attributes, tag.is_self_closing));
    }

    fn end_tag(&mut self, tag: Name) {
        self.end_text();
        self.tokens.push(Token::End(tag));
    }

    fn text(&mut self, text: &[u8], kind: Text) {
        self.kind = kind;
        self.text.extend_from_slice(text);
    }
}

fn tokens(mut tokenizer: Tokenizer, input: &str, slice: usize) -> Vec<Token> {
    let mut sink = AllTokens::default();
    input.as_bytes().chunks(slice).for_each(|slice| tokenizer.feed(slice, &mut sink));
    tokenizer.finish(&mut sink);
    sink.end_text();
    sink.tokens
}

/// Returns a name as the tokenizer reports it: it does not replace NUL.
fn name(json: &Json) -> Name {
    Name::of(json.as_str().unwrap().replace('\u{fffd}', "\0").as_bytes())
}

fn expected(output: &Json, nul_is_replaced: bool) -> Vec<Token> {
    let mut tokens = Vec::new();
    for token in output.as_array().unwrap() {
        match token[0].as_str().unwrap() {
            "StartTag" => {
                let attributes = token[2].as_object().unwrap().iter();
                let attributes = attributes
                    .map(|(key, value)| {
                        (name(&Json::from(key.as_str())), value.as_str().unwrap().to_owned())
                    })
                    .collect();
                tokens.push(Token::Start(name(&token[1]), attributes, token.get(3).is_some()));
            }
            "EndTag" => tokens.push(Token::End(name(&token[1]))),
            "Character" => {
                let text = token[1].as_str().unwrap();
                // The tree builder would drop or replace a NUL; there is none here.
                let text =
                    if nul_is_replaced { text.replace('\u{fffd}', "\0") } else { text.into() };
                match tokens.last_mut() {
                    Some(Token::Text(last)) => last.push_str(&text),
                    _ => tokens.push(Token::Text(text)),
                }
            }
            "Comment" | "DOCTYPE" => {}
            other => panic!("{other} is no token"),
        }
    }
    tokens
}

/// Sorts the attributes of each tag, as their order has no meaning.
fn sorted(mut tokens: Vec<Token>) -> Vec<Token> {
    for token in &mut tokens {
        if let Token::Start(_, attributes, _) = token {
            attributes.sort_by(|one, other| format!("{one:?}").cmp(&format!("{other:?}")));
        }
    }
    tokens
}

/// Runs the tests of a file, and returns their number.
fn check(file: &str) -> usize {
    let tests: Json = serde_json::from_str(file).unwrap();
    let mut checked = 0;
    for test in tests["tests"].as_array().into_iter().flatten() {
        let states = test["initialStates"].as_array();
        let states: Vec<_> = states.map_or(vec!["Data state"], |states| {
            states.iter().map(|state| state.as_str().unwrap()).collect()
        });
        for state in states {
            let mut test = test.clone();
            if test["doubleEscaped"] == true {
                // Half of a surrogate pair is no text; no decoder returns it.
                match serde_json::from_str(&test.to_string().replace("\\\\u", "\\u")) {
                    Ok(unescaped) => test = unescaped,
                    Err(_) => continue,
                }
            }
            let within = |default: &str, kind| {
                let last = test["lastStartTag"].as_str().unwrap_or(default);
                Tokenizer::within(Name::of(last.as_bytes()), kind)
            };
            let tokenizer = || match state {
                "Data state" => Tokenizer::new(),
                "PLAINTEXT state" => {
                    let mut tokenizer = Tokenizer::new();
                    tokenizer.feed(b"<plaintext>", &mut AllTokens::default());
                    tokenizer
                }
                "RCDATA state" => within("title", Text::WithReferences),
                "RAWTEXT state" => within("style", Text::Raw),
                "Script data state" => within("script", Text::Raw),
                other => panic!("{other} is no state"),
            };
            if state == "CDATA section state" {
                // A tokenizer can get into this state only through a tag.
                continue;
            }
            let input = test["input"].as_str().unwrap();
            let expected = sorted(expected(&test["output"], input.contains('\0')));
            for slice in [usize::MAX, 1, 3] {
                let tokens = sorted(tokens(tokenizer(), input, slice));
                assert_eq!(tokens, expected, "{input:?} in {state}, cut by {slice}: {test}");
            }
            checked += 1;
        }
    }
    checked
}

#[test]
fn the_tokenizer_passes_the_html5lib_tests() {
    let mut checked = 0;
    for file in html5lib::FILES {
        checked += check(file);
    }
    assert!(checked > 2_500, "only {checked} tests");
}
