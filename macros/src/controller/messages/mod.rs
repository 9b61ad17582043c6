//! Every rule of the grammar times every wrong shape, as data: `wrong.txt` holds one attribute per line, `told.txt` what
//! is said about each and what comes of doing what it says. `UPDATE_EXPECT=1 cargo test -p kubewright-macros` writes the
//! latter anew; read each message before you commit it.

mod paste;

use expect_test::expect_file;
use proc_macro2::TokenStream;

use super::read;
use crate::diag::Diag;

/// What is said about an attribute: the tokens at fault, and the message.
fn told(attr: &str) -> Vec<(String, String)> {
    let mut diag = Diag::default();
    match attr.parse::<TokenStream>() {
        Ok(tokens) => {
            read(tokens, &mut diag);
        }
        Err(error) => diag.error_at(error.span(), "these are no tokens"),
    }
    diag.told()
}

#[test]
fn each_mistake_is_told_once_and_mended_by_what_the_message_says() {
    let (mut all, mut bad) = (String::new(), Vec::new());
    for wrong in include_str!("wrong.txt").lines().filter(|line| !line.is_empty()) {
        let errors = told(wrong);
        let [(place, message)] = &errors[..] else {
            bad.push(format!("not one error about `{wrong}`: {errors:#?}"));
            continue;
        };
        let place = if place.is_empty() { "the attribute" } else { place };
        all += &format!("{wrong}\n    at {place}: {message}\n");
        if let Some(mended) = paste::mend(wrong, place, message) {
            let left = told(&mended);
            if !left.is_empty() {
                bad.push(format!(
                    "`{wrong}` is told {message:?}; mended to `{mended}`: {left:#?}"
                ));
            }
            all += &format!("    mended: {mended}\n");
        }
        all += "\n";
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
    expect_file!["./told.txt"].assert_eq(&all);
}

#[test]
fn nearly_all_messages_say_what_to_write() {
    let lines = || include_str!("wrong.txt").lines().filter(|line| !line.is_empty());
    let silent: Vec<&str> = lines()
        .filter(|wrong| {
            let errors = told(wrong);
            paste::mend(wrong, &errors[0].0, &errors[0].1).is_none()
        })
        .collect();
    assert!(silent.len() * 5 < lines().count(), "{silent:#?}");
}
