use kubewright::prelude::*;

#[controller(for = App)]
union C {
    a: u8,
}

fn main() {}
