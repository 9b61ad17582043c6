//! `Warning` headers, as many as clients are sent.

use http::header::{self, HeaderMap, HeaderValue};

/// How many characters of warnings one answer has.
const MOST: usize = 4096;
/// What is left of each warning where they are more than that together.
const CUT: usize = 256;

/// Adds a header for each warning: once for equal ones, none for those that are empty or hold control characters.
///
/// Where all of them have more characters than an answer may have, each is cut, and what comes after the limit is left
/// out.
pub(super) fn add(headers: &mut HeaderMap, warnings: &[String]) {
    let mut told: Vec<&str> = Vec::new();
    for warning in warnings {
        if !warning.is_empty() && !told.contains(&&**warning) {
            told.push(warning);
        }
    }
    for header in written(&told) {
        headers.append(header::WARNING, header);
    }
}

fn written(warnings: &[&str]) -> Vec<HeaderValue> {
    let mut headers = Vec::new();
    let (mut total, mut cutting) = (0, false);
    for (index, warning) in warnings.iter().enumerate() {
        if cutting && total >= MOST {
            break;
        }
        let length = warning.chars().count();
        if !cutting && total + length > MOST && value(warning).is_some() {
            // From here on each is cut, and so are those that were written before.
            cutting = true;
            let cut: Vec<&str> = warnings[..=index].iter().map(|warning| short(warning)).collect();
            let fit: Vec<&&str> = cut.iter().filter(|warning| value(warning).is_some()).collect();
            total = fit.iter().map(|warning| warning.chars().count()).sum();
            headers = fit.into_iter().filter_map(|warning| value(warning)).collect();
            continue;
        }
        let warning = if cutting { short(warning) } else { warning };
        if let Some(header) = value(warning) {
            total += warning.chars().count();
            headers.push(header);
        }
    }
    headers
}

fn short(warning: &str) -> &str {
    let end = warning.char_indices().nth(CUT).map_or(warning.len(), |(at, _)| at);
    &warning[..end]
}

fn value(warning: &str) -> Option<HeaderValue> {
    if warning.chars().any(char::is_control) {
        return None;
    }
    let quoted = warning.replace('\\', "\\\\").replace('"', "\\\"");
    HeaderValue::from_bytes(format!("299 - \"{quoted}\"").as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(warnings: &[String]) -> Vec<String> {
        let mut headers = HeaderMap::new();
        add(&mut headers, warnings);
        let all = headers.get_all(header::WARNING).iter();
        all.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
            .collect()
    }

    #[test]
    fn equal_warnings_are_told_once_and_broken_ones_never() {
        let warnings = ["a", "", "a", "line\nbreak", "quote \" and \\ back"].map(str::to_owned);
        assert_eq!(
            headers(&warnings),
            ["299 - \"a\"", "299 - \"quote \\\" and \\\\ back\""]
        );
    }

    #[test]
    fn a_long_warning_stays_whole_while_all_have_room() {
        let long = "x".repeat(4000);
        assert_eq!(headers(&[long.clone(), "short".to_owned()])[0].len(), long.len() + 8);
    }

    #[test]
    fn what_does_not_fit_is_cut_and_then_left_out() {
        let warnings: Vec<String> = (0..40).map(|n| format!("{n:02}{}", "y".repeat(300))).collect();
        let told = headers(&warnings);
        assert!(told.iter().all(|warning| warning.len() == CUT + 8));
        assert_eq!(told.len(), 16);
    }
}
