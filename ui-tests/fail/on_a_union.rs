use kubewright::prelude::*;
use kubewright_ui_tests::*;

#[controller(for = App)]
union C {
    a: u8,
}

fn main() {}
