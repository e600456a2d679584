//! Test files of html5lib's tokenizer.

pub(crate) const FILES: [&str; 12] = [
    include_str!("../html5lib/tokenizer/contentModelFlags.test"),
    include_str!("../html5lib/tokenizer/domjs.test"),
    include_str!("../html5lib/tokenizer/entities.test"),
    include_str!("../html5lib/tokenizer/escapeFlag.test"),
    include_str!("../html5lib/tokenizer/numericEntities.test"),
    include_str!("../html5lib/tokenizer/pendingSpecChanges.test"),
    include_str!("../html5lib/tokenizer/test1.test"),
    include_str!("../html5lib/tokenizer/test2.test"),
    include_str!("../html5lib/tokenizer/test3.test"),
    include_str!("../html5lib/tokenizer/test4.test"),
    include_str!("../html5lib/tokenizer/unicodeChars.test"),
    include_str!("../html5lib/tokenizer/unicodeCharsProblematic.test"),
];
