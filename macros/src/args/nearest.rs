/// The known name that was probably meant, if one is near. Case, `_` and `-` make no difference.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = plain(name);
    let known: Vec<(String, &str)> = known.into_iter().map(|known| (plain(known), known)).collect();
    let mut longer = known
        .iter()
        .filter(|(candidate, _)| name.len() >= 3 && candidate.starts_with(&name));
    if let (Some((_, only)), None) = (longer.next(), longer.next()) {
        return Some(only);
    }
    let mut shorter = known
        .iter()
        .filter(|(candidate, _)| candidate.len() >= 3 && name.starts_with(candidate.as_str()));
    if let (Some((_, only)), None) = (shorter.next(), shorter.next()) {
        return Some(only);
    }
    let limit = (name.len() / 3).max(1);
    known
        .into_iter()
        .map(|(candidate, known)| (distance(&name, &candidate), known))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

fn plain(name: &str) -> String {
    name.chars()
        .filter(|c| !matches!(c, '_' | '-'))
        .flat_map(char::to_lowercase)
        .collect()
}

/// Edits (insert, remove, replace) from one to the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let replace = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = replace.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_finds_the_one_meant() {
        let known = ["workers", "watches", "writes", "rate_limit"];
        assert_eq!(nearest("worker", known), Some("workers"));
        assert_eq!(nearest("watch", known), Some("watches"));
        assert_eq!(nearest("write", known), Some("writes"));
        assert_eq!(nearest("resync", known), None);
        assert_eq!(nearest("work", known), Some("workers"));
        assert_eq!(nearest("wr", known), None);
        assert_eq!(nearest("rateLimit", known), Some("rate_limit"));
        assert_eq!(nearest("WORKERS", known), Some("workers"));
        assert_eq!(nearest("minimum", ["min", "max"]), Some("min"));
    }
}
