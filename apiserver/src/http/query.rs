//! URL queries, decoded as Go decodes them.

use std::borrow::Cow;

/// The parameters of a URL, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads the text after `?`. Pairs with a bad percent-encoding or a semicolon are dropped, as Go drops them.
    pub(crate) fn parse(text: &str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';'));
        let decoded = pairs.filter_map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((unescape(name, true)?.into_owned(), unescape(value, true)?.into_owned()))
        });
        Self(decoded.collect())
    }

    /// The first value of a parameter, if it is there.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// The first value of a parameter that is there and not empty.
    pub(crate) fn given(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    /// Replaces a parameter by one value.
    pub(crate) fn set(&mut self, name: &str, value: String) {
        self.0.retain(|(n, _)| n != name);
        self.0.push((name.to_owned(), value));
    }

    /// Every value of a parameter.
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        self.0
            .iter()
            .filter(|(n, _)| n == name)
            .map(|(_, value)| value.as_str())
            .collect()
    }

    /// A boolean parameter: everything but absent, `false` (in any case) and `0` is true, the empty value included.
    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        self.get(name)
            .map(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
    }
}

/// Undoes percent-encoding; `None` if it is malformed. What is not UTF-8 becomes U+FFFD, which is valid nowhere either.
/// `plus` reads `+` as a space.
pub(crate) fn unescape(text: &str, plus: bool) -> Option<Cow<'_, str>> {
    let escaped = text.contains('%') || (plus && text.contains('+'));
    if !escaped {
        return Some(Cow::Borrowed(text));
    }
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => (hex(bytes.next()?)? << 4) | hex(bytes.next()?)?,
            b'+' if plus => b' ',
            other => other,
        });
    }
    Some(Cow::Owned(String::from_utf8_lossy(&decoded).into_owned()))
}

fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_and_keep_their_order() {
        let query = Query::parse("labelSelector=a%3Db%2Cc&dryRun=All&dryRun=&watch&x=1+2");
        assert_eq!(query.get("labelSelector"), Some("a=b,c"));
        assert_eq!(query.all("dryRun"), ["All", ""]);
        assert_eq!(query.flag("watch"), Some(true));
        assert_eq!(query.get("x"), Some("1 2"));
        assert_eq!(query.flag("y"), None);
    }

    #[test]
    fn bytes_that_are_no_text_do_not_make_a_parameter_vanish() {
        assert_eq!(Query::parse("continue=%00%ff").get("continue"), Some("\u{0}\u{fffd}"));
    }

    #[test]
    fn malformed_pairs_are_dropped() {
        assert_eq!(
            Query::parse("a=%zz&b=%f&d=1;e=2&f=1"),
            Query(vec![("f".into(), "1".into())])
        );
    }
}
