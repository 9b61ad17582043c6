use kubewright::prelude::*;
use kubewright_ui_tests::*;

#[controller(for = App)]
fn reconcile() {}

fn main() {}
