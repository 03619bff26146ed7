//! Options of `clBuildProgram`.

/// The words of an option string. Quotes keep spaces, and do not belong to the word. A value that follows `-D` or `-I` is joined to it.
pub(crate) fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (character, quote) {
            ('\\', _) => word.get_or_insert_default().extend(characters.next()),
            ('"' | '\'', None) => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (_, Some(open)) if character == open => quote = None,
            (_, None) if character.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    let mut joined: Vec<String> = Vec::new();
    for word in words {
        match joined.last_mut() {
            Some(last) if last == "-D" || last == "-I" => last.push_str(&word),
            _ => joined.push(word),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn quotes_keep_spaces_and_values_are_joined() {
        assert_eq!(
            words(r#" -D N=4 -DX  -I "a b" -w -D 'S="x y"' "#),
            ["-DN=4", "-DX", "-Ia b", "-w", r#"-DS="x y""#]
        );
        assert_eq!(words(r"-I a\ b"), ["-Ia b"]);
        assert!(words(" ").is_empty());
    }
}
